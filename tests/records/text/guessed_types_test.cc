#include <array>
#include <fmt/format.h>
#include <functional>

#include <infeed/records/csv.h>
#include <infeed/records/json_lines.h>

#include "records/temporary_files.h"
#include "thrown_error.h"

/// Types of columns that were guessed from the first rows of text, and rows behind those.
namespace infeed::test {
namespace {

constexpr const char* kAdvice = "was guessed from the first rows, so give a schema";

class GuessedTypes : public ::testing::Test {
 protected:
  const TemporaryFolder folder_;
};

/// Returns how many rows there are, or why there are none.
template <class Reader>
std::string rows_of(Reader reader) {
  try {
    return fmt::format("{} rows", reader.read(10'000)->rows());
  } catch (const Error& error) {
    return error.message();
  }
}

constexpr const char* kAll = "1002 rows";

/// A sample of 1001 rows, the row behind them, and what is said then.
void expect_said(const std::vector<std::array<std::string, 3>>& cases,
                 const std::function<std::string(const std::string&, const std::string&)>& said) {
  for (const auto& [sample, row, expected] : cases) {
    EXPECT_THAT(said(sample, row),
                AllOf(HasSubstr(expected), HasSubstr(expected == kAll ? "" : kAdvice)))
        << row;
  }
}

TEST_F(GuessedTypes, OfTablesChangeNoLaterValue) {
  const std::vector<std::array<std::string, 3>> cases = {
      {"1,2\n", "1,00501\n", "line 1003, column 'x': '00501' would lose its zeros as int64"},
      {"1,2\n", "1,\"00501\"\n", "'00501' would lose its zeros as int64"},
      {"1,2\n", "1, -07\n", "' -07' would lose its zeros as int64"},
      {"1,2\n", "1,1.5\n", "'1.5' is no number of that kind"},
      {"1,2\n", "1,9223372036854775808\n", "is beyond the column's type"},
      {"1,2\n", "1,\n", "an empty cell is no value"},
      {"1,2\n", "1,half\n", "'half' is no number of that kind"},
      {"1,1.5\n", "1,9007199254740993\n", "'9007199254740993' would be rounded as float64"},
      {"1,1.5\n", "1, -9007199254740993 \n", "would be rounded as float64"},
      {"1,\n2,3\n", "1,9007199254740993\n", "'9007199254740993' would be rounded as float64"},
      {"1,1.5\n", "1,007.5\n", "'007.5' would lose its zeros as float64"},
      {"1,1.5\n", "1,1e400\n", "is beyond the column's type"},
      {"1,true\n", "1,maybe\n", "'maybe' is neither true nor false"},
      {"1,18446744073709551615\n", "1,-1\n", "beyond the column's type"},
      {"1,1.5\n", "1,9007199254740994\n", kAll},
      {"1,1.5\n", "1,0.12345678901234567\n", kAll},
      {"1,1.5\n", "1,1e300\n", kAll},
      {"1,2\n", "1,0\n", kAll},
      {"1,2\n", "1,-9223372036854775808\n", kAll},
      {"1,abc\n", "1,00501\n", kAll}};
  expect_said(cases, [&](const std::string& sample, const std::string& row) {
    std::string table = "id,x\n";
    for (int i = 0; i < 1001; ++i) table += sample;
    const std::string file = folder_.write("late.csv", table + row);
    return rows_of(CsvReader({file}, infer_csv_schema(file)));
  });
  // A type that somebody gave is what they want.
  const std::string file = folder_.write("given.csv", "id,x\n01,9007199254740993\n");
  const auto schema = ColumnSchema().column("id", DType::int64).column("x", DType::float64);
  const auto batch = CsvReader({file}, schema).read(2);
  EXPECT_THAT(batch->column("id").values<std::int64_t>(), ElementsAre(1));
  EXPECT_THAT(batch->column("x").values<double>(), ElementsAre(9007199254740992.0));
}

TEST_F(GuessedTypes, AWholeNumberBesideFractionsIsNotRounded) {
  const std::string file = folder_.write("f.csv", "a,b\n1.5,1.5\n9007199254740993,4\n");
  const ColumnSchema schema = infer_csv_schema(file);
  EXPECT_EQ(schema.columns()[0].dtype, DType::bytes);
  EXPECT_EQ(schema.columns()[1].dtype, DType::float64);
}

TEST_F(GuessedTypes, OfATable) {
  const auto types_of = [&](const std::string& table, const CsvOptions& options = {},
                            std::size_t rows_max = 1000) {
    std::vector<DType> types;
    const std::string file = folder_.write("types.csv", table);
    const ColumnSchema schema = infer_csv_schema(file, options, rows_max);
    for (const ColumnType& type : schema.columns()) types.push_back(type.dtype);
    return types;
  };
  using enum DType;
  EXPECT_THAT(types_of("a,b\ntrue,1\n,2\n"), ElementsAre(DType::bytes, int64))
      << "no bool is a gap";
  EXPECT_THAT(types_of("a\ntrue\n1\n"), ElementsAre(DType::bytes));
  EXPECT_THAT(types_of("a\nx\ntrue\n"), ElementsAre(DType::bytes));
  EXPECT_THAT(types_of("a,b,c\n1e400,inf,1e39\n1,1,1\n"),
              ElementsAre(DType::bytes, float64, float64))
      << "finite numbers must not become infinite";
  EXPECT_THAT(types_of("a,b\n1,2\n3\nx,y,z\n4,5\n"), ElementsAre(int64, int64))
      << "rows of other lengths tell nothing";
  const CsvOptions nulls{.nulls = {"NA"}};
  EXPECT_THAT(types_of("a,b\nNA,\"NA\"\n5,5\n", nulls), ElementsAre(float64, DType::bytes));
  const std::string late = "a\n1\nx\n";
  EXPECT_THAT(types_of(late, {}, 0), ElementsAre(int64)) << "a row at least";
  EXPECT_THAT(types_of(late, {}, 1), ElementsAre(int64));
  EXPECT_THAT(types_of(late, {}, 2), ElementsAre(DType::bytes));
}

TEST_F(GuessedTypes, OfTheFirstJsonLines) {
  const std::string file = folder_.write("late.jsonl", "{\"x\": 1}\n{\"x\": 1.5}\n");
  const auto type_of_rows = [&](std::size_t rows_max) {
    return infer_json_lines_schema(file, {}, rows_max).columns()[0].dtype;
  };
  EXPECT_EQ(type_of_rows(0), DType::int64) << "a row at least";
  EXPECT_EQ(type_of_rows(1), DType::int64);
  EXPECT_EQ(type_of_rows(2), DType::float64);
}

TEST_F(GuessedTypes, OfJsonLinesChangeNoLaterValue) {
  const std::vector<std::array<std::string, 3>> cases = {
      {"1", "1.5", "line 1002, column 'x': '1.5' is no whole number"},
      {"1", "18446744073709551615", "is beyond the column's type"},
      {"1", "\"a\"", "stands where a whole number"},
      {"1", "true", "stands where a whole number"},
      {"1", "null", "null is no value"},
      {"1.5", "9007199254740993", "'9007199254740993' would be rounded as float64 (byte 7"},
      {"1.5", "-9007199254740993 ", "would be rounded as float64"},
      {"[1.5]", "[1, 2.5,9007199254740993]", "'9007199254740993' would be rounded"},
      {"[1.5]", "[9007199254740993,1]", "'9007199254740993' would be rounded"},
      {"[1.5]", "[ 9007199254740993 ]", "'9007199254740993' would be rounded"},
      {"[1.5]", "[\t9007199254740993\t]", "'9007199254740993' would be rounded"},
      {"[1.5]", "[\r9007199254740993\r, 1]", "'9007199254740993' would be rounded"},
      {"1.5", "1e400", "is beyond the column's type"},
      {"true", "1", "stands where true or false"},
      {"\"a\"", "5", "stands where text is expected"},
      {"[1]", "5", "an array"},
      {"1.5", "9007199254740994", kAll},
      {"1.5", "0.12345678901234567", kAll},
      {"[1.5]", "[9007199254740993.5, 9007199254740993e0]", kAll},
      {"1", "-9223372036854775808", kAll}};
  expect_said(cases, [&](const std::string& sample, const std::string& late) {
    std::string lines;
    for (int i = 0; i < 1001; ++i) lines += "{\"x\": " + sample + "}\n";
    const std::string file = folder_.write("late.jsonl", lines + "{\"x\": " + late + "}\n");
    return rows_of(JsonLinesReader({file}, infer_json_lines_schema(file)));
  });
  EXPECT_THAT(error_of([&] {
                infer_json_lines_schema(
                    folder_.write("f.jsonl", "{\"n\": 1.5}\n{\"n\": 9007199254740993}\n"));
              }).message(),
              HasSubstr("column 'n' has '9007199254740993', which float64 would change"));
}

TEST_F(GuessedTypes, OfJsonMembersThatAreNotInEachLine) {
  const auto inferred = [&](const std::string& lines) {
    const std::string file = folder_.write("gaps.jsonl", lines);
    return JsonLinesReader({file}, infer_json_lines_schema(file)).read(10);
  };
  const auto texts = inferred("{\"a\": \"x\"}\n{\"a\": null}\n");
  EXPECT_EQ(texts->column("a").bytes(1), "");
  const auto bools = inferred("{}\n{\"a\": true}\n");
  EXPECT_THAT(bools->column("a").values<bool>(), ElementsAre(false, true));
  const auto lists = inferred("{\"a\": [9007199254740993, 2]}\n{}\n{\"a\": []}\n");
  EXPECT_THAT(lists->column("a").values<std::int64_t>(), ElementsAre(9007199254740993, 2));
  EXPECT_THAT(lists->column("a").row_splits(), ElementsAre(0, 2, 2, 2));
  const auto empty = inferred("{\"b\": 1, \"a\": []}\n");
  EXPECT_EQ(empty->column("a").values().dtype(), DType::int64);
  EXPECT_THAT(inferred("{\"a\": null, \"b\": 1}\n")->names(), ElementsAre("b"));
}

TEST_F(GuessedTypes, OfJsonMembersAreOfOneKind) {
  for (const std::string lines :
       {"{\"a\": [1]}\n{\"a\": 2}\n", "{\"a\": 2}\n{\"a\": [1]}\n", "{\"a\": true}\n{\"a\": 1}\n",
        "{\"a\": true}\n{\"a\": \"x\"}\n", "{\"a\": [1, \"x\"]}\n"}) {
    const std::string file = folder_.write("kinds.jsonl", lines);
    const Error error = error_of([&] { infer_json_lines_schema(file); });
    EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
    EXPECT_THAT(error.message(), HasSubstr("the values of 'a' are of several kinds")) << lines;
    EXPECT_EQ(error.file(), file);
  }
}

/// Such tables were one column of texts.
TEST_F(GuessedTypes, NameAnotherDelimiterThatGivesColumns) {
  const auto inferred = [&](const std::string& text, const CsvOptions& options = {}) {
    return infer_csv_schema(folder_.write("other.csv", text), options);
  };
  const Error error = error_of([&] { inferred("age;name\n1;ann\n2;bob\n"); });
  EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
  EXPECT_THAT(error.message(), HasSubstr("only one, 'age;name', but with ';' there are several"));
  EXPECT_THAT(error.message(), HasSubstr("{.delimiter = ';'} reads them"));
  EXPECT_THAT(error_of([&] { inferred("age\tprice\n1\t2,5\n"); }).message(),
              HasSubstr("{.delimiter = '\\t'}"));
  EXPECT_THAT(error_of([&] { inferred("1|2\n3|4\n", {.has_header = false}); }).message(),
              HasSubstr("with '|'"));
  EXPECT_EQ(inferred("age;name\n1;ann\n", {.delimiter = ';'}).columns().size(), 2U);
  EXPECT_EQ(inferred("text\nhello; world\nbye\n").columns().size(), 1U);
  EXPECT_EQ(inferred("text\n\"a;b\"\n\"c;d\"\n").columns().size(), 1U);
}

}  // namespace
}  // namespace infeed::test
