#include <cmath>
#include <fmt/format.h>

#include <infeed/records/csv.h>
#include <infeed/records/limits.h>

#include "records/columns/column_texts.h"
#include "records/temporary_files.h"
#include "records/tfrecord/framed.h"
#include "thrown_error.h"

namespace infeed::test {
namespace {

class CsvReaderTest : public ::testing::Test {
 protected:
  /// Reads all rows of a table in one batch.
  ColumnBatch read(std::string_view text, const ColumnSchema& schema, CsvOptions options = {}) {
    CsvReader reader({folder_.write("table.csv", text)}, schema, std::move(options));
    auto batch = reader.read(1'000'000);
    return batch == nullptr ? ColumnBatch() : *batch;
  }
  Error refused(std::string_view text, const ColumnSchema& schema, const CsvOptions& options = {}) {
    return error_of([&] { read(text, schema, options); });
  }

  const TemporaryFolder folder_;
  const ColumnSchema people_ =
      ColumnSchema().column("age", DType::int32).column("size", DType::float32).bytes("name");
};

TEST_F(CsvReaderTest, ReadsColumnsByName) {
  const ColumnBatch batch = read(
      "name,unused,size,age\nAda,x,1.65,36\n\"Grace, \"\"Amazing\"\"\",\"a\nb\",1.7,85\n", people_);
  EXPECT_THAT(batch.names(), ElementsAre("age", "size", "name"));
  EXPECT_THAT(batch.column("age").values<std::int32_t>(), ElementsAre(36, 85));
  EXPECT_THAT(batch.column("size").values<float>(), ElementsAre(1.65F, 1.7F));
  EXPECT_THAT(column_texts(batch.column("name")), ElementsAre("Ada", "Grace, \"Amazing\""));
}

TEST_F(CsvReaderTest, TakesAllLineEndsBlanksAndEmptyLines) {
  const ColumnBatch batch = read(
      "\xef\xbb\xbf"
      "age,size,name\r\n\r\n 1 ,\t2 ,a\r\n\n2,3,\"line\r\nbreak\"\n3,4,\r\n4,5,\"\"",
      people_);
  EXPECT_THAT(batch.column("age").values<std::int32_t>(), ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(column_texts(batch.column("name")), ElementsAre("a", "line\r\nbreak", "", ""));
}

TEST_F(CsvReaderTest, QuotesInsideAFieldAreCharacters) {
  const ColumnBatch batch = read("age,size,name\n1,2,5\" pipe\n3,4,a\"b\"\"c\n", people_);
  EXPECT_THAT(column_texts(batch.column("name")), ElementsAre("5\" pipe", "a\"b\"\"c"));
  const ColumnBatch tabs =
      read("age\tsize\tname\n1\t2\t\"a\n3\t4\tb\"\n", people_, tab_separated());
  EXPECT_THAT(column_texts(tabs.column("name")), ElementsAre("\"a", "b\""));
}

TEST_F(CsvReaderTest, ReadsEveryType) {
  const auto schema = ColumnSchema()
                          .column("b", DType::boolean)
                          .column("i8", DType::int8)
                          .column("u64", DType::uint64)
                          .column("f16", DType::float16)
                          .column("bf16", DType::bfloat16)
                          .column("f64", DType::float64);
  const ColumnBatch batch =
      read("true;-128;18446744073709551615;0.5;1.5;1e300\n0;127;0;-2;inf;nan\n", schema,
           {.delimiter = ';', .has_header = false});
  EXPECT_THAT(batch.column("b").values<bool>(), ElementsAre(true, false));
  EXPECT_THAT(batch.column("i8").values<std::int8_t>(), ElementsAre(-128, 127));
  EXPECT_THAT(batch.column("u64").values<std::uint64_t>(), ElementsAre(18446744073709551615U, 0U));
  EXPECT_EQ(float(batch.column("f16").values<float16>()[1]), -2.0F);
  EXPECT_EQ(float(batch.column("bf16").values<bfloat16>()[0]), 1.5F);
  EXPECT_EQ(batch.column("f64").values<double>()[0], 1e300);
  EXPECT_TRUE(std::isnan(batch.column("f64").values<double>()[1]));
}

TEST_F(CsvReaderTest, NumbersBeyond16BitsAreRefused) {
  const auto read_as = [&](DType dtype, const std::string& cell) {
    return read("x\n" + cell + "\n", ColumnSchema().column("x", dtype)).column("x");
  };
  EXPECT_EQ(float(read_as(DType::float16, "65519").values<float16>()[0]), 65504.0F);
  EXPECT_TRUE(std::isinf(float(read_as(DType::float16, "-inf").values<float16>()[0])));
  // The nearest float32 of each lies in the middle between two float16.
  EXPECT_EQ(float(read_as(DType::float16, "65519.9999").values<float16>()[0]), 65504.0F);
  EXPECT_EQ(float(read_as(DType::float16, "1.000488281251").values<float16>()[0]), 1 + 0x1p-10F);
  const auto refusal = [&](DType dtype, const std::string& cell) {
    return error_of([&] { read_as(dtype, cell); }).message();
  };
  for (const char* cell : {"65520", "-70000", "1e39"}) {
    EXPECT_THAT(refusal(DType::float16, cell), HasSubstr("is beyond the column's type")) << cell;
  }
  EXPECT_THAT(refusal(DType::bfloat16, "3.4e38"),
              HasSubstr("'3.4e38' is beyond the column's type; expected is a number (bfloat16)"));
}

TEST_F(CsvReaderTest, NullsMayBeNamesOfBools) {
  const auto schema =
      ColumnSchema().column("b", DType::boolean).if_missing(std::vector<std::int64_t>{1});
  for (const char* null : {"false", "False", "FALSE"}) {
    const ColumnBatch batch = read("b\n" + std::string(null) + "\n0\n", schema, {.nulls = {null}});
    EXPECT_THAT(batch.column("b").values<bool>(), ElementsAre(true, false)) << null;
  }
}

TEST_F(CsvReaderTest, DefaultsStandInForNulls) {
  const auto schema = ColumnSchema()
                          .column("a", DType::int64)
                          .if_missing(std::vector<std::int64_t>{-1})
                          .bytes("t")
                          .if_missing(std::vector<std::string>{"none"})
                          .column("absent", DType::float32)
                          .if_missing(std::vector<double>{0.5});
  const ColumnBatch batch =
      read("a,t\n,\nNA,NA\n7,\"NA\"\n-9,x\n", schema, {.nulls = {"", "NA", "-9"}});
  EXPECT_THAT(batch.column("a").values<std::int64_t>(), ElementsAre(-1, -1, 7, -1));
  EXPECT_THAT(column_texts(batch.column("t")), ElementsAre("none", "none", "NA", "x"));
  EXPECT_THAT(batch.column("absent").values<float>(), ElementsAre(0.5F, 0.5F, 0.5F, 0.5F));
}

TEST_F(CsvReaderTest, ErrorsNameFileLineAndColumn) {
  const Error error = refused("age,size,name\n1,2,a\n\n300000000000,2,\"b\nb\"\nx,y,z\n", people_);
  EXPECT_EQ(error.code(), ErrorCode::data_loss);
  EXPECT_THAT(
      error.message(),
      HasSubstr("line 4, column 'age': '300000000000' is beyond the column's type; expected "
                "is a whole number from -2147483648 to 2147483647 (int32)"));
  EXPECT_THAT(error.message(),
              HasSubstr("with it go the other 2 rows of its batch (1 is bad, too): "
                        "{.bad_rows = infeed::BadRows::leave_out}"));
  EXPECT_THAT(error.file(), HasSubstr("table.csv"));
  EXPECT_EQ(error.offset(), 21);
  EXPECT_EQ(error.lost()->records, 2);

  const auto message = [&](std::string_view rows) {
    return refused("age,size,name\n" + std::string(rows), people_).message();
  };
  EXPECT_THAT(message("1,x,a\n"), HasSubstr("line 2, column 'size': 'x' is no number of that kind; "
                                            "expected is a number (float32)"));
  EXPECT_THAT(message("1,,a\n"),
              HasSubstr("an empty cell is no value, but a number (float32) is "
                        "expected; a default (if_missing) would stand in for it"));
  EXPECT_THAT(message("1,2\n"),
              HasSubstr("line 2: the row has 2 fields, but 3 are expected ('age', "
                        "'size', 'name')"));
  EXPECT_THAT(message("1,2,a,\n"), HasSubstr("the row has 4 fields"));
  EXPECT_THAT(message("1,2,\"a\"b\n"),
              HasSubstr("column 'name': behind the closing quote stands 'b' instead of the "
                        "delimiter ','"));
  EXPECT_THAT(message("1,2\r,a\n"), HasSubstr("a carriage return stands without a line feed"));
  EXPECT_THAT(message("1,2,\"a\n"),
              HasSubstr("a quote that opens a field in the row of line 2 is not closed"));
}

TEST_F(CsvReaderTest, BadRowsCanBeLeftOut) {
  const CsvOptions options{.bad_rows = BadRows::leave_out};
  const ColumnBatch batch =
      read("age,size,name\n1,2,a\nx,2,b\n3,\"4,5,c\n,\"\"\",5,6\n4,5,d\n", people_, options);
  EXPECT_THAT(batch.column("age").values<std::int32_t>(), ElementsAre(1, 4));
  EXPECT_THAT(column_texts(batch.column("name")), ElementsAre("a", "d"));
  EXPECT_THAT(refused("age,size,name\nx,1,a\n", people_, options).message(),
              HasSubstr("none of the 1 row of this batch can be read"));
}

TEST_F(CsvReaderTest, HeadersAreChecked) {
  EXPECT_THAT(refused("Age,size,name\n1,2,a\n", people_).message(),
              HasSubstr("the header has no column 'age'; did you mean 'Age'?; it has 'Age'"));
  EXPECT_THAT(refused("age,size,name,age\n1,2,a,1\n", people_).message(),
              HasSubstr("the column 'age' twice"));
  EXPECT_THAT(refused("", people_).message(), HasSubstr("not even a header"));
  EXPECT_THAT(refused("\xff\xfe", people_).message(), HasSubstr("UTF-16"));
  EXPECT_EQ(read("age,size,name", people_).rows(), 0);
  EXPECT_THAT(error_of([&] { read("", ColumnSchema().ragged("a", DType::int8)); }).message(),
              HasSubstr("column 'a' is ragged of shape [], but a cell holds one value"));
  EXPECT_THAT(error_of([&] { read("", people_, {.delimiter = '\n'}); }).message(),
              HasSubstr("the delimiter is '\\x0a'"));
}

TEST_F(CsvReaderTest, RowsThatCrossBlocksAndFilesMakeWholeBatches) {
  std::vector<std::string> files;
  std::string expected;
  std::int32_t age = 0;
  for (int f = 0; f < 3; ++f) {
    std::string text = f == 1 ? "name,size,age\n" : "age,size,name\n";
    for (int i = 0; i < 20'000; ++i, ++age) {
      const std::string name(static_cast<std::size_t>(age) % 200, 'n');
      text +=
          f == 1 ? fmt::format("{},1,{}\n", name, age) : fmt::format("{},1,\"{}\"\n", age, name);
    }
    files.push_back(folder_.write(fmt::format("{}.csv", f), text));
  }
  CsvReader reader(files, people_);
  std::int32_t row = 0;
  while (const auto batch = reader.read(7'001)) {
    ASSERT_EQ(batch->rows(), std::min(7'001, 60'000 - row));
    for (std::int64_t i = 0; i < batch->rows(); ++i, ++row) {
      ASSERT_EQ(batch->column("age").values<std::int32_t>()[i], row);
      ASSERT_EQ(batch->column("name").bytes(i).size(), static_cast<std::size_t>(row % 200));
    }
  }
  EXPECT_EQ(row, 60'000);
}

TEST_F(CsvReaderTest, LongRowsAndDamagedStreams) {
  const std::string longer(3'000'000, 'x');
  EXPECT_EQ(read("age,size,name\n1,2," + longer + "\n", people_).column("name").bytes(0), longer);
  EXPECT_THAT(
      refused("age,size,name\n1,2," + longer + "\n", people_, {.row_bytes_max = 100'000}).message(),
      HasSubstr("the row that begins in line 2 is longer than 100000 bytes: perhaps a quote"));

  std::string text = "age,size,name\n";
  for (int i = 0; i < 200'000; ++i) text += fmt::format("{},1.5,name {}\n", i, i * 7919);
  const std::string name = folder_.write("table.csv.gz", test::gzip(text));
  CsvReader whole({name}, people_);
  EXPECT_EQ(whole.read(1'000'000)->rows(), 200'000);

  const std::string bytes = read_whole(name);
  folder_.write("table.csv.gz", bytes.substr(0, bytes.size() - 100'000));
  CsvReader cut({name, folder_.write("next.csv", "age,size,name\n-1,1,x\n")}, people_);
  const auto before = cut.read(1'000'000);
  EXPECT_GT(before->rows(), 1000);
  const Error damage = error_of([&] { cut.read(10); });
  EXPECT_EQ(damage.code(), ErrorCode::data_loss);
  EXPECT_EQ(damage.file(), name);
  std::size_t rows_end = std::string_view("age,size,name\n").size();
  for (std::int64_t row = 0; row < before->rows(); ++row) rows_end = text.find('\n', rows_end) + 1;
  EXPECT_GE(damage.offset(), rows_end);
  EXPECT_LE(damage.offset(), text.find('\n', rows_end)) << "in the row that isn't whole";
  EXPECT_EQ(cut.read(10)->column("age").values<std::int32_t>()[0], -1);
  EXPECT_EQ(cut.read(10), nullptr);
}

TEST_F(CsvReaderTest, RowsAreMeasuredWithoutWhatStandsAroundThem) {
  const CsvOptions options{.row_bytes_max = 1'000};
  const std::string longest = "1,2," + std::string(996, 'x');
  // Blocks end at 256 KiB: in empty lines, in the row, between CR and LF, and behind it.
  for (const std::size_t empty : {0, 5'000, 261'120, 261'127, 261'128, 261'129, 262'200, 600'000}) {
    const std::string before = "age,size,name\n" + std::string(empty, '\n');
    for (const std::string_view end : {"", "\n", "\r\n", "\n\r\n3,4,y\n"}) {
      SCOPED_TRACE(fmt::format("{} empty lines, then {} bytes", empty, end.size()));
      EXPECT_EQ(read(before + longest + std::string(end), people_, options).column("name").bytes(0),
                longest.substr(4));
      const Error error = refused(before + longest + "x" + std::string(end), people_, options);
      EXPECT_THAT(error.message(), HasSubstr(fmt::format("the row that begins in line {} is longer "
                                                         "than 1000 bytes",
                                                         empty + 2)));
    }
  }
  // Rows before one that is too long are read; carriage returns alone are no empty lines.
  CsvReader reader(
      {folder_.write("table.csv", "age,size,name\n1,2,a\n\n2,3,b\n" + longest + "x\n")}, people_,
      options);
  EXPECT_EQ(reader.read(100)->rows(), 2);
  EXPECT_EQ(error_of([&] { reader.read(100); }).record(), 2);
  EXPECT_THAT(refused("age,size,name\n" + std::string(400'000, '\r') + "1,2,a\n", people_, options)
                  .message(),
              HasSubstr("longer than 1000 bytes"));
}

TEST_F(CsvReaderTest, EmptyLinesMayStandBeforeTheHeader) {
  const ColumnBatch batch = read("\n\r\nage,size,name\n1,2,a\n", people_);
  EXPECT_THAT(batch.column("age").values<std::int32_t>(), ElementsAre(1));
  EXPECT_EQ(infer_csv_schema(folder_.write("table.csv", "\nage\n1\n")).columns()[0].name, "age");
}

TEST_F(CsvReaderTest, LinesThatEndWithACarriageReturnAreRefused) {
  const std::string lone =
      "a carriage return stands without a line feed; expected are lines that end with LF or CRLF: "
      "tr '\\r' '\\n' makes them of lines that end with CR";
  // Such a file is all header.
  const std::string file = folder_.write("mac.csv", "age,size,name\r1,2,a\r");
  EXPECT_THAT(error_of([&] { infer_csv_schema(file); }).message(), HasSubstr(lone));
  EXPECT_THAT(refused("age,size,name\r1,2,a\r", people_).message(), HasSubstr(lone));
  EXPECT_THAT(refused("age,size,name\n1,2,a\r3,4,b\n", people_).message(), HasSubstr(lone));
  EXPECT_THAT(refused("age,size,name\n1,2,\"a\"\r\"b\",4,5\n", people_).message(), HasSubstr(lone));
  EXPECT_THAT(refused("age,other,size,name\n1,\r,2,a\n", people_).message(), HasSubstr(lone));
  // The end of the file may stand for a line feed, and in quotes the carriage return is a
  // character.
  const ColumnBatch batch = read("age,size,name\r\n1,2,\"a\rb\"\r", people_);
  EXPECT_THAT(column_texts(batch.column("name")), ElementsAre("a\rb"));
  // A row that can't be read tells nothing about its columns.
  EXPECT_EQ(infer_csv_schema(folder_.write("one.csv", "age\n1\n2\r3\n")).columns()[0].dtype,
            DType::int64);
}

TEST_F(CsvReaderTest, FieldsOfARowAreLimited) {
  const std::string commas = std::string(2'000'000, ',') + "\n";
  const std::string file = folder_.write("wide.csv", commas + "1\n");
  const std::string limit = "a row has more than 1048576 fields, which is the limit";
  EXPECT_THAT(error_of([&] { infer_csv_schema(file); }).message(), HasSubstr(limit));
  EXPECT_THAT(refused(commas, people_).message(), HasSubstr(limit));
  EXPECT_THAT(refused("age,size,name\n1,2,x" + commas, people_).message(),
              HasSubstr("the row has 2000003 fields, but 3 are expected"));
}

/// A header of a million columns took 537 MB.
TEST_F(CsvReaderTest, InferringHasALimitOfColumns) {
  const auto header_of = [](std::size_t columns) {
    std::string header = "c0";
    for (std::size_t i = 1; i < columns; ++i) header += fmt::format(",c{}", i);
    return header + "\n";
  };
  const std::string most = folder_.write("most.csv", header_of(limits::json_columns));
  EXPECT_EQ(infer_csv_schema(most).columns().size(), limits::json_columns);
  const std::string more = folder_.write("more.csv", header_of(limits::json_columns + 1));
  for (const bool has_header : {false, true}) {
    const Error error = error_of([&] { infer_csv_schema(more, {.has_header = has_header}); });
    EXPECT_EQ(error.code(), ErrorCode::resource_exhausted);
    EXPECT_THAT(error.message(), HasSubstr("there are 65537 columns with "));
  }
}

TEST_F(CsvReaderTest, InfersASchema) {
  const std::string file = folder_.write(
      "t.csv",
      "whole,nulls,decimal,text,code,yes,empty,quoted\n"
      "1,1,1.5,a,00501,true,,\"1\"\n-2,,nan,2,0,False,,\"2\"\n\n3,4,1e5,\"x,y\",7,TRUE,,\"3\"\n");
  const ColumnSchema schema = infer_csv_schema(file);
  std::string found;
  for (const ColumnType& type : schema.columns()) {
    found += type.name + ":" + std::string(to_string(type.dtype)) + " ";
  }
  EXPECT_EQ(found,
            "whole:int64 nulls:float64 decimal:float64 text:bytes code:bytes yes:bool "
            "empty:bytes quoted:int64 ");
  CsvReader reader({file}, schema);
  const auto batch = reader.read(10);
  EXPECT_TRUE(std::isnan(batch->column("nulls").values<double>()[1]));
  EXPECT_THAT(infer_csv_schema(folder_.write("n.csv", "1,a\n2,b\n"), {.has_header = false})
                  .columns()[1]
                  .name,
              "column2");
  EXPECT_THAT(error_of([&] { infer_csv_schema(folder_.write("d.csv", "a,a\n1,2\n")); }).message(),
              HasSubstr("comes twice"));
}

TEST_F(CsvReaderTest, InferredNumbersAreTheWrittenOnes) {
  const std::string file = folder_.write("t.csv",
                                         "id,few,big,huge,mixed,signed\n"
                                         "9007199254740993,7,18446744073709551615,1,-1,-2\n"
                                         ",,0,18446744073709551616,18446744073709551615,\n"
                                         "5,9,1,2,3,4\n");
  const ColumnSchema schema = infer_csv_schema(file);
  std::vector<DType> found;
  for (const ColumnType& type : schema.columns()) found.push_back(type.dtype);
  EXPECT_THAT(found, ElementsAre(DType::bytes, DType::float64, DType::uint64, DType::bytes,
                                 DType::bytes, DType::float64));
  const ColumnBatch batch = *CsvReader({file}, schema).read(10);
  EXPECT_THAT(column_texts(batch.column("id")), ElementsAre("9007199254740993", "", "5"));
  EXPECT_THAT(batch.column("big").values<std::uint64_t>(),
              ElementsAre(18446744073709551615U, 0U, 1U));
  EXPECT_THAT(column_texts(batch.column("huge")), ElementsAre("1", "18446744073709551616", "2"));
  EXPECT_THAT(column_texts(batch.column("mixed")), ElementsAre("-1", "18446744073709551615", "3"));
  // Blanks alone are no value, as for the reader.
  EXPECT_EQ(infer_csv_schema(folder_.write("b.csv", "a,b\n1,x\n \t,y\n")).columns()[0].dtype,
            DType::float64);
  // Without a gap int64 holds it.
  const std::string whole = folder_.write("w.csv", "id\n9007199254740993\n5\n");
  EXPECT_EQ(infer_csv_schema(whole).columns()[0].dtype, DType::int64);
}

TEST_F(CsvReaderTest, AHeaderOfNumbersIsNoHeader) {
  const std::string iris = folder_.write("iris.csv",
                                         "5.1,3.5,1.4,0.2,Iris-setosa\n"
                                         "4.9,3.0,1.4,0.2,Iris-setosa\n");
  EXPECT_THAT(
      error_of([&] { infer_csv_schema(iris); }).message(),
      HasSubstr("the first row should name the columns, but has numbers like the rows below "
                "it (first '5.1'): {.has_header = false} makes it a row"));
  const CsvOptions options{.has_header = false};
  CsvReader reader({iris}, infer_csv_schema(iris, options), options);
  EXPECT_THAT(reader.read(10)->column("column1").values<double>(), ElementsAre(5.1, 4.9));
  const std::string years = folder_.write("y.csv", "country,1990,1991\nx,1,2\n");
  EXPECT_EQ(infer_csv_schema(years).columns()[1].name, "1990");
}

TEST_F(CsvReaderTest, TheLineOfSpreadsheetsIsNoRow) {
  const std::string file = folder_.write("t.csv", "\xef\xbb\xbfsep=;\r\nid;text\r\n1;a\r\nx;b\r\n");
  const CsvOptions semicolon{.delimiter = ';', .bad_rows = BadRows::leave_out};
  const auto schema = ColumnSchema().column("id", DType::int64).bytes("text");
  const auto batch = CsvReader({file}, schema, semicolon).read(10);
  EXPECT_THAT(batch->column("id").values<std::int64_t>(), ElementsAre(1));
  EXPECT_THAT(error_of([&] { CsvReader({file}, schema, {.delimiter = ';'}).read(10); }).message(),
              HasSubstr("line 4, column 'id'"));
  const Error error = error_of([&] { infer_csv_schema(file); });
  EXPECT_THAT(error.message(), HasSubstr("the first line says that the fields are delimited by "
                                         "';', but ',' is given: {.delimiter = ';'} reads"));
  EXPECT_THAT(error.file(), HasSubstr("t.csv"));
}

}  // namespace
}  // namespace infeed::test
