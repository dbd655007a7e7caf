#include <string>
#include <utility>

#include <infeed/records/csv.h>

#include "records/temporary_files.h"
#include "thrown_error.h"

/// Texts of the errors of tables, and the edges of what a guessed type takes.
namespace infeed::test {
namespace {

class CsvTextsTest : public ::testing::Test {
 protected:
  /// Returns the error of a table whose header is "a,b", or "a" for one column.
  Error refused(const std::string& rows, const ColumnSchema& schema, CsvOptions options = {}) {
    const std::string header = schema.size() == 1 ? "a\n" : "a,b\n";
    const std::string file = folder_.write("table.csv", header + rows);
    return error_of([&] { CsvReader({file}, schema, std::move(options)).read(100); });
  }
  /// Returns what is said of the only row.
  std::string said(const std::string& row, const ColumnSchema& schema, CsvOptions options = {}) {
    const std::string text = refused(row + "\n", schema, std::move(options)).message();
    const std::string begin = "line 2";
    EXPECT_TRUE(text.starts_with(begin)) << text;
    return text.substr(begin.size());
  }

  const TemporaryFolder folder_;
  const ColumnSchema two_ = ColumnSchema().column("a", DType::int8).bytes("b");
  const ColumnSchema one_ = ColumnSchema().column("a", DType::int8);
};

TEST_F(CsvTextsTest, SayWhatIsWrongWithARow) {
  EXPECT_EQ(said("1", two_), ": the row has 1 field, but 2 are expected ('a', 'b')");
  EXPECT_EQ(said("1,x,y", two_), ": the row has 3 fields, but 2 are expected ('a', 'b')");
  EXPECT_EQ(said("1,2", one_), ": the row has 2 fields, but 1 is expected ('a')");
  EXPECT_EQ(said("1,\"x\"y", two_),
            ", column 'b': behind the closing quote stands 'y' instead of the delimiter ','");
}

TEST_F(CsvTextsTest, SayWhatIsWrongWithACell) {
  const std::string expected = "a whole number from -128 to 127 (int8)";
  const std::string missing = " is no value, but " + expected +
                              " is expected; a default (if_missing) would stand in for it";
  EXPECT_EQ(said(",x", two_), ", column 'a': an empty cell" + missing);
  EXPECT_EQ(said("  ,x", two_), ", column 'a': '  '" + missing);
  EXPECT_EQ(said("NA,x", two_, {.nulls = {"NA"}}), ", column 'a': 'NA'" + missing);
  EXPECT_EQ(said(",x", two_, {.nulls = {"NA"}}), ", column 'a': an empty cell" + missing);
  for (const char* const cell : {"x", "1.5", "1x", "--1"}) {
    EXPECT_EQ(said(std::string(cell) + ",x", two_),
              ", column 'a': '" + std::string(cell) + "' is no number of that kind; expected is " +
                  expected);
  }
  for (const char* const cell : {"128", "-129"}) {
    EXPECT_EQ(said(std::string(cell) + ",x", two_),
              ", column 'a': '" + std::string(cell) +
                  "' is beyond the column's type; expected is " + expected);
  }
  EXPECT_EQ(said("2", ColumnSchema().column("a", DType::boolean)),
            ", column 'a': '2' is neither true nor false; expected is true or false (bool)");
}

TEST_F(CsvTextsTest, SayHowManyRowsAreLost) {
  const Error error = refused("1\nx\n2\ny\n", one_);
  EXPECT_EQ(
      error.message(),
      "line 3, column 'a': 'x' is no number of that kind; expected is a whole number from "
      "-128 to 127 (int8); with it go the other 3 rows of its batch (1 is bad, too): {.bad_rows "
      "= infeed::BadRows::leave_out} loses only what can't be read");
  EXPECT_EQ(error.offset(), 4U);
  ASSERT_TRUE(error.lost());
  EXPECT_EQ(error.lost()->records, 3U);
  const CsvOptions leave_out{.bad_rows = BadRows::leave_out};
  const std::string none =
      "line 2, column 'a': 'x' is no number of that kind; expected is a whole number from -128 to "
      "127 (int8); none of the ";
  const Error alone = refused("x\n", one_, leave_out);
  EXPECT_EQ(alone.message(), none + "1 row of this batch can be read");
  EXPECT_FALSE(alone.lost()) << "nothing besides the row that the error stands for";
  EXPECT_FALSE(refused("x\n", one_).lost());
  const std::string two = refused("1\nx\n", one_).message();
  EXPECT_NE(two.find("; with it goes the other row of its batch: "), std::string::npos) << two;
  EXPECT_EQ(refused("x\ny\n", one_, leave_out).message(),
            none + "2 rows of this batch can be read");
}

TEST_F(CsvTextsTest, AGuessedTypeKeepsWhatIsWritten) {
  const auto guessed = [](DType dtype) {
    ColumnSchema schema;
    schema.column("a", dtype).guessed();
    return schema;
  };
  const auto guess = [](const std::string& dtype) {
    return "; its type (" + dtype +
           ") was guessed from the first rows, so give a schema that says what it shall be";
  };
  for (const char* const cell : {"007", "00", "-01", "+09"}) {
    EXPECT_EQ(
        said(cell, guessed(DType::int64)),
        ", column 'a': '" + std::string(cell) + "' would lose its zeros as int64" + guess("int64"));
  }
  for (const char* const cell : {"9007199254740993", "-9007199254740993", " 9007199254740993"}) {
    EXPECT_EQ(
        said(cell, guessed(DType::float64)),
        ", column 'a': '" + std::string(cell) + "' would be rounded as float64" + guess("float64"));
  }
  EXPECT_EQ(said("x", guessed(DType::int64)),
            ", column 'a': 'x' is no number of that kind; expected is a whole number from "
            "-9223372036854775808 to 9223372036854775807 (int64)" +
                guess("int64"));
  ColumnSchema half = ColumnSchema().column("a", DType::int8);
  half.column("b", DType::int64).guessed();
  EXPECT_EQ(said("x,1", half),
            ", column 'a': 'x' is no number of that kind; expected is a whole number from -128 to "
            "127 (int8)")
      << "only b's type was guessed";
  EXPECT_EQ(said("1", half), ": the row has 1 field, but 2 are expected ('a', 'b')");
  EXPECT_EQ(said("1,02", half),
            ", column 'b': '02' would lose its zeros as int64" + guess("int64"));
  const std::string kept = folder_.write(
      "kept.csv",
      "a\n0\n-0\n0.5\n10\n1e5\n999999999999999\n9007199254740992\n0.1234567890123456\n");
  EXPECT_EQ(CsvReader({kept}, guessed(DType::float64)).read(100)->rows(), 8);
}

TEST_F(CsvTextsTest, SayWhatASchemaOrAHeaderLacks) {
  const std::string file = folder_.write("other.csv", "b,c\n1,2\n");
  EXPECT_EQ(error_of([&] { CsvReader({file}, one_).read(1); }).message(),
            "the header has no column 'a'; did you mean 'b'?; it has 'b', 'c'");
  const std::string twice = folder_.write("twice.csv", "a,a\n1,2\n");
  EXPECT_EQ(error_of([&] { CsvReader({twice}, one_).read(1); }).message(),
            "the header has the column 'a' twice");
  EXPECT_EQ(error_of([&] { infer_csv_schema(twice); }).message(),
            "a column's name comes twice in the header; give a schema of the others");
  EXPECT_EQ(error_of([&] { CsvReader({file}, one_).read(0); }).message(),
            "a batch of 0 rows can't be read; ask for 1 or more");
  EXPECT_EQ(
      error_of([&] { CsvReader({file}, ColumnSchema().column("x", DType::int8, {2})); }).message(),
      "csv: column 'x' is dense of shape [2], but a cell holds one value: give a dense column "
      "of shape [], or bytes");
}

}  // namespace
}  // namespace infeed::test
