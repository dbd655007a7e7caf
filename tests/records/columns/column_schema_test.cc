#include "infeed/records/column_schema.h"

#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "infeed/records/example.h"
#include "seeded_random.h"
#include "thrown_error.h"

namespace infeed {
namespace {

TEST(ColumnSchema, built_in_code_and_read_from_json) {
  const auto schema = ColumnSchema()
                          .column("image", DType::uint8, {28, 28})
                          .column("label", DType::int64)
                          .if_missing(std::vector<std::int64_t>{-1})
                          .ragged("tokens", DType::int32)
                          .ragged("boxes", DType::float32, {4})
                          .add({.name = "words",
                                .dtype = DType::int32,
                                .kind = Column::Kind::ragged,
                                .ragged_levels = 2,
                                .partition = RowLengths{"word_lengths"}})
                          .padded("ids", DType::int32, 512, -1)
                          .bytes("text")
                          .ragged_bytes("tags")
                          .if_missing(std::vector<std::string>{})
                          .add({.name = "age", .dtype = DType::int64, .is_guess = true});
  EXPECT_EQ(schema.to_json(), R"({"columns": [
  {"name":"image","dtype":"uint8","shape":[28,28]},
  {"name":"label","dtype":"int64","default":-1},
  {"name":"tokens","kind":"ragged","dtype":"int32"},
  {"name":"boxes","kind":"ragged","dtype":"float32","shape":[4]},
  {"name":"words","kind":"ragged","dtype":"int32","ragged_levels":2,"row_lengths":"word_lengths"},
  {"name":"ids","kind":"padded","dtype":"int32","width":512,"padding":-1.0},
  {"name":"text","kind":"bytes"},
  {"name":"tags","kind":"ragged_bytes","default":[]},
  {"name":"age","dtype":"int64","guess":true}]}
)");
  const ColumnSchema read = ColumnSchema::from_json(schema.to_json());
  EXPECT_EQ(read, schema);
  EXPECT_EQ(ColumnSchema::from_json("{\"columns\": []}").size(), 0U);
}

TEST(ColumnSchema, numbers_that_json_can_not_write) {
  const double infinity = std::numeric_limits<double>::infinity();
  const auto schema =
      ColumnSchema()
          .padded("x", DType::float32, std::nullopt, -infinity)
          .if_missing(std::vector<double>{infinity, 0.5})
          .padded("y", DType::float16, 3, std::numeric_limits<double>::quiet_NaN())
          .column("z", DType::float64)
          .if_missing(std::vector<double>{std::numeric_limits<double>::quiet_NaN()});
  EXPECT_EQ(ColumnSchema::from_json(schema.to_json()), schema);
  const auto other = ColumnSchema::from_json(schema.to_json());
  EXPECT_FALSE(other == ColumnSchema());
}

/// A schema may be written on another machine than the one that has the memory for its rows.
TEST(ColumnSchema, defaults_of_rows_that_no_memory_holds) {
  const auto schema = ColumnSchema()
                          .column("x", DType::int8, {std::int64_t{1} << 50})
                          .if_missing(std::vector<std::int64_t>{1});
  EXPECT_EQ(ColumnSchema::from_json(schema.to_json()), schema);
}

std::string refused(const std::string& column) {
  return error_of([&] {
           ColumnSchema::from_json("{\"columns\": [{\"name\": \"a\", \"dtype\": \"int8\"}, " +
                                   column + "]}");
         })
      .message();
}

TEST(ColumnSchema, errors_of_json_name_the_place_and_what_is_allowed) {
  EXPECT_EQ(refused(R"({"name": "x", "dtype": "int31"})"),
            "columns[1].dtype is 'int31': there is no dtype 'int31'; the dtypes are bool, int8, "
            "int16, int32, int64, uint8, uint16, uint32, uint64, float16, bfloat16, float32, "
            "float64, bytes");
  EXPECT_EQ(refused(R"({"name": "x", "dtpye": "int32"})"),
            "columns[1] has the key 'dtpye', which no column has; did you mean 'dtype'?; the keys "
            "are name, kind, dtype, shape, ragged_levels, width, padding, default, row_lengths, "
            "row_splits, feature_list, guess");
  EXPECT_EQ(refused(R"({"name": "x", "kind": "sparse", "dtype": "int32"})"),
            "columns[1].kind is 'sparse'; the kinds are dense, ragged, padded, bytes, "
            "ragged_bytes");
  EXPECT_EQ(refused(R"({"name": "x", "dtype": "int32", "shape": 4})"),
            "columns[1].shape is 4; it must be a list of whole numbers, as [28, 28]");
  EXPECT_EQ(refused(R"({"name": "x", "dtype": "int32", "shape": [2, "3"]})"),
            "columns[1].shape[1] is \"3\"; it must be a whole number");
  EXPECT_EQ(refused(R"({"name": "x", "dtype": "int32", "shape": [-2]})"),
            "columns[1].shape is wrong: the shape [-2] has a negative extent");
  EXPECT_EQ(refused(R"({"dtype": "int32"})"), "columns[1] has no \"name\"");
  EXPECT_EQ(refused(R"({"name": "x"})"), "columns[1] has no \"dtype\"");
  EXPECT_EQ(refused(R"({"name": 1, "dtype": "int32"})"),
            "columns[1].name is 1; it must be a string");
  EXPECT_EQ(refused("7"),
            "columns[1] is 7; a column is an object as {\"name\": \"label\", \"dtype\": "
            "\"int64\"}");
  EXPECT_EQ(refused(R"({"name": "a", "dtype": "int32"})"),
            "columns[1]: column 'a' is given twice, as columns 0 and 1 (from 0 on); leave one out, "
            "or give it another name");
  EXPECT_EQ(refused(R"({"name": "x", "dtype": "int8", "default": 128})"),
            "columns[1]: column 'x' has the default 128, which is no int8 (-128 to 127)");
  EXPECT_EQ(refused(R"({"name": "x", "dtype": "int8", "default": "many"})"),
            "columns[1].default is \"many\"; it must be a number, \"nan\", \"inf\" or \"-inf\"");
  EXPECT_EQ(error_of([] { ColumnSchema::from_json("{\"columns\": [\n{]}"); }).message(),
            "the schema is no JSON: it goes wrong at byte 16 (line 2)");
  EXPECT_THAT(
      refused(R"({"name": "x", "dtype": "int8", "dtype": "int64"})"),
      HasSubstr("the schema gives \"dtype\" twice in one object (the second one in line 1)"));
  EXPECT_EQ(refused(R"({"name": "x", "dtype": "int8", "default": 1e999})"),
            "the schema has a number beyond the range of a double (1.8e308): write a smaller one, "
            "or \"inf\"");
  EXPECT_EQ(error_of([] { ColumnSchema::from_json(std::string(1'000'000, '[')); }).message(),
            "the schema is no list of columns: objects and arrays lie more than 100 deep in each "
            "other, or have "
            "millions of values");
  EXPECT_EQ(error_of([] { ColumnSchema::from_json("[]"); }).message(),
            "the schema is []; it must be an object with a list of columns, as {\"columns\": "
            "[{\"name\": \"label\", \"dtype\": \"int64\"}]}");
  EXPECT_EQ(error_of([] { ColumnSchema::from_json("{\"columns\": [], \"x\": 1}"); }).message(),
            "the schema has the key 'x'; there is only columns");
}

TEST(ColumnSchema, errors_of_values_show_them) {
  const std::string int32 = R"({"name": "x", "dtype": "int32", )";
  for (const auto& [member, problem] : std::vector<std::pair<std::string, std::string>>{
           {R"("shape": [9223372036854775808])",
            "shape[0] is 9223372036854775808; it must be a whole number of at most 2^63 - 1"},
           {R"("shape": [1, 1.0])", "shape[1] is 1.0; it must be a whole number"},
           {R"("ragged_levels": "2")", R"(ragged_levels is "2"; it must be a whole number)"},
           {R"("width": 1.5)", "width is 1.5; it must be a whole number"},
           {R"("padding": "1")", R"(padding is "1"; it must be a number, "nan", "inf" or "-inf")"},
           {R"("padding": 9007199254740993)",
            "padding is 9007199254740993; it must be a number that float64 holds, as all whole "
            "ones up "
            "to 2^53"},
           {R"("default": [1, null])",
            R"(default is null; it must be a number, "nan", "inf" or "-inf")"},
           {R"("default": 18446744073709551615)",
            "default is 18446744073709551615; it must be a whole number of at most 2^63 - 1"},
           {R"("feature_list": 1)", "feature_list is 1; it must be true or false"},
           {R"("guess": "yes")", R"(guess is "yes"; it must be true or false)"},
           {R"("kind": null)", "kind is null; it must be a string"},
           {R"("row_lengths": 5)", "row_lengths is 5; it must be a string"},
           {R"("row_splits": [])", "row_splits is []; it must be a string"}}) {
    EXPECT_EQ(refused(int32 + member + "}"), "columns[1]." + problem);
  }
  const auto name_of = [](const std::string& text) {
    return refused(R"({"dtype": "int8", "name": [")" + text + "\"]}");
  };
  const std::string x36(36, 'x');
  EXPECT_EQ(name_of(x36), "columns[1].name is [\"" + x36 + "\"]; it must be a string");
  EXPECT_EQ(name_of(x36 + "x"),
            "columns[1].name is [\"" + std::string(35, 'x') + "...; it must be a string");
  EXPECT_EQ(error_of([] { ColumnSchema::from_json(R"({"columns": 5})"); }).message(),
            "the schema is {\"columns\":5}; it must be an object with a list of columns, as "
            "{\"columns\": [{\"name\": \"label\", \"dtype\": \"int64\"}]}");
}

TEST(ColumnSchema, each_part_goes_through_json) {
  ColumnSchema schema = ColumnSchema()
                            .add({.name = "w",
                                  .dtype = DType::int32,
                                  .kind = Column::Kind::ragged,
                                  .ragged_levels = 2,
                                  .partition = RowSplits{"s"}})
                            .column("d", DType::int8, {2})
                            .if_missing(std::vector<std::int64_t>{1, 2})
                            .ragged("r", DType::float32)
                            .if_missing(std::vector<double>{0.5})
                            .bytes("b")
                            .if_missing(std::vector<std::string>{"x"})
                            .ragged_bytes("t")
                            .if_missing(std::vector<std::string>{"x"})
                            .ragged("l", DType::int64)
                            .from_feature_list()
                            .padded("p", DType::float64, 0, std::numeric_limits<double>::infinity())
                            .column("g", DType::float32);
  schema.guessed();
  EXPECT_EQ(schema.to_json(), R"({"columns": [
  {"name":"w","kind":"ragged","dtype":"int32","ragged_levels":2,"row_splits":"s"},
  {"name":"d","dtype":"int8","shape":[2],"default":[1,2]},
  {"name":"r","kind":"ragged","dtype":"float32","default":[0.5]},
  {"name":"b","kind":"bytes","default":"x"},
  {"name":"t","kind":"ragged_bytes","default":["x"]},
  {"name":"l","kind":"ragged","dtype":"int64","feature_list":true},
  {"name":"p","kind":"padded","dtype":"float64","width":0,"padding":"inf"},
  {"name":"g","dtype":"float32","guess":true}]}
)");
  EXPECT_EQ(ColumnSchema::from_json(schema.to_json()), schema);
  const auto column = [](const std::string& parts) {
    return ColumnSchema::from_json(R"({"columns": [{"name": "x", )" + parts + "}]}").columns()[0];
  };
  EXPECT_EQ(column(R"("kind": "padded", "dtype": "int8", "width": null)").width, std::nullopt);
  EXPECT_EQ(column(R"("kind": "dense", "dtype": "int8")").kind, Column::Kind::dense);
  EXPECT_EQ(column(R"("dtype": "int8", "feature_list": false, "guess": false)"),
            (ColumnType{.name = "x", .dtype = DType::int8}));
  EXPECT_EQ(column(R"("dtype": "int8", "shape": [9223372036854775807])").shape[0],
            std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(column(R"("dtype": "float32", "default": "-inf")").missing,
            ColumnDefault(std::vector<double>{-std::numeric_limits<double>::infinity()}));
  EXPECT_EQ(column(R"("kind": "padded", "dtype": "float32", "default": [1, 0.5])").missing,
            ColumnDefault(std::vector<double>{1, 0.5}));
}

std::string refused(ColumnType type) {
  return error_of([&] { ColumnSchema().add(std::move(type)); }).message();
}

TEST(ColumnSchema, refuses_what_does_not_fit_together) {
  using enum DType;
  const auto ragged = Column::Kind::ragged;
  EXPECT_EQ(refused({.name = "x", .dtype = DType::bytes}),
            "column 'x' is dense, but its dtype is bytes");
  EXPECT_EQ(refused({.name = "x", .dtype = int8, .kind = Column::Kind::bytes}),
            "column 'x' is bytes, but its dtype is int8");
  EXPECT_EQ(
      refused({.name = "x", .dtype = DType::bytes, .shape = {2}, .kind = Column::Kind::bytes}),
      "column 'x' is bytes, which has no shape, but [2] is given");
  EXPECT_EQ(refused({.name = "x", .dtype = int8, .shape = {0}, .kind = ragged}),
            "column 'x' has items of shape [0], which hold nothing");
  EXPECT_EQ(refused({.name = "x", .dtype = int8, .ragged_levels = 2}),
            "column 'x' is dense and can't have 2 ragged levels");
  EXPECT_EQ(refused({.name = "x", .dtype = int8, .kind = ragged, .partition = RowSplits{"y"}}),
            "column 'x' has a feature that cuts its values, which makes two ragged levels, but it "
            "has 1");
  EXPECT_EQ(refused({.name = "x", .dtype = int8, .width = 3}),
            "column 'x' is dense; only one that is padded has a width and a padding");
  EXPECT_EQ(refused({.name = "x", .dtype = int8, .kind = Column::Kind::padded, .width = -1}),
            "column 'x' has the width -1");
  EXPECT_EQ(refused({.name = "x", .dtype = int8, .kind = Column::Kind::padded, .padding = 0.5}),
            "column 'x' has the padding 0.5, which is no int8 (-128 to 127)");
  const auto three = std::vector<std::int64_t>{1, 2, 3};
  EXPECT_EQ(refused({.name = "x", .dtype = int8, .shape = {2}, .missing = three}),
            "column 'x' has rows of shape [2], but its default has 3 values");
  EXPECT_EQ(refused({.name = "x", .dtype = int8, .shape = {2}, .kind = ragged, .missing = three}),
            "column 'x' has items of shape [2], but its default has 3 values");
  EXPECT_EQ(
      refused(
          {.name = "x", .dtype = int8, .kind = Column::Kind::padded, .width = 2, .missing = three}),
      "column 'x' is padded to 2, but its default has 3 values");
  const auto padded_pairs = [](std::size_t count) {
    return ColumnType{.name = "x",
                      .dtype = int8,
                      .shape = {2},
                      .kind = Column::Kind::padded,
                      .width = 2,
                      .missing = std::vector<std::int64_t>(count, 1)};
  };
  EXPECT_EQ(ColumnSchema().add(padded_pairs(4)).size(), 1U);
  EXPECT_EQ(refused(padded_pairs(6)), "column 'x' is padded to 2, but its default has 6 values");
  EXPECT_EQ(refused({.name = "x", .dtype = boolean, .missing = std::vector<double>{0.5}}),
            "column 'x' has the default 0.5, which is no bool");
  EXPECT_EQ(refused({.name = "x", .dtype = int64, .missing = std::vector<double>{1e19}}),
            "column 'x' has the default 1e+19, which is no int64 (-9223372036854775808 to "
            "9223372036854775807)");
  EXPECT_EQ(refused({.name = "x", .dtype = DType::float16, .missing = std::vector<double>{7e4}}),
            "column 'x' has the default 70000, which is no float16");
  EXPECT_EQ(
      refused({.name = "x", .dtype = float32, .kind = Column::Kind::padded, .padding = -1e39}),
      "column 'x' has the padding -1e+39, which is no float32");
  EXPECT_EQ(refused({.name = "x", .dtype = int8, .missing = std::vector<std::string>{"1"}}),
            "column 'x' is of int8, but its default is text");
  EXPECT_EQ(
      refused({.name = "x", .dtype = DType::bytes, .kind = Column::Kind::bytes, .missing = three}),
      "column 'x' is of bytes, but its default is a number");
  EXPECT_EQ(refused({.name = "x",
                     .dtype = DType::bytes,
                     .kind = Column::Kind::bytes,
                     .missing = std::vector<std::string>{}}),
            "column 'x' has one value a row, but its default has 0");
  EXPECT_EQ(refused({.name = "x", .dtype = int8, .kind = ragged, .ragged_levels = 0}),
            "column 'x' is ragged and can't have 0 ragged levels");
  EXPECT_EQ(refused({.name = "x", .dtype = int8, .kind = ragged, .width = 3}),
            "column 'x' is ragged; only one that is padded has a width and a padding");
  EXPECT_EQ(refused({.name = "x", .dtype = int8, .padding = 1}),
            "column 'x' is dense; only one that is padded has a width and a padding");
  EXPECT_EQ(refused({.name = "x",
                     .dtype = DType::bytes,
                     .kind = Column::Kind::bytes,
                     .missing = std::vector<std::string>{"a", "b"}}),
            "column 'x' has one value a row, but its default has 2");
  EXPECT_EQ(error_of([] { ColumnSchema().from_feature_list(); }).message(),
            "from_feature_list() belongs to the column before it, but there is none");
  EXPECT_EQ(error_of([] {
              ColumnSchema schema;
              schema.guessed();
            }).message(),
            "guessed() belongs to the column before it, but there is none");
  EXPECT_EQ(error_of([] { ColumnSchema().if_missing(std::vector<double>{1}); }).message(),
            "if_missing() belongs to the column before it, but there is none");
  EXPECT_EQ(error_of([] { ColumnSchema().bytes("\xff").to_json(); }).message(),
            "column '\xff' has a name or a default that is no UTF-8, which JSON can't hold");
}

TEST(ColumnSchema, from_what_records_hold) {
  SchemaInference inference;
  for (int i = 0; i < 5; ++i) {
    ExampleBuilder builder;
    const std::vector<float> floats(3);
    const std::vector<std::int64_t> tokens(static_cast<std::size_t>(i), 7);
    const std::vector<std::string> words(static_cast<std::size_t>(i), "word");
    builder.bytes("image", "1234").integers("label", i);
    builder.floats("embedding", std::span<const float>(floats));
    builder.integers("tokens", std::span<const std::int64_t>(tokens));
    builder.bytes("words", std::span<const std::string>(words));
    if (i > 2) builder.floats("score", 1).bytes("note", "x");
    inference.add(builder.encode());
  }
  inference.add("no Example");
  const ColumnSchema schema = ColumnSchema::from(inference.schema());
  EXPECT_EQ(schema, ColumnSchema()
                        .column("embedding", DType::float32, {3})
                        .bytes("image")
                        .column("label", DType::int64)
                        .ragged_bytes("note")
                        .if_missing(std::vector<std::int64_t>{})
                        .ragged("score", DType::float32)
                        .if_missing(std::vector<std::int64_t>{})
                        .ragged("tokens", DType::int64)
                        .ragged_bytes("words"));
  EXPECT_EQ(ColumnSchema::from_json(schema.to_json()), schema);
}

/// Any bytes become a schema or an Error.
TEST(ColumnSchema, damaged_json) {
  test::SeededRandom random;
  const std::string whole = ColumnSchema()
                                .column("image", DType::uint8, {28, 28})
                                .padded("ids", DType::int32, 512, -1)
                                .bytes("text")
                                .if_missing(std::vector<std::string>{"x"})
                                .to_json();
  for (int round = 0; round < 20'000; ++round) {
    std::string text = whole;
    for (std::uint64_t i = 1 + random() % 3; i > 0; --i) {
      const std::size_t at = random() % text.size();
      if (random() % 2 == 0) {
        text[at] = static_cast<char>(random());
      } else {
        text.erase(at, 1 + random() % 4);
      }
    }
    try {
      const ColumnSchema schema = ColumnSchema::from_json(text);
      ASSERT_EQ(ColumnSchema::from_json(schema.to_json()), schema);
    } catch (const Error& error) {
      ASSERT_EQ(error.code(), ErrorCode::invalid_argument) << text;
    }
  }
}

}  // namespace
}  // namespace infeed
