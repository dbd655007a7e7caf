#include <atomic>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include <infeed/infeed.h>

#include "pipeline/suite/stage_suite.h"
#include "thrown_error.h"

namespace infeed::test {
namespace {

Stream window_model(const Slots& in, const WindowOptions& options) {
  const auto size = static_cast<std::size_t>(options.size);
  const auto shift = static_cast<std::size_t>(options.shift == 0 ? options.size : options.shift);
  const auto stride = static_cast<std::size_t>(options.stride);
  Stream stream;
  for (std::size_t first = 0; first < in.size(); first += shift) {
    if (options.drop_remainder && first + (size - 1) * stride >= in.size()) break;
    std::string window;
    std::string error;
    for (std::size_t i = 0; i < size && first + i * stride < in.size(); ++i) {
      const std::size_t at = first + i * stride;
      if (in[at].fails && error.empty()) {
        error = fmt::format("! the window from element {} on needs element {}, which failed: {}",
                            first, at, message_of_broken(in[at].value));
      }
      window += (window.empty() ? "" : " ") + std::to_string(in[at].value);
    }
    stream.push_back(error.empty() ? "{" + window + "}" : error);
  }
  return stream;
}

class WindowShapes : public ::testing::TestWithParam<WindowOptions> {};
INSTANTIATE_TEST_SUITE_P(
    Shapes, WindowShapes,
    ::testing::Values(WindowOptions{.size = 1}, WindowOptions{.size = 3},
                      WindowOptions{.size = 3, .drop_remainder = true},
                      WindowOptions{.size = 3, .shift = 1},
                      WindowOptions{.size = 3, .shift = 1, .stride = 2},
                      WindowOptions{.size = 3, .shift = 2, .stride = 3, .drop_remainder = true},
                      WindowOptions{.size = 2, .shift = 5},
                      WindowOptions{.size = 2, .shift = 5, .stride = 3},
                      WindowOptions{.size = 2, .shift = 7, .stride = 3, .drop_remainder = true},
                      WindowOptions{.size = 1, .shift = 2}, WindowOptions{.size = 500, .shift = 90},
                      WindowOptions{.size = 4, .shift = 600}),
    [](const auto& shape) {
      const WindowOptions& options = shape.param;
      return fmt::format("size_{}_shift_{}_stride_{}{}", options.size, options.shift,
                         options.stride, options.drop_remainder ? "_drop" : "");
    });

TEST_P(WindowShapes, PassesTheSuite) {
  const WindowOptions options = GetParam();
  run_stage_suite_on<std::int64_t>([&](auto dataset) { return dataset | window(options); },
                                   [&](const Slots& in) { return window_model(in, options); });
}

TEST(Window, CarriesEveryKindOfElement) {
  const WindowOptions apart{.size = 3, .shift = 7, .stride = 2};
  run_stage_suite([&](auto dataset) { return dataset | window(apart); },
                  [&](const Slots& in) { return window_model(in, apart); });
  const WindowOptions over{.size = 3, .shift = 1};
  const auto build = [&](auto dataset) { return dataset | window(over); };
  const auto model = [&](const Slots& in) { return window_model(in, over); };
  run_stage_suite_on<std::string>(build, model);
  run_stage_suite_on<Wide>(build, model);
  run_stage_suite_on<OverAligned>(build, model);
}

TEST(Window, GivesWhatItsDocumentationSays) {
  const auto windows = range(7) | window({.size = 3, .shift = 1, .stride = 2});
  run_source_suite([&] { return windows; },
                   {"{0 2 4}", "{1 3 5}", "{2 4 6}", "{3 5}", "{4 6}", "{5}", "{6}"});
  EXPECT_EQ(windows.cardinality(), Cardinality::finite(7));
  EXPECT_EQ((range(7) | window({.size = 3, .shift = 1, .stride = 2, .drop_remainder = true}))
                .cardinality(),
            Cardinality::finite(3));
}

/// An element that can be made from another one, but not assigned.
template <class Owned>
struct Fixed {
  const std::int64_t value;
  Owned owned;
};

template <class Owned>
void expect_last_of_each_window(const WindowOptions& options, const Stream& expected) {
  using Element = Fixed<Owned>;
  const auto last = [](const std::vector<Element>& window) { return window.back().value; };
  run_source_suite(
      [&] {
        return range(5) | map([](std::int64_t i) {
                 return Element{i, {}};
               }) |
               window(options) | map(last);
      },
      expected);
}

TEST(Window, TakesElementsThatCannotBeAssigned) {
  expect_last_of_each_window<std::string>({.size = 2}, {"1", "3", "4"});
  expect_last_of_each_window<std::string>({.size = 2, .shift = 1}, {"1", "2", "3", "4", "4"});
  expect_last_of_each_window<std::unique_ptr<int>>({.size = 2}, {"1", "3", "4"});
}

/// A number whose copies throw if it is 5.
struct Odd {
  std::int64_t number;
  explicit Odd(std::int64_t n) : number(n) {}
  Odd(const Odd& other) : number(other.number) {
    if (number == 5) throw std::runtime_error("5 is odd");
  }
  Odd(Odd&&) noexcept = default;
};

/// Returns the first numbers of the windows over 0 to 8; -1 where one failed.
std::vector<std::int64_t> firsts_of_windows(const WindowOptions& options, std::int64_t broken) {
  const auto windows = range(9) | map([broken](std::int64_t i) {
                         if (i == broken) throw std::runtime_error("broken");
                         return Odd(i);
                       }) |
                       window(options);
  std::vector<std::int64_t> firsts;
  auto iterator = windows.iterate();
  for (bool has_more = true; has_more;) {
    try {
      const auto next = iterator.next();
      has_more = next.has_value();
      if (has_more) firsts.push_back(next->front().number);
    } catch (const Error&) {
      firsts.push_back(-1);
    }
  }
  return firsts;
}

TEST(Window, ACopyThatThrowsIsAnErrorOfItsWindowsAlone) {
  EXPECT_EQ(firsts_of_windows({.size = 2, .shift = 1}, -1),
            (std::vector<std::int64_t>{0, 1, 2, 3, -1, -1, 6, 7, 8}));
  EXPECT_EQ(firsts_of_windows({.size = 2, .shift = 1, .stride = 2}, -1),
            (std::vector<std::int64_t>{0, 1, 2, -1, 4, -1, 6, 7, 8}));
  EXPECT_EQ(firsts_of_windows({.size = 2, .shift = 1, .stride = 2}, 4),
            (std::vector<std::int64_t>{0, 1, -1, -1, -1, -1, 6, 7, 8}));
  EXPECT_EQ(firsts_of_windows({.size = 2}, -1), (std::vector<std::int64_t>{0, 2, 4, 6, 8}))
      << "what is moved isn't copied";
}

TEST(Window, AnErrorCarriesItsPlaces) {
  const auto windows = range(3) | map([](std::int64_t x) {
                         if (x == 1) {
                           throw Error(ErrorCode::data_loss, "cut").at_file("a").at_record(7);
                         }
                         return x;
                       }) |
                       window({.size = 2, .shift = 1});
  auto iterator = windows.iterate();
  const Error error = error_of([&] { iterator.next(); });
  EXPECT_EQ(error.code(), ErrorCode::data_loss);
  EXPECT_EQ(error.file(), "a");
  EXPECT_EQ(error.record(), 7);
  EXPECT_EQ(error.message(), "the window from element 0 on needs element 1, which failed: cut");
}

TEST(Window, SkipsWithoutReadingWhatLiesBetween) {
  const auto calls = std::make_shared<std::atomic<int>>(0);
  const auto windows = range(100'000'000) | map([calls](std::int64_t x) {
                         ++*calls;
                         return x;
                       }) |
                       window({.size = 2, .shift = 1000});
  Checkpoint checkpoint = windows.iterate().checkpoint();
  checkpoint.position = 90'000;
  auto iterator = windows.iterate({.resume = checkpoint});
  EXPECT_EQ(*iterator.next(), (std::vector<std::int64_t>{90'000'000, 90'000'001}));
  EXPECT_LE(*calls, static_cast<int>(kChunkElementsMax));
}

// A checkpoint without errors says nothing about the gap behind its last window, which hasn't been
// looked at.
TEST(Window, ResumesInFrontOfAGapWithAnErrorThatNobodyHasSeen) {
  const auto fails_at_3 = map([](std::int64_t x) {
    if (x == 3) throw std::runtime_error("broken");
    return x;
  });
  for (const bool drop_remainder : {false, true}) {
    const auto make = [&] {
      return range(12) | fails_at_3 | skip_errors() |
             window({.size = 2, .shift = 4, .drop_remainder = drop_remainder});
    };
    // Its first window was made of elements 0 and 1, with a source that was asked for no more.
    Checkpoint checkpoint = make().iterate().checkpoint();
    checkpoint.position = 1;
    auto iterator = make().iterate({.resume = checkpoint});
    EXPECT_EQ(*iterator.next(), (std::vector<std::int64_t>{5, 6}));
    EXPECT_EQ(*iterator.next(), (std::vector<std::int64_t>{9, 10}));
    EXPECT_FALSE(iterator.next().has_value());
  }
}

/// The next element, which the run hasn't asked for, may end the stream: then the resume was refused.
TEST(Window, AResumeLooksNoFurtherThanAWindowThatFailed) {
  auto last = std::make_shared<std::atomic<std::int64_t>>(0);
  const auto windows = range(100) | map([last](std::int64_t x) -> std::int64_t {
                         *last = x;
                         throw std::runtime_error("it is broken");
                       }) |
                       window({.size = 2, .shift = 4, .stride = 2});
  auto first = windows.iterate();
  for (int i = 0; i < 3; ++i) EXPECT_THROW(first.next(), Error);
  EXPECT_EQ(*last, 8);
  *last = 0;
  auto second = windows.iterate({.resume = first.checkpoint()});
  EXPECT_EQ(*last, 8);
  EXPECT_THROW(second.next(), Error);
  EXPECT_EQ(*last, 12);
}

TEST(Window, CountsItsBuffer) {
  const auto text = [](std::int64_t) { return std::string(1000, 'x'); };
  auto iterator = (range(1000) | map(text) | window({.size = 100, .shift = 1})).iterate();
  iterator.next();
  EXPECT_GE(iterator.memory().in_use_bytes(), 100 * 1000);
}

TEST(Window, CountsTheErrorsInItsBuffer) {
  const Slots slots = failing_slots(2000, [](std::size_t i) { return i % 2 == 1; });
  const auto dataset = listed<std::int64_t>(slots) | window({.size = 500, .stride = 2});
  auto iterator = dataset.iterate();
  const std::uint64_t before_bytes = iterator.memory().in_use_bytes();
  EXPECT_EQ(take_stream(iterator, 1).size(), 1U);
  EXPECT_GE(iterator.memory().in_use_bytes(), before_bytes + 249 * sizeof(Error));
  EXPECT_EQ(take_stream(iterator).size(), 3U);
  EXPECT_LE(iterator.memory().in_use_bytes(), before_bytes);
  auto limited = dataset.iterate({.memory_bytes_max = 100 << 10});
  const Error error = error_of([&] { limited.next(); });
  EXPECT_EQ(error.code(), ErrorCode::resource_exhausted);
  EXPECT_TRUE(error.is_terminal());
  EXPECT_TRUE(error.message().starts_with("window needs")) << error.message();
}

/// Otherwise the error at 300 would count while those before it are held, or not.
TEST(Window, UnderALimitPullsNoMoreThanNeededWhileItHoldsErrors) {
  const Slots slots =
      failing_slots(400, [](std::size_t i) { return i < 6 ? i % 2 == 1 : i == 300; });
  std::vector<std::uint64_t> bytes;
  for (const Cut::Kind kind : {Cut::Kind::as_asked, Cut::Kind::single}) {
    const auto dataset = listed<std::int64_t>(slots, {kind}) | window({.size = 4, .stride = 2});
    auto iterator = dataset.iterate({.memory_bytes_max = 1 << 20});
    EXPECT_EQ(take_stream(iterator, 1), Stream{"{0 2 4 6}"});
    bytes.push_back(iterator.memory().in_use_bytes());
  }
  EXPECT_EQ(bytes[0], bytes[1]);
}

TEST(Window, RefusesWhatCannotBe) {
  const auto with = [](WindowOptions options) {
    return error_of([&] { range(3) | window(options); }).message();
  };
  EXPECT_EQ(with({.size = 0}),
            "window: size is 0, shift 0, stride 1; give a size and a stride of at least 1, and a "
            "shift of at least 1 or 0 for the size");
  EXPECT_EQ(with({.size = INT64_MAX, .stride = INT64_MAX}),
            "window: size 9223372036854775807 times stride 9223372036854775807 is more than can be "
            "counted");
  const auto owner =
      range(3) | map([](std::int64_t x) { return std::make_unique<std::int64_t>(x); });
  const std::string message = error_of([&] { owner | window({.size = 3, .shift = 2}); }).message();
  EXPECT_NE(message.find("can't be copied, but windows of 3 elements every 2 overlap; give a shift "
                         "of at least 3"),
            std::string::npos)
      << message;
}

}  // namespace
}  // namespace infeed::test
