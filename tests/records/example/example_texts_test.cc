#include <array>
#include <cstdint>
#include <fmt/format.h>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <infeed/records/detail/feature_codec.h>
#include <infeed/records/detail/schema_lists.h>
#include <infeed/records/example.h>
#include <infeed/records/sequence_example.h>

#include "records/example/wire_writer.h"
#include "thrown_error.h"

/// Texts of errors about Examples, and the edges of what numbers fit.
namespace infeed {
namespace {

using test::bytes_field;

std::string names_from(std::size_t first, std::size_t count, std::string_view text) {
  std::string names;
  for (std::size_t i = 0; i < count; ++i) {
    names += fmt::format("{}'{:02}'{}", i == 0 ? "" : ", ", first + i, text);
  }
  return names;
}

std::string missing_feature(const std::string& record) {
  const ExampleParser parser({"x"});
  std::array<FeatureView, 1> views;
  parser.parse(record, views);
  return error_of([&] { detail::fail_missing(views[0], record); }).message();
}

TEST(ExampleTexts, TwelveFeaturesAreTold) {
  const std::string begin = "feature 'x' is required but could not be found; the record has ";
  EXPECT_EQ(missing_feature(""), begin + "no features");
  for (const std::size_t count : {1U, 12U, 13U}) {
    ExampleBuilder builder;
    for (std::size_t i = 0; i < count; ++i) builder.floats(fmt::format("{:02}", i), 1);
    EXPECT_EQ(missing_feature(builder.encode()),
              begin + (count <= 12 ? names_from(0, count, " (floats)")
                                   : names_from(0, 12, " (floats)") + ", ..."));
  }
  const std::string entry = bytes_field(1, "y") + bytes_field(2, "");
  EXPECT_EQ(missing_feature(bytes_field(1, bytes_field(1, entry))), begin + "'y' (no list)");
}

std::string missing_list(const std::string& record) {
  const SequenceExampleParser parser({}, {"x"});
  std::array<FeatureListView, 1> lists;
  parser.parse(record, {}, lists);
  return error_of([&] { detail::fail_missing_list(lists[0], record); }).message();
}

TEST(ExampleTexts, TwelveFeatureListsAreTold) {
  const std::string begin = "feature list 'x' is required but could not be found; the record has ";
  const std::string end = "; where it may be missing, say {.allow_missing = true}";
  EXPECT_EQ(missing_list(""), begin + "no feature lists" + end);
  for (const std::size_t count : {1U, 12U, 13U}) {
    SequenceExampleBuilder builder;
    for (std::size_t i = 0; i < count; ++i) {
      builder.list(fmt::format("{:02}", i)).nothing().integers(1);
    }
    const std::string text = " (2 steps of integers)";
    EXPECT_EQ(missing_list(builder.encode()),
              begin + "the feature lists " +
                  (count <= 12 ? names_from(0, count, text) : names_from(0, 12, text) + ", ...") +
                  end);
  }
  SequenceExampleBuilder builder;
  builder.list("one").nothing();
  EXPECT_EQ(missing_list(builder.encode()), begin + "the feature lists 'one' (1 step)" + end);
}

TEST(ExampleTexts, RoomIsForAsManyAsAreAskedFor) {
  const ExampleParser parser({"a", "b"});
  std::array<FeatureView, 1> one;
  EXPECT_EQ(error_of([&] { parser.parse(std::string_view(), one); }).message(),
            "there is room for 1 features, but 2 are asked for");
  const SequenceExampleParser lists({}, {"a"});
  std::array<FeatureListView, 2> two;
  EXPECT_EQ(error_of([&] { lists.parse(std::string_view(), {}, two); }).message(),
            "there is room for 2 feature lists, but 1 are asked for");
  const std::string record =
      ExampleBuilder().integers("a", 1).integers("c", 2).integers("d", 3).encode();
  std::array<FeatureView, 2> views;
  EXPECT_EQ(parser.parse(record, views), 2U) << "others than a and b";
  EXPECT_EQ(ExampleParser().parse(record, {}), 3U);
}

/// Returns the error's text, or "" where the number is read as it is.
template <class I>
std::string refused_integer(std::int64_t value) {
  const std::string record = ExampleBuilder().integers("a", value).encode();
  const ExampleParser parser({"a"});
  std::array<FeatureView, 1> views;
  parser.parse(record, views);
  std::array<I, 1> read{};
  try {
    views[0].read_integers(std::span(read));
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
    return error.message();
  }
  EXPECT_EQ(static_cast<std::int64_t>(read[0]), value);
  return {};
}

template <class I>
void expect_range(std::int64_t first, std::int64_t last) {
  EXPECT_EQ(refused_integer<I>(first), "");
  EXPECT_EQ(refused_integer<I>(last), "");
  for (const std::int64_t value : {first - 1, last + 1}) {
    EXPECT_EQ(refused_integer<I>(value),
              fmt::format("feature 'a' holds {}, which is not in the wanted range {} to {}", value,
                          first, last));
  }
}

TEST(ExampleTexts, IntegersFitTheirType) {
  expect_range<bool>(0, 1);
  expect_range<std::int8_t>(-128, 127);
  expect_range<std::int16_t>(-32768, 32767);
  expect_range<std::int32_t>(-2147483648, 2147483647);
  expect_range<std::uint8_t>(0, 255);
  expect_range<std::uint16_t>(0, 65535);
  expect_range<std::uint32_t>(0, 4294967295);
  EXPECT_EQ(refused_integer<std::uint64_t>(0), "");
  EXPECT_EQ(refused_integer<std::uint64_t>(-1),
            "feature 'a' holds -1, which is not in the wanted range 0 to 18446744073709551615");
}

std::vector<std::size_t> ends_of(bool has_splits, const std::vector<std::int64_t>& cuts,
                                 std::size_t values) {
  const std::string record =
      ExampleBuilder().integers("p", std::span<const std::int64_t>(cuts)).encode();
  const ExampleParser parser({"p", "v"});
  std::array<FeatureView, 2> views;
  parser.parse(record, views);
  return detail::ends_of_rows(views[0], has_splits, views[1], values);
}

TEST(ExampleTexts, SequencesEndWhereTheValuesDo) {
  constexpr bool kSplits = true;
  constexpr bool kLengths = false;
  EXPECT_THAT(ends_of(kLengths, {0, 3, 0}, 3), ElementsAre(0, 3, 3));
  EXPECT_THAT(ends_of(kSplits, {0, 0, 3, 3}, 3), ElementsAre(0, 3, 3));
  EXPECT_THAT(ends_of(kLengths, {}, 0), ElementsAre());
  EXPECT_THAT(ends_of(kSplits, {0}, 0), ElementsAre());
  const auto message = [](bool has_splits, const std::vector<std::int64_t>& cuts) {
    const std::string text = error_of([&] { ends_of(has_splits, cuts, 3); }).message();
    const std::string begin = "feature 'p' can't cut the 3 values of feature 'v': ";
    EXPECT_TRUE(text.starts_with(begin)) << text;
    return text.substr(begin.size());
  };
  EXPECT_EQ(message(kLengths, {4}), "sequence 0 would end behind them");
  EXPECT_EQ(message(kLengths, {1, 3}), "sequence 1 would end behind them");
  EXPECT_EQ(message(kLengths, {1, 1}), "its sequences have only 2");
  EXPECT_EQ(message(kLengths, {-1, 4}), "its length 0 is -1");
  EXPECT_EQ(message(kSplits, {0, 4}), "sequence 0 would end behind them");
  EXPECT_EQ(message(kSplits, {0, 3, 4}), "sequence 1 would end behind them");
  EXPECT_EQ(message(kSplits, {0}), "its sequences have only 0");
  EXPECT_EQ(message(kSplits, {-1, 3}), "its first split is -1, not 0");
  EXPECT_EQ(message(kSplits, {0, 3, 2}), "its split 2 is 2, behind 3");
}

TEST(ExampleTexts, ErrorsGetThePlaceThatARecordKnows) {
  const auto placed = [](const Record& record) {
    return error_of([&] {
      try {
        throw Error(ErrorCode::data_loss, "damaged");
      } catch (...) {
        detail::rethrow_with_place(record);
      }
    });
  };
  const Error nowhere = placed(Record("bytes"));
  EXPECT_STREQ(nowhere.what(), "data_loss: damaged");
  EXPECT_FALSE(nowhere.offset());
  EXPECT_FALSE(nowhere.record());
}

TEST(ExampleTexts, BytesAndFloatsHaveTheWantedNumber) {
  const std::string record =
      ExampleBuilder().bytes("b", "abc").floats("f", std::vector<float>{0.5F, -2}).encode();
  const ExampleParser parser({"b", "f"});
  std::array<FeatureView, 2> views;
  parser.parse(record, views);
  std::array<char, 4> out = {'w', 'x', 'y', 'z'};
  detail::copy_exactly(views[0], out.data(), 3);
  EXPECT_EQ(std::string_view(out.data(), 4), "abcz");
  EXPECT_EQ(error_of([&] { detail::copy_exactly(views[0], out.data(), 4); }).message(),
            "feature 'b' has 3 bytes, but 4 are wanted");
  std::array<double, 2> wide{};
  views[1].read_floats(std::span(wide));
  EXPECT_THAT(wide, ElementsAre(0.5, -2));
  std::array<float, 3> three = {7, 7, 7};
  EXPECT_EQ(error_of([&] { views[1].read_floats(std::span(three)); }).message(),
            "feature 'f' holds 2 values, but 3 are wanted");
  std::array<float, 1> one{};
  EXPECT_EQ(error_of([&] { views[1].read_floats(std::span(one)); }).message(),
            "feature 'f' holds 2 values, but 1 is wanted");
  std::vector<double> appended = {1};
  views[1].append_floats(appended);
  EXPECT_THAT(appended, ElementsAre(1, 0.5, -2));
  EXPECT_EQ(detail::count_rows(views[1], 2), 1U);
  EXPECT_EQ(detail::count_rows(views[1], 1), 2U);
  EXPECT_EQ(error_of([&] { detail::count_rows(views[1], 3); }).message(),
            "feature 'f' holds 2 values, which is no multiple of the 3 of a row");
}

}  // namespace
}  // namespace infeed
