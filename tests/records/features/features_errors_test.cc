#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include <infeed/records/column_builder.h>
#include <infeed/records/features.h>

#include "records/features/apply_step.h"
#include "records/temporary_files.h"
#include "thrown_error.h"

namespace infeed::test {
namespace {

namespace f = infeed::feature;

TEST(FeaturesErrors, CastRefusesWhatTheTypeCantHold) {
  const auto refused = [](DType dtype, Column column) {
    return message_of(f::Cast{.column = "x", .dtype = dtype}, std::move(column));
  };
  const auto doubles = [](double value) { return column_of(std::vector<double>{0, value}); };
  EXPECT_EQ(refused(DType::int32, doubles(0.5)),
            "data_loss: cast: column 'x', row 1: 0.5 is found, but a whole number from -2147483648 "
            "to 2147483647 (int32) is expected");
  EXPECT_THAT(refused(DType::int32, doubles(std::nan(""))), HasSubstr("nan is found"));
  EXPECT_THAT(refused(DType::int64, doubles(0x1p63)), HasSubstr("9223372036854775807"));
  EXPECT_THAT(refused(DType::uint64, doubles(-1)), HasSubstr("-1 is found"));
  EXPECT_THAT(refused(DType::float32, doubles(1e39)), HasSubstr("1e+39 is found"));
  EXPECT_THAT(refused(DType::float16, column_of(std::vector<int>{70000})), HasSubstr("70000 is"));
  EXPECT_THAT(refused(DType::boolean, column_of(std::vector<int>{2})), HasSubstr("2 is found"));
  EXPECT_THAT(refused(DType::uint8, column_of(std::vector<int>{-1})), HasSubstr("-1 is found"));
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  EXPECT_THAT(applied(f::Cast{.column = "x"}, doubles(kInfinity)).values<float>(),
              ElementsAre(0, std::numeric_limits<float>::infinity()));
  EXPECT_THAT(applied(f::Cast{.column = "x", .dtype = DType::int64}, doubles(-0x1p63))
                  .values<std::int64_t>(),
              ElementsAre(0, std::numeric_limits<std::int64_t>::min()));
}

TEST(FeaturesErrors, ErrorsNameRowItemAndValue) {
  const Column ragged = ragged_column_of(std::vector<std::vector<int>>{{1}, {}, {2, 9}});
  EXPECT_EQ(message_of(f::OneHot{.column = "x", .depth = 5}, ragged),
            "data_loss: one_hot: column 'x', row 2, item 1: 9 is found, but a whole number from 0 "
            "to 4 is expected");
  EXPECT_THAT(message_of(f::MultiHot{.column = "x", .depth = 2}, ragged),
              HasSubstr("row 2, item 0"));
  EXPECT_THAT(message_of(f::MultiHot{.column = "x", .depth = 5}, column_of(std::vector<int>{-1})),
              HasSubstr("row 0: -1 is found"));
  const Column texts =
      ragged_column_of(std::vector<std::vector<std::string>>{{}, {"a", "b"}, {"c\n"}});
  EXPECT_EQ(
      message_of(f::Vocabulary{.column = "x", .words = {"a", "b"}}, texts),
      "data_loss: vocabulary: column 'x', row 2, item 0: 'c\\x0a' is none of the vocabulary's "
      "2 words; add it, or give oov_buckets for words that aren't there");
  const Column nested = Column::ragged(Tensor::copy_of<float>({3}, {1, 2, std::nanf("")}),
                                       {Tensor::copy_of<std::int64_t>({3}, {0, 1, 3}),
                                        Tensor::copy_of<std::int64_t>({4}, {0, 1, 2, 3})});
  EXPECT_EQ(message_of(f::Bucketise{.column = "x", .boundaries = {0}}, nested),
            "data_loss: bucketise: column 'x', row 1, item 1: nan is in no bucket; a step 'fill' "
            "before puts a number there");
  const Column padded = Column::padded(Tensor::copy_of<int>({2, 2}, {0, 0, 0, 3}),
                                       column_of(std::vector<std::int64_t>{0, 2}).values());
  EXPECT_THAT(message_of(f::OneHot{.column = "x", .depth = 1}, padded), HasSubstr("row 1, item 1"));
}

TEST(FeaturesErrors, ErrorsNameColumnsOfAnotherKind) {
  const Column texts = Column::of_bytes({"a"});
  const Column floats = column_of(std::vector<float>{1});
  EXPECT_EQ(message_of(f::Clip{.column = "x"}, texts),
            "invalid_argument: clip: column 'x': the column is bytes of bytes, but numbers (cast "
            "makes them of text) are expected");
  EXPECT_THAT(message_of(f::OneHot{.column = "x", .depth = 2}, floats),
              HasSubstr("dense of float32, but whole numbers are expected"));
  EXPECT_THAT(message_of(f::HashBuckets{.column = "x", .buckets = 2}, floats),
              HasSubstr("text or whole numbers"));
  EXPECT_THAT(message_of(f::Split{.column = "x"}, floats), HasSubstr("texts are expected"));
  EXPECT_THAT(message_of(f::Fill{.column = "x"}, column_of(std::vector<int>{1})),
              HasSubstr("floats"));
  EXPECT_THAT(message_of(f::MultiHot{.column = "x", .depth = 2},
                         Column::ragged(Tensor::copy_of<int>({1}, {1}),
                                        {Tensor::copy_of<std::int64_t>({2}, {0, 1}),
                                         Tensor::copy_of<std::int64_t>({2}, {0, 1})})),
              HasSubstr("rows without inner rows"));
  EXPECT_THAT(
      message_of(f::Split{.column = "z"}, texts),
      HasSubstr("split: column 'z': there is no column 'z'; did you mean 'x'?; the batch has 'x'"));
}

TEST(FeaturesErrors, OptionsThatCantWorkAreRefused) {
  EXPECT_EQ(refusal_of(f::HashBuckets{.column = "x"}),
            "hash_buckets: column 'x': buckets is 0; at least 1 is expected");
  EXPECT_THAT(refusal_of(f::Vocabulary{.column = "x"}), HasSubstr("there are no words"));
  EXPECT_THAT(refusal_of(f::Vocabulary{.column = "x", .words = {"a", "b", "a"}}),
              HasSubstr("'a' comes twice in the vocabulary, as words 0 and 2"));
  EXPECT_THAT(refusal_of(f::Vocabulary{.column = "x", .words = {"a"}, .oov_buckets = -1}),
              HasSubstr("oov_buckets"));
  EXPECT_THAT(refusal_of(f::Split{.column = "x", .delimiter = ""}),
              HasSubstr("delimiter is empty"));
  EXPECT_THAT(refusal_of(f::Cast{.column = "x", .dtype = DType::bytes}),
              HasSubstr("dtype is bytes"));
  EXPECT_THAT(refusal_of(f::Clip{.column = "x", .min = 2, .max = 1}),
              HasSubstr("min is 2 and max"));
  EXPECT_THAT(refusal_of(f::Bucketise{.column = "x"}), HasSubstr("boundaries are []"));
  EXPECT_THAT(refusal_of(f::Bucketise{.column = "x", .boundaries = {1, 1}}), HasSubstr("[1, 1]"));
  EXPECT_THAT(refusal_of(f::Bucketise{.column = "x", .boundaries = {std::nan("")}}),
              HasSubstr("finite"));
  EXPECT_THAT(refusal_of(f::Normalise{.column = "x", .mean = {1}, .deviation = {0}}),
              HasSubstr("deviation [0]"));
  EXPECT_THAT(refusal_of(f::OneHot{.column = "x"}), HasSubstr("depth is 0"));
  EXPECT_THAT(
      refusal_of(f::MultiHot{.column = "x", .depth = 2, .counts = true, .dtype = DType::float16}),
      HasSubstr("counts badly"));
}

TEST(FeaturesErrors, VocabulariesFindNumbersOfAnySize) {
  const f::Vocabulary step{.column = "x",
                           .words = {"18446744073709551615", "-5", "007", "9223372036854775807"}};
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  EXPECT_THAT(applied(step, column_of(std::vector<std::uint64_t>{
                                std::numeric_limits<std::uint64_t>::max(), std::uint64_t{kMost}}))
                  .values<std::int64_t>(),
              ElementsAre(0, 3));
  EXPECT_THAT(applied(step, column_of(std::vector<std::int64_t>{-5, kMost})).values<std::int64_t>(),
              ElementsAre(1, 3));
  EXPECT_EQ(message_of(step, column_of(std::vector<int>{-5, 7})),
            "data_loss: vocabulary: column 'x', row 1: '7' is none of the vocabulary's 4 words; "
            "add it, or give oov_buckets for words that aren't there");
}

TEST(FeaturesErrors, VocabulariesHaveWordsFromOnePlace) {
  EXPECT_EQ(refusal_of(f::Vocabulary{.column = "x", .file = "words.txt", .words = {"a"}}),
            "vocabulary: column 'x': there are both a file and words; give one of them");
  EXPECT_EQ(refusal_of(f::Vocabulary{.column = "x"}),
            "vocabulary: column 'x': there are no words; give a file with a word a line, or words");
  const TemporaryFolder folder;
  const std::string file = folder.write("words.txt", "a\nb\na\n");
  EXPECT_EQ(refusal_of(f::Vocabulary{.column = "x", .file = file}),
            "vocabulary: column 'x': 'a' comes twice in the vocabulary (" + file +
                "), as words 0 and 2 (from 0 on); each word is expected once");
}

TEST(FeaturesErrors, JsonIsCheckedKeyByKey) {
  const auto refused = [](const std::string& step) {
    const Error error = error_of([&] { Features::from_json("{\"features\": [" + step + "]}"); });
    EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
    return error.message();
  };
  EXPECT_EQ(refused(R"({"name": "clipp", "column": "x"})").substr(0, 63),
            "features[0].name: 'clipp' is no step; did you mean 'clip'?; the");
  EXPECT_THAT(refused(R"({"name": "clip", "column": "x", "mix": 1})"),
              HasSubstr("the step clip has no 'mix'"));
  EXPECT_THAT(refused(R"({"name": "clip", "column": "x", "min": "a"})"),
              HasSubstr("features[0].min: \"a\" is found, but a number is expected"));
  // Its neighbour would be clipped to it, or fall into its bucket.
  EXPECT_THAT(
      refused(R"({"name": "clip", "column": "x", "min": -9007199254740993})"),
      HasSubstr("features[0].min: -9007199254740993 is found, but a number that float64 holds"));
  EXPECT_THAT(
      refused(R"({"name": "bucketise", "column": "x", "boundaries": [1, 18446744073709551615]})"),
      HasSubstr("features[0].boundaries: 18446744073709551615 is found"));
  EXPECT_THAT(refused(R"({"name": "one_hot", "column": "x", "depth": -1})"),
              HasSubstr("-1 is found, but a whole number from 0 on is expected"));
  EXPECT_THAT(refused(R"({"name": "one_hot", "depth": 1})"),
              HasSubstr("features[0].column: the name of a column is expected"));
  EXPECT_THAT(refused(R"({"name": "cast", "column": "x", "dtype": "int65"})"), HasSubstr("int65"));
  EXPECT_THAT(refused(R"({"name": "vocabulary", "column": "x", "words": ["a", 1]})"),
              HasSubstr("a list of texts"));
  EXPECT_THAT(refused("7"), HasSubstr("a step is expected"));
  for (const char* const text : {"", "[]", "{\"features\": 1}", "{\"feature\": []}", "{"}) {
    EXPECT_EQ(error_of([&] { Features::from_json(text); }).code(), ErrorCode::invalid_argument)
        << text;
  }
  EXPECT_THAT(error_of([] { Features({f::Split{.column = "\xff"}}).to_json(); }).message(),
              HasSubstr("UTF-8"));
}

}  // namespace
}  // namespace infeed::test
