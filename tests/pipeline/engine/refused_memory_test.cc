#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <gtest/gtest.h>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include <infeed/infeed.h>
#include <infeed/pipeline/reservation.h>

#include "pipeline/suite/busy.h"
#include "pipeline/suite/inner_sources.h"
#include "pipeline/suite/stream.h"

// Whether memory is refused, and at which element, depends on the data, the options and the limit,
// and never on how far threads have read ahead or how many elements came at once.
namespace infeed::test {
namespace {

constexpr int kRounds = 40;

/// Texts from a parallel map, in chunks of any size; text i has `bytes(i)` bytes.
template <class Bytes>
auto texts_with(Bytes bytes) {
  return range(1500) | map(
                           [bytes](std::int64_t i) {
                             if (i % 7 == 0) be_busy_for(std::chrono::microseconds(i % 40));
                             std::string text = std::to_string(i);
                             text.resize(static_cast<std::size_t>(bytes(i)), 'x');
                             return text;
                           },
                           {.parallelism = 3});
}
auto short_texts() {
  return texts_with([](std::int64_t) { return 100; });
}
auto growing_texts() {
  return texts_with([](std::int64_t i) { return i; });
}

auto size_of_each() {
  return map([](const auto& element) { return static_cast<std::int64_t>(element.size()); });
}

template <class T>
Stream stream_in(const Dataset<T>& dataset, std::uint64_t limit_bytes) {
  auto iterator = dataset.iterate({.memory_bytes_max = limit_bytes, .epoch = 0});
  return take_stream(iterator);
}

/// The same each time, and refused somewhere in the middle.
template <class T>
void expect_refused_alike(const Dataset<T>& dataset, std::uint64_t limit_bytes) {
  const Stream expected = stream_in(dataset, limit_bytes);
  ASSERT_GT(expected.size(), 1U);
  ASSERT_TRUE(is_terminal(expected.back())) << expected.back();
  EXPECT_NE(expected.back().find("memory limit"), std::string::npos) << expected.back();
  for (int round = 0; round < kRounds; ++round) {
    const Stream stream = stream_in(dataset, limit_bytes);
    ASSERT_TRUE(is_terminal(stream.back())) << stream.back();
    ASSERT_EQ(elements_of(stream), elements_of(expected)) << "round " << round;
  }
}

TEST(RefusedMemory, OfUniqueAtTheSameElement) {
  expect_refused_alike(short_texts() | unique() | size_of_each(), 40'000);
}

TEST(RefusedMemory, OfACacheAtTheSameElement) {
  expect_refused_alike(short_texts() | cache() | size_of_each(), 150'000);
}

TEST(RefusedMemory, OfAWindowAtTheSameElement) {
  expect_refused_alike(growing_texts() | window({.size = 64}) | size_of_each(), 200'000);
}

TEST(RefusedMemory, OfAShuffleAtTheSameElement) {
  expect_refused_alike(growing_texts() | shuffle({.buffer = 100, .seed = 5}) | size_of_each(),
                       100'000);
}

/// Two caches at a time fit, as without threads, but not those that the threads would open ahead.
TEST(RefusedMemory, NeverForWhatIsReadAhead) {
  const auto caches = [](Count parallelism) {
    return range(20) | interleave(
                           [](std::int64_t i) {
                             return range(30) | map([i](std::int64_t j) { return 100 * i + j; }) |
                                    cache();
                           },
                           {.cycle_length = 4, .parallelism = parallelism});
  };
  const Stream expected = stream_in(caches(1), 0);
  std::uint64_t limit = 1024;
  while (is_terminal(stream_in(caches(1), limit).back())) limit += 256;
  for (int round = 0; round < 5 * kRounds; ++round) {
    ASSERT_EQ(stream_in(caches(3), limit), expected) << "limit " << limit << ", round " << round;
  }
}

/// Counts the stages of holding() that were opened and closed. Any thread may call it.
class Openings {
 public:
  void note(int opened, int closed) {
    const std::lock_guard lock(mutex_);
    opened_ += opened;
    closed_ += closed;
    changed_.notify_all();
  }
  bool wait_until_opened(int count) { return wait_until(opened_, count); }
  bool wait_until_closed(int count) { return wait_until(closed_, count); }

 private:
  bool wait_until(const int& number, int count) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, std::chrono::seconds(30), [&] { return number >= count; });
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  int opened_ = 0;
  int closed_ = 0;
};

/// Hands on its input, and holds memory from its opening on.
class HoldingStage final : public PassThroughStage {
 public:
  HoldingStage(const StageContext& context, std::uint64_t bytes, Openings& openings,
               std::unique_ptr<Stage> input)
      : PassThroughStage(context, std::move(input)), openings_(openings) {
    held_.grow(bytes);
    openings_.note(1, 0);
  }
  ~HoldingStage() override {
    held_.shrink(held_.bytes());
    openings_.note(0, 1);
  }

 private:
  Openings& openings_;
  Reservation held_{memory(), "holding"};
};

class HoldingNode final : public Node {
 public:
  HoldingNode(std::uint64_t bytes, Openings& openings, const NodePointer& input)
      : Node("holding", input->type(), {input}), bytes_(bytes), openings_(openings) {}

 protected:
  std::unique_ptr<Stage> make_stage(const StageContext& context) const override {
    return std::make_unique<HoldingStage>(context, bytes_, openings_, input().open(context));
  }

 private:
  const std::uint64_t bytes_;
  Openings& openings_;
};

template <class T>
Dataset<T> holding(std::uint64_t bytes, Openings& openings, const Dataset<T>& input) {
  return Dataset<T>(std::make_shared<HoldingNode>(bytes, openings, input.node()));
}

/// The limit has room for one inner dataset. The second one's opening ends behind the refusal of the
/// third, which closes the first.
TEST(RefusedMemory, NeverForWhatIsOpenedAhead) {
  Openings openings;
  const auto inner = [&](std::int64_t n) {
    if (n == 1) openings.wait_until_closed(1);
    return holding(500'000, openings, counter(1'000'000 * n));
  };
  const auto all =
      range(6) |
      interleave(inner, {.cycle_length = 2, .block_length = 1'000'000, .parallelism = 2});
  auto iterator = all.iterate({.memory_bytes_max = 1 << 20});
  EXPECT_EQ(iterator.next(), 0);
  ASSERT_TRUE(openings.wait_until_opened(2));
  // More than a chunk, so that the first one is opened again.
  for (std::int64_t i = 1; i < 1'200; ++i) ASSERT_EQ(iterator.next(), i);
}

/// The limit has room for one inner dataset. The second one breaks before the first is opened.
TEST(RefusedMemory, NeverForWhatHasFailedAhead) {
  Openings openings;
  const auto inner = [&](std::int64_t n) {
    if (n == 0) openings.wait_until_closed(1);
    return holding(500'000, openings, n == 0 ? range(3) : breaking(range(10, 12)));
  };
  const auto all =
      range(2) | interleave(inner, {.cycle_length = 2, .block_length = 100, .parallelism = 2});
  const Stream stream = stream_in(all, 1 << 20);
  EXPECT_EQ(stream, (Stream{"0", "1", "2", "10", "11", "!! the stage broke"}));
}

/// The limit has room for the two inner datasets of the cycle, and for no third one.
TEST(RefusedMemory, NeverForWhatHasNoPlaceInTheCycle) {
  Openings openings;
  const auto inner = [&](std::int64_t n) {
    return holding(2'500'000, openings, range(20) | map([n](std::int64_t i) {
                                          std::string text = std::to_string(100 * n + i);
                                          text.resize(70'000, ' ');
                                          return text;
                                        }));
  };
  const auto all =
      range(6) | interleave(inner, {.cycle_length = 2, .parallelism = 2, .ordered = false}) |
      map([](const std::string& text) { return static_cast<std::int64_t>(std::stoll(text)); });
  auto iterator = all.iterate({.memory_bytes_max = 8 << 20});
  Stream stream = take_stream(iterator, 1);
  ASSERT_TRUE(openings.wait_until_closed(1));
  const Stream rest = take_stream(iterator);
  stream.insert(stream.end(), rest.begin(), rest.end());
  Stream expected = stream_of(all, {.executor = Executor::inline_()});
  std::sort(stream.begin(), stream.end());
  std::sort(expected.begin(), expected.end());
  ASSERT_EQ(expected.size(), 120U);
  EXPECT_EQ(stream, expected);
}

}  // namespace
}  // namespace infeed::test
