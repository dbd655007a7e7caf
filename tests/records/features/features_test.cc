#include <bit>
#include <fmt/format.h>
#include <limits>
#include <nlohmann/json.hpp>
#include <random>

#include <infeed/records/column_builder.h>
#include <infeed/records/features.h>
#include <infeed/records/fingerprint.h>
#include <infeed/records/json_parser.h>

#include "plain_numbers.h"
#include "records/features/apply_step.h"
#include "records/temporary_files.h"
#include "seeded_random.h"
#include "thrown_error.h"

namespace infeed::test {
namespace {

namespace f = infeed::feature;
using Json = nlohmann::json;

/// Returns a number or text of a column as JSON.
Json json_of_value(const Column& column, std::int64_t i) {
  if (column.dtype() == DType::bytes) return std::string(column.bytes(i));
  const auto at = static_cast<std::size_t>(i);
  switch (column.dtype()) {
    case DType::boolean:
      return column.values<bool>()[at];
    case DType::uint8:
      return column.values<std::uint8_t>()[at];
    case DType::int16:
      return column.values<std::int16_t>()[at];
    case DType::int32:
      return column.values<std::int32_t>()[at];
    case DType::int64:
      return column.values<std::int64_t>()[at];
    case DType::float16:
      return static_cast<float>(column.values<float16>()[at]);
    case DType::float32:
      return column.values<float>()[at];
    case DType::float64:
      return column.values<double>()[at];
    default:
      ADD_FAILURE() << "no test has " << to_string(column.dtype());
      return {};
  }
}

/// Returns item i: a value, or a list where an item has a shape.
Json json_of_item(const Column& column, std::int64_t i) {
  if (column.dtype() == DType::bytes || column.row_shape().rank() == 0) {
    return json_of_value(column, i);
  }
  Json list = Json::array();
  const std::int64_t numbers = column.row_shape().items();
  for (std::int64_t k = 0; k < numbers; ++k) list.push_back(json_of_value(column, i * numbers + k));
  return list;
}

/// Returns the rows of a column of any kind, of one ragged level at most.
Json json_of_rows(const Column& column) {
  Json rows = Json::array();
  for (std::int64_t row = 0; row < column.rows(); ++row) {
    std::int64_t begin = row;
    std::int64_t end = row + 1;
    const auto at = static_cast<std::size_t>(row);
    if (column.is_ragged()) {
      begin = column.row_splits()[at];
      end = column.row_splits()[at + 1];
    } else if (column.kind() == Column::Kind::padded) {
      begin = row * column.width();
      end = begin + column.lengths()[at];
    } else {
      rows.push_back(json_of_item(column, row));
      continue;
    }
    Json list = Json::array();
    for (std::int64_t i = begin; i < end; ++i) list.push_back(json_of_item(column, i));
    rows.push_back(std::move(list));
  }
  return rows;
}

TEST(Features, GiveTheAnswersOfPandasNumpyAndTensorFlow) {
  const Json cases = Json::parse(read_whole(INFEED_FEATURE_ANSWERS));
  ASSERT_GE(cases.size(), 100);
  std::map<std::string, int> seen;
  for (const Json& one : cases) {
    SCOPED_TRACE(one.dump());
    const JsonParser parser(ColumnSchema::from_json(Json{{"columns", one["schema"]}}.dump()));
    ColumnRows rows = parser.begin(one["rows"].size());
    std::size_t count = 0;
    for (const Json& row : one["rows"]) parser.parse_row(row.dump(), nullptr, count++, rows);
    const ColumnBatch batch = parser.finish(std::move(rows), count);
    const Features features = Features::from_json(Json{{"features", one["steps"]}}.dump());
    EXPECT_EQ(json_of_rows(features(batch).column("y")), one["answer"]);
    EXPECT_EQ(Features::from_json(features.to_json())(batch), features(batch));
    EXPECT_EQ(Features::from_json(features.to_json()).hash(), features.hash());
    ++seen[std::string(f::name_of(features.steps().back()))];
  }
  EXPECT_EQ(seen.size(), std::variant_size_v<f::Step>) << "each operation has a case";
}

/// Values of tf.fingerprint, of lengths that take each way through the hash.
TEST(Features, TheFingerprintIsFarmHashs) {
  const std::vector<std::pair<std::string, std::uint64_t>> known = {
      {"", 11160318154034397263U},
      {"a", 12917804110809363939U},
      {"Rome", 9856392588578827349U},
      {"S\xc3\xa3o Paulo Brazil", 18214270394203232672U},
      {"the quick brown fox jumps over it", 12949581263641711812U},
      {std::string(64, 'x'), 6916188127298655160U},
      {std::string(65, 'x'), 4935023790501551929U},
      {std::string(200, 'y'), 577833072005583796U}};
  for (const auto& [text, expected] : known) EXPECT_EQ(fingerprint64(text), expected) << text;
}

/// Draws small whole numbers, from 0 on.
std::vector<std::int64_t> drawn_numbers(std::mt19937_64& random, std::size_t count) {
  std::vector<std::int64_t> numbers(count);
  for (std::int64_t& number : numbers) number = static_cast<std::int64_t>(random() % 40);
  return numbers;
}

Tensor drawn_splits(std::mt19937_64& random, std::int64_t items) {
  std::vector<std::int64_t> splits = {0, items};
  for (std::size_t i = random() % 20; i > 0; --i) {
    splits.push_back(static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(items + 1)));
  }
  std::sort(splits.begin(), splits.end());
  return column_of(std::move(splits)).values();
}

/// Returns the items of a padded column, and 99 in its padding.
Column padded_column(std::mt19937_64& random, const std::vector<std::int64_t>& numbers) {
  constexpr std::int64_t kWidth = 7;
  std::vector<std::int64_t> values;
  std::vector<std::int64_t> lengths;
  for (std::size_t at = 0; at < numbers.size();) {
    const std::size_t length = std::min<std::size_t>(random() % (kWidth + 1), numbers.size() - at);
    for (std::size_t i = 0; i < kWidth; ++i) values.push_back(i < length ? numbers[at + i] : 99);
    lengths.push_back(static_cast<std::int64_t>(length));
    at += length;
  }
  const auto rows = static_cast<std::int64_t>(lengths.size());
  return Column::padded(column_of(std::move(values)).values().reshaped({rows, kWidth}),
                        column_of(std::move(lengths)).values());
}

std::vector<f::Step> steps_on_items() {
  return {f::HashBuckets{.column = "x", .buckets = 17},
          f::Vocabulary{.column = "x", .words = {"3", "x", "0", "39"}, .oov_buckets = 5},
          f::Cast{.column = "x", .dtype = DType::float32},
          f::Clip{.column = "x", .min = 3.5, .max = 20},
          f::Bucketise{.column = "x", .boundaries = {-1, 0, 7.5, 30, 1e300}},
          f::Normalise{.column = "x", .mean = {2.5}, .deviation = {3}},
          f::OneHot{.column = "x", .depth = 40, .dtype = DType::uint8}};
}

TEST(Features, TreatItemsAlikeInColumnsOfEveryKind) {
  SeededRandom random;
  for (int round = 0; round < 50; ++round) {
    SCOPED_TRACE("round " + std::to_string(round));
    const std::vector<std::int64_t> numbers = drawn_numbers(random, random() % 60);
    const auto items = static_cast<std::int64_t>(numbers.size());
    const Column dense = column_of(std::vector(numbers));
    const Tensor inner = drawn_splits(random, items);
    const Tensor outer = drawn_splits(random, inner.shape()[0] - 1);
    const Column ragged = Column::ragged(dense.values(), {inner});
    const Column nested = Column::ragged(dense.values(), {outer, inner});
    const Column padded = padded_column(random, numbers);
    const std::int64_t first = static_cast<std::int64_t>(random() % (numbers.size() + 1));
    for (const f::Step& step : steps_on_items()) {
      SCOPED_TRACE(f::name_of(step));
      const Column expected = applied(step, dense);
      EXPECT_EQ(expected.rows(), items);
      EXPECT_EQ(applied(step, dense.slice(first, items - first)),
                expected.slice(first, items - first));
      const Column of_ragged = applied(step, ragged);
      EXPECT_EQ(of_ragged, Column::ragged(expected.values(), {inner}));
      EXPECT_EQ(applied(step, nested), Column::ragged(expected.values(), {outer, inner}));
      const std::int64_t rows = ragged.rows();
      EXPECT_EQ(applied(step, ragged.slice(rows / 2, rows - rows / 2)),
                of_ragged.slice(rows / 2, rows - rows / 2));
      const Column of_padded = applied(step, padded);
      EXPECT_EQ(of_padded.lengths().size(), padded.lengths().size());
      Json flat = Json::array();
      for (const Json& row : json_of_rows(of_padded))
        flat.insert(flat.end(), row.begin(), row.end());
      EXPECT_EQ(flat, json_of_rows(expected));
    }
    const Column hot = applied(f::MultiHot{.column = "x", .depth = 40, .counts = true}, padded);
    const Column again = applied(f::MultiHot{.column = "x", .depth = 40, .counts = true},
                                 Column::ragged(dense.values(), {[&] {
                                                  std::vector<std::int64_t> splits = {0};
                                                  for (const std::int64_t length : padded.lengths())
                                                    splits.push_back(splits.back() + length);
                                                  return column_of(std::move(splits)).values();
                                                }()}));
    EXPECT_EQ(hot, again);
  }
}

TEST(Features, PaddingKeepsItsNumber) {
  const Column column = Column::padded(Tensor::copy_of<float>({2, 2}, {1.5F, -1, 2, 7}),
                                       column_of(std::vector<std::int64_t>{1, 2}).values());
  EXPECT_THAT(applied(f::Clip{.column = "x", .min = 0, .max = 5}, column).values<float>(),
              ElementsAre(1.5F, -1, 2, 5));
  EXPECT_THAT(
      applied(f::Bucketise{.column = "x", .boundaries = {2}}, column).values<std::int64_t>(),
      ElementsAre(0, -1, 1, 1));
  const Column nan_padded = Column::padded(Tensor::copy_of<float>({1, 2}, {1, std::nanf("")}),
                                           column_of(std::vector<std::int64_t>{1}).values());
  EXPECT_THAT(
      applied(f::Cast{.column = "x", .dtype = DType::int32}, nan_padded).values<std::int32_t>(),
      ElementsAre(1, 0));
}

/// Bounds that no float64, or no number of the type, stands for exactly.
TEST(Features, WholeNumbersAreComparedExactly) {
  constexpr std::int64_t kBig = (std::int64_t{1} << 53) + 1;  // float64 rounds it down
  const Column column = column_of(std::vector<std::int64_t>{kBig - 2, kBig, kBig + 2});
  EXPECT_THAT(applied(f::Bucketise{.column = "x", .boundaries = {0x1p53, 0x1p53 + 2}}, column)
                  .values<std::int64_t>(),
              ElementsAre(0, 1, 2));
  EXPECT_THAT(applied(f::Clip{.column = "x", .max = 0x1p53 + 2}, column).values<std::int64_t>(),
              ElementsAre(kBig - 2, kBig, kBig + 1));
  const Column bytes = column_of(std::vector<std::uint8_t>{0, 7, 255});
  EXPECT_THAT(applied(f::Clip{.column = "x", .min = -3, .max = 1e9}, bytes).values<std::uint8_t>(),
              ElementsAre(0, 7, 255));
  EXPECT_THAT(applied(f::Bucketise{.column = "x", .boundaries = {-1, 6.5, 255, 256}}, bytes)
                  .values<std::int64_t>(),
              ElementsAre(1, 2, 3));
  EXPECT_EQ(message_of(f::Clip{.column = "x", .min = 0.2, .max = 0.8}, bytes),
            "invalid_argument: clip: column 'x': no number of the column's type (uint8) lies from "
            "0.2 to 0.8");
}

TEST(Features, NormaliseWithAMeanForEachNumberOfAnItem) {
  const Column column = Column::dense(Tensor::copy_of<float>({2, 3}, {1, 2, 3, 4, 5, 6}));
  EXPECT_THAT(
      applied(f::Normalise{.column = "x", .mean = {1, 2, 3}, .deviation = {1, 2, 4}}, column)
          .values<float>(),
      ElementsAre(0, 0, 0, 3, 1.5F, 0.75F));
  EXPECT_THAT(message_of(f::Normalise{.column = "x", .mean = {1, 2}, .deviation = {1, 2}}, column),
              HasSubstr("there are 2 means, but an item of the column has the shape [3]"));
}

TEST(Features, CastReadsText) {
  const Column text = Column::of_bytes({" 7", "-3", "+4 "});
  EXPECT_THAT(applied(f::Cast{.column = "x", .dtype = DType::int8}, text).values<std::int8_t>(),
              ElementsAre(7, -3, 4));
  EXPECT_THAT(
      applied(f::Cast{.column = "x", .dtype = DType::boolean}, Column::of_bytes({"1", "false"}))
          .values<bool>(),
      ElementsAre(true, false));
  EXPECT_THAT(
      applied(f::Cast{.column = "x", .dtype = DType::float32}, Column::of_bytes({"0.1", "inf"}))
          .values<float>(),
      ElementsAre(0.1F, std::numeric_limits<float>::infinity()));
  EXPECT_EQ(
      message_of(f::Cast{.column = "x", .dtype = DType::int8}, Column::of_bytes({"1", "128"})),
      "data_loss: cast: column 'x', row 1: '128' is found, but a whole number from -128 to "
      "127 (int8) is expected");
  EXPECT_THAT(message_of(f::Cast{.column = "x"}, Column::of_bytes({""})),
              HasSubstr("row 0: '' is found, but a number (float32) is expected"));
  EXPECT_THAT(message_of(f::Cast{.column = "x"}, Column::of_bytes({"1e39"})), HasSubstr("'1e39'"));
  EXPECT_THAT(message_of(f::Cast{.column = "x", .dtype = DType::boolean}, Column::of_bytes({"2"})),
              HasSubstr("true or false"));
}

/// Texts lie one behind the other, so the digits of the next one follow those of each.
TEST(Features, CastReadsTextsAmongOthers) {
  SeededRandom random;
  std::vector<std::string> wholes;
  std::vector<std::string> decimals;
  for (int i = 0; i < 2000; ++i) {
    const std::uint64_t bits = random() >> random() % 64;
    wholes.push_back((random() % 2 == 0 ? "-" : "") + std::to_string(bits >> 1));
    decimals.push_back(fmt::format("{:f}", static_cast<double>(bits) / 1000));
    if (random() % 9 == 0) decimals.back() += "e-" + std::to_string(random() % 30);
    if (random() % 9 == 0) decimals.back() = std::string(70, '0') + decimals.back();
  }
  const auto integers = applied(f::Cast{.column = "x", .dtype = DType::int64}, column_of(wholes));
  const auto floats = applied(f::Cast{.column = "x"}, column_of(decimals));
  const auto doubles =
      applied(f::Cast{.column = "x", .dtype = DType::float64}, column_of(decimals));
  for (std::size_t i = 0; i < wholes.size(); ++i) {
    SCOPED_TRACE("text " + wholes[i] + ", " + decimals[i]);
    EXPECT_EQ(integers.values<std::int64_t>()[i], std::stoll(wholes[i]));
    EXPECT_EQ(floats.values<float>()[i], float_of(decimals[i]));
    EXPECT_EQ(doubles.values<double>()[i], double_of(decimals[i]));
  }
  wholes[1000] = "12x";
  EXPECT_THAT(message_of(f::Cast{.column = "x", .dtype = DType::int64}, column_of(wholes)),
              HasSubstr("row 1000: '12x' is found"));
}

TEST(Features, CastReadsPlainDecimalsExactly) {
  SeededRandom random;
  const auto digits = [&](std::uint64_t count) {
    std::string text;
    for (; count > 0; --count) text += static_cast<char>('0' + random() % 10);
    return text;
  };
  std::vector<std::string> texts{"5.", ".5", "-.5", "+1.5", "-0.0", "-0", "16777217.0"};
  while (texts.size() < 5000) {
    texts.push_back((random() % 3 == 0 ? "-" : "") + digits(1 + random() % 9));
    if (random() % 4 != 0) texts.back() += "." + digits(1 + random() % 9);
  }
  const auto floats = applied(f::Cast{.column = "x"}, column_of(texts));
  const auto doubles = applied(f::Cast{.column = "x", .dtype = DType::float64}, column_of(texts));
  for (std::size_t i = 0; i < texts.size(); ++i) {
    SCOPED_TRACE("text " + texts[i]);
    EXPECT_EQ(std::bit_cast<std::uint32_t>(floats.values<float>()[i]),
              std::bit_cast<std::uint32_t>(float_of(texts[i])));
    EXPECT_EQ(std::bit_cast<std::uint64_t>(doubles.values<double>()[i]),
              std::bit_cast<std::uint64_t>(double_of(texts[i])));
  }
  for (const char* const wrong : {"", "-", ".", "-.", "1.2.3", "1.-2", "--1", "1..2", "1.2x",
                                  "12345678.1234567:", "1e", "1,5"}) {
    texts[1] = wrong;
    EXPECT_THAT(message_of(f::Cast{.column = "x"}, column_of(texts)),
                HasSubstr("row 1: '" + std::string(wrong) + "' is found"));
  }
}

TEST(Features, VocabulariesComeFromFiles) {
  const TemporaryFolder folder;
  folder.write("words.txt", "\xef\xbb\xbfRome\r\nOslo\n\n7");
  const std::string file = folder.file("words.txt");
  const f::Vocabulary step{.column = "x", .file = file};
  EXPECT_THAT(applied(step, Column::of_bytes({"7", "", "Oslo", "Rome"})).values<std::int64_t>(),
              ElementsAre(3, 2, 1, 0));
  EXPECT_THAT(applied(step, column_of(std::vector<std::uint64_t>{7})).values<std::int64_t>(),
              ElementsAre(3));
  EXPECT_THAT(message_of(step, Column::of_bytes({"Paris"})),
              HasSubstr("'Paris' is none of the vocabulary's 4 words (" + file + ")"));
  const std::uint64_t hash = Features({step}).hash();
  EXPECT_EQ(hash,
            Features({f::Vocabulary{.column = "x", .words = {"Rome", "Oslo", "", "7"}}}).hash())
      << "the words count, not where they are";
  folder.write("words.txt", "Rome\nParis\n\n7");
  EXPECT_NE(hash, Features({step}).hash());
  folder.write("words.txt", "");
  EXPECT_THAT(refusal_of(step), HasSubstr("has no words"));
  EXPECT_EQ(error_of([&] { Features({f::Vocabulary{.column = "x", .file = "/no/words"}}); }).code(),
            ErrorCode::not_found);
}

TEST(Features, StepsFollowEachOther) {
  const Features features({f::Split{.column = "tags"},
                           f::HashBuckets{.column = "tags", .buckets = 8, .to = "tag_ids"},
                           f::MultiHot{.column = "tag_ids", .depth = 8, .to = "tag_hot"}});
  const ColumnBatch batch(
      {{"tags", Column::of_bytes({"a|b", "", "a"})}, {"id", column_of(std::vector<int>{1, 2, 3})}});
  const ColumnBatch result = features(batch);
  EXPECT_THAT(result.names(), ElementsAre("tags", "id", "tag_ids", "tag_hot"));
  EXPECT_EQ(result.column("id").values().data(), batch.column("id").values().data());
  EXPECT_EQ(result.column("tag_hot").row_shape(), Shape({8}));
  EXPECT_EQ(features(batch.slice(1, 2)), result.slice(1, 2));
  EXPECT_EQ(features(batch.slice(0, 0)).rows(), 0);
  EXPECT_EQ(Features({})(batch), batch);
}

}  // namespace
}  // namespace infeed::test
