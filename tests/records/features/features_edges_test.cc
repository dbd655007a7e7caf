#include <cmath>
#include <cstdint>
#include <limits>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <infeed/records/column_builder.h>
#include <infeed/records/features.h>
#include <infeed/records/fingerprint.h>

#include "features/column_items.h"
#include "records/features/apply_step.h"
#include "thrown_error.h"

/// Operations at the edges of what they take.
namespace infeed::test {
namespace {

namespace f = infeed::feature;
using ::testing::Field;
using ::testing::Optional;

constexpr double kEndless = std::numeric_limits<double>::infinity();
constexpr double kNoNumber = std::numeric_limits<double>::quiet_NaN();

Tensor splits_of(std::vector<std::int64_t> splits) { return column_of(std::move(splits)).values(); }

/// One number stands for all lengths: it was computed by another implementation of FarmHash.
TEST(FeaturesEdges, FingerprintsOfAllLengths) {
  std::string text;
  std::uint64_t all = 0;
  for (std::uint32_t i = 0; i <= 300; ++i) {
    all = all * 31 + fingerprint64(text);
    text += static_cast<char>(i * i * 31 + i * 7 + 3);
  }
  EXPECT_EQ(all, 7586196488323169929U);
}

TEST(FeaturesEdges, PlacesOfItems) {
  using detail::place_of_item;
  const Tensor six = Tensor::copy_of<int>({6}, {0, 1, 2, 3, 4, 5});
  EXPECT_EQ(place_of_item(Column::dense(six), 5), "row 5");
  const Column pairs = Column::dense(six.reshaped({2, 3}));
  EXPECT_EQ(place_of_item(pairs, 2), "row 0");
  EXPECT_EQ(place_of_item(pairs, 3), "row 1");
  EXPECT_EQ(place_of_item(Column::of_bytes({"a", "b"}), 1), "row 1");
  const Column padded = Column::padded(six.reshaped({2, 3}), splits_of({3, 3}));
  EXPECT_EQ(place_of_item(padded, 2), "row 0, item 2");
  EXPECT_EQ(place_of_item(padded, 4), "row 1, item 1");
  const Column padded_pairs = Column::padded(six.reshaped({1, 3, 2}), splits_of({3}));
  EXPECT_EQ(place_of_item(padded_pairs, 5), "row 0, item 2");
  const Column ragged = Column::ragged(six, {splits_of({0, 0, 2, 2, 6})});
  EXPECT_EQ(place_of_item(ragged, 0), "row 1, item 0");
  EXPECT_EQ(place_of_item(ragged, 1), "row 1, item 1");
  EXPECT_EQ(place_of_item(ragged, 2), "row 3, item 0");
  EXPECT_EQ(place_of_item(ragged, 5), "row 3, item 3");
  const Column ragged_pairs = Column::ragged(six.reshaped({3, 2}), {splits_of({0, 1, 3})});
  EXPECT_EQ(place_of_item(ragged_pairs, 1), "row 0, item 0");
  EXPECT_EQ(place_of_item(ragged_pairs, 5), "row 1, item 1");
  const Column nested = Column::ragged(six, {splits_of({0, 1, 3}), splits_of({0, 2, 2, 6})});
  EXPECT_EQ(place_of_item(nested, 1), "row 0, item 1");
  EXPECT_EQ(place_of_item(nested, 2), "row 1, item 0");
  EXPECT_EQ(place_of_item(nested, 5), "row 1, item 3");
}

TEST(FeaturesEdges, NumbersOf64BitsRoundTo16BitsAtOnce) {
  // The nearest float32 of each lies in the middle between two numbers of 16 bits.
  const std::vector<double> numbers = {1 + 0x1p-11 + 0x1p-40, 1 + 0x3p-11 - 0x1p-40,
                                       -1 - 0x1p-11 - 0x1p-40, 65519.9999, 0x1p-25 + 0x1p-60};
  const auto cast_to = [](DType dtype, Column column) {
    return applied(f::Cast{.column = "x", .dtype = dtype}, std::move(column));
  };
  EXPECT_THAT(cast_to(DType::float16, column_of(numbers)).values<float16>(),
              ElementsAre(float16(1 + 0x1p-10F), float16(1 + 0x1p-10F), float16(-1 - 0x1p-10F),
                          float16(65504), float16(0x1p-24F)));
  EXPECT_THAT(cast_to(DType::float16, Column::of_bytes({"1.000488281251", " 65519.9999"}))
                  .values<float16>(),
              ElementsAre(float16(1 + 0x1p-10F), float16(65504)));
  EXPECT_THAT(cast_to(DType::bfloat16, column_of(std::vector<double>{1 + 0x1p-8 + 0x1p-40}))
                  .values<bfloat16>(),
              ElementsAre(bfloat16(1 + 0x1p-7F)));
  EXPECT_THAT(cast_to(DType::bfloat16, column_of(std::vector<std::int64_t>{0x1010001, -0x1010001}))
                  .values<bfloat16>(),
              ElementsAre(bfloat16(0x1020000), bfloat16(-0x1020000)));
  const Column nan = cast_to(
      DType::float16, column_of(std::vector<float>{std::numeric_limits<float>::quiet_NaN()}));
  EXPECT_THAT(applied(f::Fill{.column = "x", .value = numbers[0]}, nan).values<float16>(),
              ElementsAre(float16(1 + 0x1p-10F)));
}

TEST(FeaturesEdges, HotNumbersLieBelowTheDepth) {
  EXPECT_THAT(applied(f::OneHot{.column = "x", .depth = 3}, column_of(std::vector<int>{0, 2}))
                  .values<float>(),
              ElementsAre(1, 0, 0, 0, 0, 1));
  EXPECT_EQ(message_of(f::OneHot{.column = "x", .depth = 3}, column_of(std::vector<int>{0, 3})),
            "data_loss: one_hot: column 'x', row 1: 3 is found, but a whole number from 0 to 2 is "
            "expected");
  EXPECT_EQ(message_of(f::MultiHot{.column = "x", .depth = 1},
                       column_of(std::vector<std::uint64_t>{~std::uint64_t{0}})),
            "data_loss: multi_hot: column 'x', row 0: 18446744073709551615 is found, but a whole "
            "number from 0 to 0 is expected");
  for (const std::size_t bad : {255U, 256U, 257U, 511U, 512U, 599U}) {
    std::vector<int> numbers(600, 0);
    numbers[bad] = 1;
    EXPECT_EQ(message_of(f::OneHot{.column = "x", .depth = 1}, column_of(std::move(numbers))),
              "data_loss: one_hot: column 'x', row " + std::to_string(bad) +
                  ": 1 is found, but a whole number from 0 to 0 is expected");
  }
  EXPECT_EQ(refusal_of(f::OneHot{.column = "x", .depth = (1 << 24) + 1}),
            "one_hot: column 'x': depth is 16777217; the number of different values is expected, "
            "from 1 to 16777216");
  EXPECT_EQ(refusal_of(f::MultiHot{.column = "x"}),
            "multi_hot: column 'x': depth is 0; the number of different values is expected, from 1 "
            "to 16777216");
  EXPECT_NO_THROW(Features({f::OneHot{.column = "x", .depth = 1 << 24}}));
  for (const f::Step& step :
       {f::Step(f::OneHot{.column = "x", .depth = 1, .dtype = DType::bytes}),
        f::Step(f::MultiHot{.column = "x", .depth = 1, .dtype = DType::bytes})}) {
    EXPECT_EQ(refusal_of(step), std::string(f::name_of(step)) +
                                    ": column 'x': dtype is bytes; a number's type is expected");
  }
}

TEST(FeaturesEdges, CountsStayWithinTheirType) {
  const auto counted = [](std::size_t ones, DType dtype) {
    const f::MultiHot step{.column = "x", .depth = 2, .counts = true, .dtype = dtype};
    const std::vector<std::vector<int>> rows = {std::vector<int>(ones, 1)};
    return std::pair(f::Step(step), ragged_column_of(rows));
  };
  const auto result = [&](std::size_t ones, DType dtype) {
    const auto [step, column] = counted(ones, dtype);
    return applied(step, column);
  };
  EXPECT_THAT(result(255, DType::uint8).values<std::uint8_t>(), ElementsAre(0, 255));
  EXPECT_THAT(result(300, DType::float32).values<float>(), ElementsAre(0, 300));
  EXPECT_THAT(result(0, DType::int8).values<std::int8_t>(), ElementsAre(0, 0));
  const auto [step, column] = counted(256, DType::uint8);
  EXPECT_EQ(message_of(step, column),
            "data_loss: multi_hot: column 'x', row 0, item 255: 1 comes more often than uint8 "
            "counts");
  const Column pairs = Column::dense(Tensor::copy_of<int>({2, 2}, {0, 1, 1, 1}));
  EXPECT_THAT(
      applied(f::MultiHot{.column = "x", .depth = 2, .counts = true}, pairs).values<float>(),
      ElementsAre(1, 1, 0, 2));
  EXPECT_THAT(applied(f::MultiHot{.column = "x", .depth = 2}, pairs).values<float>(),
              ElementsAre(1, 1, 0, 1));
  for (const DType dtype : {DType::boolean, DType::float16, DType::bfloat16}) {
    EXPECT_EQ(refusal_of(f::MultiHot{.column = "x", .depth = 2, .counts = true, .dtype = dtype}),
              "multi_hot: column 'x': dtype is " + std::string(to_string(dtype)) +
                  ", which counts badly; take float32 or a type of whole numbers");
  }
}

TEST(FeaturesEdges, BoundsLieWithinTheType) {
  const Column column = column_of(std::vector<std::int8_t>{-128, 0, 127});
  const auto clipped = [&](double min, double max) {
    return applied(f::Clip{.column = "x", .min = min, .max = max}, column);
  };
  EXPECT_EQ(clipped(-1e300, 1e300), column);
  EXPECT_EQ(clipped(-128, 127), column);
  EXPECT_THAT(clipped(127, 127).values<std::int8_t>(), ElementsAre(127, 127, 127));
  EXPECT_THAT(clipped(-128.5, -127.5).values<std::int8_t>(), ElementsAre(-128, -128, -128));
  EXPECT_THAT(clipped(0.5, 1.5).values<std::int8_t>(), ElementsAre(1, 1, 1));
  const auto refused = [&](double min, double max) {
    const std::string text = message_of(f::Clip{.column = "x", .min = min, .max = max}, column);
    const std::string begin =
        "invalid_argument: clip: column 'x': no number of the column's type (int8) lies from ";
    EXPECT_TRUE(text.starts_with(begin)) << text;
    return text.substr(begin.size());
  };
  EXPECT_EQ(refused(127.5, kEndless), "127.5 to inf");
  EXPECT_EQ(refused(128, 128), "128 to 128");
  EXPECT_EQ(refused(-kEndless, -128.5), "-inf to -128.5");
  EXPECT_EQ(refused(0.25, 0.75), "0.25 to 0.75");
  EXPECT_EQ(refusal_of(f::Clip{.column = "x", .min = 2, .max = 1}),
            "clip: column 'x': min is 2 and max is 1; min must be at most max");
  EXPECT_EQ(refusal_of(f::Clip{.column = "x", .min = kNoNumber, .max = 1}),
            "clip: column 'x': min is nan and max is 1; min must be at most max");
  EXPECT_EQ(message_of(f::Clip{.column = "x"}, column_of(std::vector<bool>{true})),
            "invalid_argument: clip: column 'x': the column is dense of bool, but numbers other "
            "than bools are expected");
  const Column floats = applied(f::Clip{.column = "x", .min = 0, .max = 2},
                                column_of(std::vector<float>{-1, 0, std::nanf(""), 2, 5}));
  EXPECT_EQ(floats.values<float>()[0], 0);
  EXPECT_TRUE(std::isnan(floats.values<float>()[2]));
  EXPECT_EQ(floats.values<float>()[3], 2);
  EXPECT_EQ(floats.values<float>()[4], 2);
}

TEST(FeaturesEdges, BucketsBeginAtTheirBoundary) {
  const auto buckets = [](std::vector<double> boundaries, Column column) {
    const Column bucketised = applied(
        f::Bucketise{.column = "x", .boundaries = std::move(boundaries)}, std::move(column));
    const auto found = bucketised.values<std::int64_t>();
    return std::vector<std::int64_t>(found.begin(), found.end());
  };
  EXPECT_THAT(buckets({0, 1}, column_of(std::vector<double>{-1, 0, 0.5, 1, kEndless})),
              ElementsAre(0, 1, 1, 2, 2));
  // The nearest float to 0.7 lies below it.
  const float below = 0.7F;
  EXPECT_THAT(buckets({0.7}, column_of(std::vector<float>{below, std::nextafter(below, 1.0F)})),
              ElementsAre(0, 1));
  EXPECT_THAT(buckets({0.1}, column_of(std::vector<float>{std::nextafter(0.1F, 0.0F), 0.1F})),
              ElementsAre(0, 1));
  EXPECT_EQ(refusal_of(f::Bucketise{.column = "x", .boundaries = {1, 0.5}}),
            "bucketise: column 'x': boundaries are [1, 0.5]; numbers in ascending order are "
            "expected, at least one");
  EXPECT_EQ(refusal_of(f::Bucketise{.column = "x", .boundaries = {0, -kEndless}}),
            "bucketise: column 'x': boundaries holds -inf; finite numbers are expected");
}

TEST(FeaturesEdges, NormalisedNumbersLoseNothing) {
  const f::Normalise step{.column = "x", .mean = {16777216}, .deviation = {2}};
  EXPECT_THAT(applied(step, column_of(std::vector<std::int32_t>{16777217})).values<float>(),
              ElementsAre(0.5F));
  EXPECT_EQ(applied(step, column_of(std::vector<double>{0})).dtype(), DType::float64);
  EXPECT_EQ(applied(step, column_of(std::vector<std::int16_t>{0})).dtype(), DType::float32);
  const auto refused = [](std::vector<double> mean, std::vector<double> deviation) {
    return refusal_of(
        f::Normalise{.column = "x", .mean = std::move(mean), .deviation = std::move(deviation)});
  };
  const std::string end = "; as many of each are expected, and deviations above 0";
  EXPECT_EQ(refused({1, 2}, {1}), "normalise: column 'x': mean is [1, 2] and deviation [1]" + end);
  EXPECT_EQ(refused({}, {}), "normalise: column 'x': mean is [] and deviation []" + end);
  EXPECT_EQ(refused({0}, {-1}), "normalise: column 'x': mean is [0] and deviation [-1]" + end);
  EXPECT_EQ(refused({kEndless}, {1}),
            "normalise: column 'x': mean holds inf; finite numbers are expected");
  EXPECT_EQ(refused({0}, {kNoNumber}),
            "normalise: column 'x': deviation holds nan; finite numbers are expected");
}

TEST(FeaturesEdges, TextsAreCutAndCast) {
  const auto parts = [](const std::string& text, const std::string& delimiter) {
    const Column split =
        applied(f::Split{.column = "x", .delimiter = delimiter}, Column::of_bytes({text}));
    std::vector<std::string> all;
    for (std::int64_t i = 0; i < split.row_splits()[1]; ++i) all.emplace_back(split.bytes(i));
    return all;
  };
  EXPECT_THAT(parts("a||b||", "||"), ElementsAre("a", "b", ""));
  EXPECT_THAT(parts("a|||b", "||"), ElementsAre("a", "|b"));
  EXPECT_THAT(parts("|a", "|"), ElementsAre("", "a"));
  EXPECT_THAT(parts("ab", "|"), ElementsAre("ab"));
  EXPECT_THAT(parts("", "|"), ElementsAre());
  const auto refused = [](DType dtype, const std::string& text) {
    return message_of(f::Cast{.column = "x", .dtype = dtype}, Column::of_bytes({text}));
  };
  EXPECT_EQ(refused(DType::int64, " "),
            "data_loss: cast: column 'x', row 0: ' ' is found, but a whole number from "
            "-9223372036854775808 to 9223372036854775807 (int64) is expected");
  EXPECT_EQ(refused(DType::float16, "65520"),
            "data_loss: cast: column 'x', row 0: '65520' is found, but a number (float16) is "
            "expected");
  EXPECT_EQ(applied(f::Cast{.column = "x", .dtype = DType::float16}, Column::of_bytes({"65519"}))
                .values<float16>()[0],
            float16(65504.0F));
  EXPECT_THAT(applied(f::Cast{.column = "x", .dtype = DType::boolean},
                      Column::of_bytes({"1", "0", "True", "FALSE", " true "}))
                  .values<bool>(),
              ElementsAre(true, false, true, false, true));
}

TEST(FeaturesEdges, ABadValueLosesTheOtherRows) {
  const auto error = [](int value) {
    return error_of([&] {
      applied(f::OneHot{.column = "x", .depth = 1}, column_of(std::vector<int>{0, value, 0}));
    });
  };
  EXPECT_THAT(error(1).lost(), Optional(Field(&Lost::records, Optional(2U))));
  EXPECT_EQ(error_of([] { applied(f::Clip{.column = "x"}, Column::of_bytes({"a"})); }).lost(),
            std::nullopt);
}

std::vector<f::Step> different_steps() {
  return {f::HashBuckets{.column = "x", .buckets = 8},
          f::HashBuckets{.column = "x", .buckets = 9},
          f::HashBuckets{.column = "y", .buckets = 8},
          f::HashBuckets{.column = "x", .buckets = 8, .to = "y"},
          f::Vocabulary{.column = "x", .words = {"a"}},
          f::Vocabulary{.column = "x", .words = {"b"}},
          f::Vocabulary{.column = "x", .words = {"a", "b"}},
          f::Vocabulary{.column = "x", .words = {"a"}, .oov_buckets = 1},
          f::Split{.column = "x"},
          f::Split{.column = "x", .delimiter = ","},
          f::Cast{.column = "x"},
          f::Cast{.column = "x", .dtype = DType::int8},
          f::Fill{.column = "x"},
          f::Fill{.column = "x", .value = kNoNumber},
          f::Clip{.column = "x", .min = 0},
          f::Clip{.column = "x", .max = 0},
          f::Bucketise{.column = "x", .boundaries = {1}},
          f::Bucketise{.column = "x", .boundaries = {1, 2}},
          f::Normalise{.column = "x", .mean = {1}},
          f::Normalise{.column = "x", .deviation = {2}},
          f::OneHot{.column = "x", .depth = 8},
          f::OneHot{.column = "x", .depth = 8, .dtype = DType::int8},
          f::MultiHot{.column = "x", .depth = 8},
          f::MultiHot{.column = "x", .depth = 8, .counts = true}};
}

TEST(FeaturesEdges, EachOptionCountsInTheHash) {
  std::set<std::uint64_t> hashes;
  for (const f::Step& step : different_steps()) {
    EXPECT_TRUE(hashes.insert(Features({step}).hash()).second) << Features({step}).to_json();
    EXPECT_EQ(Features({step}).hash(), Features({step}).hash());
  }
  const std::vector<f::Step> steps = different_steps();
  EXPECT_NE(Features({steps[0], steps[8]}).hash(), Features({steps[8], steps[0]}).hash());
}

TEST(FeaturesEdges, JsonLeavesOutDefaults) {
  const Features features({f::HashBuckets{.column = "x", .buckets = 8, .to = "y"},
                           f::Vocabulary{.column = "x", .words = {"a"}, .oov_buckets = 1},
                           f::Split{.column = "x", .delimiter = ","}, f::Split{.column = "x"},
                           f::Cast{.column = "x"}, f::Fill{.column = "x", .value = kNoNumber},
                           f::Clip{.column = "x", .min = -kEndless, .max = 2},
                           f::Clip{.column = "x", .min = -1, .max = kEndless},
                           f::Bucketise{.column = "x", .boundaries = {0.5}},
                           f::Normalise{.column = "x", .mean = {1, 2}, .deviation = {3, 4}},
                           f::OneHot{.column = "x", .depth = 3, .dtype = DType::int32},
                           f::MultiHot{.column = "x", .depth = 3, .counts = true}});
  EXPECT_EQ(features.to_json(), R"({"features": [
  {"name":"hash_buckets","column":"x","buckets":8,"to":"y"},
  {"name":"vocabulary","column":"x","words":["a"],"oov_buckets":1},
  {"name":"split","column":"x","delimiter":","},
  {"name":"split","column":"x"},
  {"name":"cast","column":"x"},
  {"name":"fill","column":"x","value":"nan"},
  {"name":"clip","column":"x","max":2.0},
  {"name":"clip","column":"x","min":-1.0},
  {"name":"bucketise","column":"x","boundaries":[0.5]},
  {"name":"normalise","column":"x","mean":[1.0,2.0],"deviation":[3.0,4.0]},
  {"name":"one_hot","column":"x","depth":3,"dtype":"int32"},
  {"name":"multi_hot","column":"x","depth":3,"counts":true}]}
)");
  EXPECT_EQ(Features::from_json(features.to_json()).hash(), features.hash());
  EXPECT_EQ(
      Features::from_json(R"({"features": [{"name": "normalise", "column": "x", "mean": 2}]})")
          .hash(),
      Features({f::Normalise{.column = "x", .mean = {2}}}).hash())
      << "a number stands for a list of one";
  for (const auto& [text, number] : {std::pair("-inf", -kEndless), std::pair("inf", kEndless)}) {
    const std::string json = std::string(R"({"features": [{"name": "fill", "column": "x", )") +
                             R"("value": ")" + text + "\"}]}";
    EXPECT_EQ(Features::from_json(json).hash(),
              Features({f::Fill{.column = "x", .value = number}}).hash())
        << text;
  }
  EXPECT_EQ(Features({}).to_json(), "{\"features\": []}\n");
}

TEST(FeaturesEdges, JsonErrorsShowTheValue) {
  const auto refused = [](const std::string& options) {
    return error_of([&] {
             Features::from_json("{\"features\": [{\"column\": \"x\", " + options + "}]}");
           })
        .message();
  };
  EXPECT_EQ(refused(R"("name": "clip", "mix": 1)"),
            "features[0]: the step clip has no 'mix'; did you mean 'min'?; it has name, column, "
            "min, max, to");
  EXPECT_EQ(refused(R"("name": "multi_hot", "depth": 1, "counts": 1)"),
            "features[0].counts: 1 is found, but true or false is expected");
  EXPECT_EQ(refused(R"("name": "cast", "dtype": 5)"),
            "features[0].dtype: 5 is found, but the name of a type, as \"int64\", is expected");
  EXPECT_EQ(refused(R"("name": "split", "delimiter": 5)"),
            "features[0].delimiter: 5 is found, but text is expected");
  EXPECT_EQ(refused(R"("name": "one_hot", "depth": 1.5)"),
            "features[0].depth: 1.5 is found, but a whole number from 0 on is expected");
  EXPECT_EQ(refused(R"("name": "normalise", "mean": [1, "a"])"),
            "features[0].mean: [1,\"a\"] is found, but a number or a list of numbers is expected");
  EXPECT_EQ(refused(R"("name": "normalise", "mean": "inf")"),
            "normalise: column 'x': mean holds inf; finite numbers are expected");
  EXPECT_EQ(refused(R"("name": 5)"),
            "features[0]: a step is expected, as {\"name\": \"clip\", \"column\": \"age\", "
            "\"max\": 100}");
  const auto words = [&](const std::string& text) {
    return refused(R"("name": "vocabulary", "words": ")" + text + "\"");
  };
  const std::string x38(38, 'x');
  EXPECT_EQ(words(x38),
            "features[0].words: \"" + x38 + "\" is found, but a list of texts is expected");
  EXPECT_EQ(words(x38 + "x"), "features[0].words: \"" + std::string(36, 'x') +
                                  "... is found, but a list of texts is expected");
  EXPECT_EQ(error_of([] { Features::from_json(std::string(200, '[')); }).message(),
            "the text isn't of the form {\"features\": [{\"name\": \"clip\", \"column\": \"age\", "
            "\"max\": 100}]}");
}

}  // namespace
}  // namespace infeed::test
