#include <cmath>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <infeed/records/detail/json_depth.h>
#include <infeed/records/json_lines.h>
#include <infeed/records/limits.h>

#include "records/columns/column_texts.h"
#include "records/temporary_files.h"
#include "seeded_random.h"
#include "text/json_text.h"
#include "thrown_error.h"

namespace infeed::test {
namespace {

class JsonLinesTest : public ::testing::Test {
 protected:
  ColumnBatch read(std::string_view text, const ColumnSchema& schema,
                   JsonLinesOptions options = {}) {
    JsonLinesReader reader({folder_.write("t.jsonl", text)}, schema, std::move(options));
    auto batch = reader.read(1'000'000);
    return batch == nullptr ? ColumnBatch() : *batch;
  }
  std::string refused(std::string_view text, const ColumnSchema& schema) {
    return error_of([&] { read(text, schema); }).message();
  }

  const TemporaryFolder folder_;
};

TEST_F(JsonLinesTest, ReadsColumnsOfEveryKind) {
  const auto schema = ColumnSchema()
                          .column("n", DType::int16)
                          .column("x", DType::float32)
                          .column("meta.ok", DType::boolean)
                          .bytes("text")
                          .column("point", DType::float64, {2})
                          .ragged("tokens", DType::int32)
                          .ragged("boxes", DType::uint8, {2})
                          .padded("ids", DType::int64, 3, -1)
                          .padded("more", DType::float32)
                          .ragged_bytes("meta.deep.tags");
  const ColumnBatch batch = read(
      R"({"n": -5, "x": 1e-3, "meta": {"ok": true, "deep": {"tags": ["a", "b\n"]}}, "text": "\u00e9\ud83d\ude00\"\\\/", "point": [1, 2.5], "tokens": [1, 2, 3], "boxes": [1, 2, 3, 4], "ids": [7], "more": [1]}
 { "text":"plain", "extra": [{"a": [null, {}]}, "]"], "point" :[ 0 , -0 ],"x":2,"n":7,"meta":{"other":1,"ok":false},"tokens":null,"more":[2,3]}  
)",
      schema);
  EXPECT_THAT(batch.column("n").values<std::int16_t>(), ElementsAre(-5, 7));
  EXPECT_THAT(batch.column("x").values<float>(), ElementsAre(1e-3F, 2.0F));
  EXPECT_THAT(batch.column("meta.ok").values<bool>(), ElementsAre(true, false));
  EXPECT_THAT(column_texts(batch.column("text")),
              ElementsAre("\xc3\xa9\xf0\x9f\x98\x80\"\\/", "plain"));
  EXPECT_THAT(batch.column("point").values<double>(), ElementsAre(1, 2.5, 0, -0.0));
  EXPECT_THAT(batch.column("tokens").values<std::int32_t>(), ElementsAre(1, 2, 3));
  EXPECT_THAT(batch.column("tokens").row_splits(), ElementsAre(0, 3, 3));
  EXPECT_THAT(batch.column("boxes").row_splits(), ElementsAre(0, 2, 2));
  EXPECT_THAT(batch.column("ids").values<std::int64_t>(), ElementsAre(7, -1, -1, -1, -1, -1));
  EXPECT_THAT(batch.column("ids").lengths(), ElementsAre(1, 0));
  EXPECT_THAT(batch.column("more").values<float>(), ElementsAre(1, 0, 2, 3));
  EXPECT_THAT(column_texts(batch.column("meta.deep.tags")), ElementsAre("a", "b\n"));
  EXPECT_THAT(batch.column("meta.deep.tags").row_splits(), ElementsAre(0, 2, 2));
}

TEST_F(JsonLinesTest, DefaultsStandInForNullsAndGaps) {
  const auto schema = ColumnSchema()
                          .column("a", DType::int64)
                          .if_missing(std::vector<std::int64_t>{-1})
                          .bytes("b.c")
                          .if_missing(std::vector<std::string>{"none"});
  const ColumnBatch batch =
      read("{\"a\":null}\n{}\r\n\r\n{\"b\":5}\n{\"b\":{\"c\":\"x\"},\"a\":3}", schema);
  EXPECT_THAT(batch.column("a").values<std::int64_t>(), ElementsAre(-1, -1, -1, 3));
  EXPECT_THAT(column_texts(batch.column("b.c")), ElementsAre("none", "none", "none", "x"));
}

/// A member is recognised by its text in the line before; the beginning of its value may differ.
TEST_F(JsonLinesTest, ALineMayBeSpacedUnlikeTheOneBefore) {
  const ColumnBatch batch = read(R"({"o":{"n":1}}
{"o": {"n": 2}}
{"o":	{ "n":3 } }
)",
                                 ColumnSchema().column("o.n", DType::int32));
  EXPECT_THAT(batch.column("o.n").values<std::int32_t>(), ElementsAre(1, 2, 3));
}

TEST_F(JsonLinesTest, ErrorsSayWhatIsWrongWhere) {
  const auto schema = ColumnSchema().column("a", DType::int8).ragged("r", DType::float32);
  const auto expect = [&](std::string_view line, std::string_view what) {
    const std::string message = refused("{\"a\": 1}\n" + std::string(line) + "\n", schema);
    EXPECT_THAT(message, HasSubstr("line 2")) << line;
    EXPECT_THAT(message, HasSubstr(std::string(what))) << line;
  };
  expect(R"({"a": 300})",
         "column 'a': '300' is beyond the column's type; expected is a whole number "
         "from -128 to 127 (int8) (byte 7 of the line)");
  expect(R"({"a": 1.0})", "'1.0' is no whole number");
  expect(R"({"a": "1"})", "'\"1\"' stands where a whole number");
  expect(R"({"a": true})", "'true' stands where");
  expect(R"({"a": null})", "null is no value");
  expect(R"({"r": []})", "column 'a': the line has no such member");
  expect(R"({"a": 1, "a": 1})", "the member comes twice in the line");
  expect(R"({"a": 1, "r": 5})", "'5' stands where an array is expected");
  expect(R"({"a": 1, "r": [1, [2]]})", "'[2' stands where a number");
  expect(R"({"a": 1, "r": [1 2]})", "'2' stands where ',' or ']' is expected");
  expect(R"([1])", "'[' stands where an object is expected");
  expect(R"({"a": 1} x)", "'x' stands where the line's end is expected");
  expect(R"({"a": 1,})", "'}' stands where a member's name is expected");
  expect(R"({"a": 1)", "the line ends where ',' or '}' is expected");
  expect(R"({"a": })", "'}' stands where a whole number");
  expect(R"({, "a": 1})", "',' stands where a member's name is expected");
  expect(R"({"a": 1 "r": []})", "'\"' stands where ',' or '}' is expected");
  expect(R"({"a" 1})", "'1' stands where ':' is expected");
  expect(R"({"a": 01})", "begins with a zero");
  expect(R"({"a": 1, "x": 1.})", "no digit behind its point");
  expect(R"({"a": 1, "x": 1e})", "no digit in its exponent");
  expect(R"({"a": 1, "x": +1})", "'+' stands where a value is expected");
  expect(R"({"a": 1, "x": NaN})", "'N' stands where a value is expected");
  expect(R"({"a": 1, "x": nul})", "'n' stands where a value is expected");
  expect(R"({"a": 1, "x": "open})", "a string is not closed before the line ends");
  expect(R"({"a": 1, "x": "\q"})", "'\\q' is no escape");
  expect(R"({"a": 1, "x": "\u12g4"})", "is no escape");
  expect(R"({"a": 1, "x": "\ud800"})", "is half of a surrogate pair");
  expect(R"({"a": 1, "x": "\udc00"})", "is half of a surrogate pair");
  expect("{\"a\": 1, \"x\": \"\t\"}", "a control character stands in a string");
  expect("{\"a\": 1, \"x\": \"\xc0\x80\"}", "not valid UTF-8");
  expect("{\"a\": 1, \"x\": \"\xed\xa0\x80\"}", "not valid UTF-8");
  expect("{\"a\": 1, \"x\": " + std::string(100, '[') + std::string(100, ']') + "}",
         "more than 100 deep");
  EXPECT_EQ(
      read("{\"a\": 1, \"x\": " + std::string(99, '[') + std::string(99, ']') + "}", schema).rows(),
      1);
  EXPECT_THAT(refused("{\"a\": 70000}", ColumnSchema().column("a", DType::float16)),
              HasSubstr("'70000' is beyond the column's type"));
  EXPECT_THAT(refused("{\"a\": [1, -3.4e38]}", ColumnSchema().ragged("a", DType::bfloat16)),
              HasSubstr("'-3.4e38' is beyond the column's type"));
  EXPECT_THAT(refused("{\"p\": [1, 2]}", ColumnSchema().column("p", DType::int8, {3})),
              HasSubstr("the array has 2 values, but a row of shape [3] has 3"));
  EXPECT_THAT(refused("{\"p\": [1, 2]}", ColumnSchema().padded("p", DType::int8, 1)),
              HasSubstr("the array has 2 values, but a row has up to 1 items of 1"));
  EXPECT_THAT(refused("{\"p\": [1, 2, 3]}", ColumnSchema().ragged("p", DType::int8, {2})),
              HasSubstr("no multiple of the 2 of an item"));
}

TEST_F(JsonLinesTest, BadRowsCanBeLeftOut) {
  const auto schema = ColumnSchema().bytes("t").ragged("r", DType::int8).ragged_bytes("s");
  const ColumnBatch batch = read(
      "{\"t\":\"a\",\"r\":[1],\"s\":[\"x\"]}\n{\"t\":\"b\",\"r\":[1,2],\"s\":[\"y\",1]}\n"
      "{\"r\":[3]}\n{\"t\":\"c\",\"r\":[4,5]}\n",
      schema, {.bad_rows = BadRows::leave_out});
  EXPECT_THAT(column_texts(batch.column("t")), ElementsAre("a", "c"));
  EXPECT_THAT(batch.column("r").values<std::int8_t>(), ElementsAre(1, 4, 5));
  EXPECT_THAT(column_texts(batch.column("s")), ElementsAre("x"));
}

TEST_F(JsonLinesTest, InfersASchema) {
  const std::string file = folder_.write(
      "t.jsonl",
      R"({"i": 1, "f": 1, "gap": 1, "s": "x", "b": true, "l": [1, 2], "o": {"p": 1, "q": ["a"]}, "n": null}
{"i": 2, "f": 0.5, "s": "y", "b": false, "l": [], "o": {"p": 2, "q": []}}
)");
  const ColumnSchema schema = infer_json_lines_schema(file);
  std::string found;
  for (const ColumnType& type : schema.columns()) {
    found += fmt::format("{}:{}:{} ", type.name, to_string(type.kind), to_string(type.dtype));
  }
  EXPECT_EQ(found,
            "i:dense:int64 f:dense:float64 gap:dense:float64 s:bytes:bytes b:dense:bool "
            "l:ragged:int64 o.p:dense:int64 o.q:ragged_bytes:bytes ");
  JsonLinesReader reader({file}, schema);
  EXPECT_TRUE(std::isnan(reader.read(10)->column("gap").values<double>()[1]));
  EXPECT_THAT(error_of([&] {
                infer_json_lines_schema(folder_.write("m.jsonl", "{\"a\":1}\n{\"a\":\"x\"}\n"));
              }).message(),
              HasSubstr("the values of 'a' are of several kinds"));
}

TEST_F(JsonLinesTest, InferredNumbersAreTheWrittenOnes) {
  const std::string file = folder_.write("t.jsonl",
                                         "{\"id\": 9007199254740993, \"u\": 18446744073709551615}\n"
                                         "{\"id\": 1, \"u\": 0, \"few\": 7}\n");
  const ColumnSchema schema = infer_json_lines_schema(file);
  const auto batch = JsonLinesReader({file}, schema).read(10);
  EXPECT_THAT(batch->column("id").values<std::int64_t>(), ElementsAre(9007199254740993, 1));
  EXPECT_THAT(batch->column("u").values<std::uint64_t>(), ElementsAre(18446744073709551615U, 0U));
  EXPECT_EQ(batch->column("few").values<double>()[1], 7);
  const auto refused = [&](const std::string& lines) {
    return error_of([&] { infer_json_lines_schema(folder_.write("r.jsonl", lines)); }).message();
  };
  EXPECT_THAT(refused("{\"id\": 9007199254740993}\n{}\n"),
              HasSubstr("column 'id' has '9007199254740993', which float64 would change, and no "
                        "value in some lines; give a schema with int64"));
  EXPECT_THAT(refused("{\"n\": [18446744073709551616]}\n"),
              HasSubstr("column 'n' has '18446744073709551616', which float64 would change; write "
                        "the column's values as texts, in quotes"));
  EXPECT_THAT(refused("{\"n\": -1}\n{\"n\": 18446744073709551615}\n"),
              HasSubstr("column 'n' has '18446744073709551615', which float64 would change"));
}

TEST_F(JsonLinesTest, InferringPassesOverLinesThatAreTooDeep) {
  const std::string deep =
      R"({"a": )" + std::string(400'000, '[') + std::string(400'000, ']') + "}\n";
  const ColumnSchema schema =
      infer_json_lines_schema(folder_.write("t.jsonl", deep + "{\"b\": 1}\n"));
  ASSERT_EQ(schema.columns().size(), 1U);
  EXPECT_EQ(schema.columns()[0].name, "b");
}

TEST_F(JsonLinesTest, InferringKeepsToTheValuesOfWholeObjects) {
  // Nothing of the second line counts, since it is incomplete; a key that comes twice is one value.
  const ColumnSchema schema = infer_json_lines_schema(
      folder_.write("t.jsonl", "{\"z\":1,\"a\":2,\"z\":3}\n{\"z\":\"x\",\"b\":\n[4]\n"));
  ASSERT_EQ(schema.columns().size(), 2U);
  EXPECT_EQ(schema.columns()[0].name, "z");
  EXPECT_EQ(schema.columns()[0].dtype, DType::int64);
  EXPECT_EQ(schema.columns()[1].name, "a");
  for (const char* line : {"{\"a\":[[1]]}", "{\"a\":[{\"b\":1}]}", "{\"a\":[null]}"}) {
    EXPECT_THAT(
        error_of([&] { infer_json_lines_schema(folder_.write("l.jsonl", line)); }).message(),
        HasSubstr("the values of 'a' are of several kinds"))
        << line;
  }
}

/// Tests the allowed number, in a time that doesn't grow with its square; one more is an error.
TEST_F(JsonLinesTest, InferringHasALimitOfColumnsAndOfTheirNames) {
  const auto line_of = [](std::size_t columns) {
    std::string line = "{\"0\":0";
    for (std::size_t i = 1; i < columns; ++i) line += fmt::format(",\"{}\":0", i);
    return line + "}\n";
  };
  const std::string most = folder_.write("most.jsonl", line_of(limits::json_columns));
  EXPECT_EQ(infer_json_lines_schema(most).columns().size(), limits::json_columns);
  const std::string more = folder_.write("more.jsonl", line_of(limits::json_columns + 1));
  const Error error = error_of([&] { infer_json_lines_schema(more); });
  EXPECT_EQ(error.code(), ErrorCode::resource_exhausted);
  EXPECT_THAT(error.message(), HasSubstr("there are 65537 columns with "));
  std::string nested = "{\"" + std::string(1 << 20, 'x') + "\":" + line_of(3000);
  nested.back() = '}';
  EXPECT_THAT(
      error_of([&] { infer_json_lines_schema(folder_.write("nested.jsonl", nested)); }).message(),
      HasSubstr("there are 16 columns with 16777254 bytes of names, where 65536 and 16777216 are "
                "the limits"));
}

/// Brackets in strings are text.
TEST(JsonDepth, CountsWhatIsOpen) {
  const auto nested = [](std::size_t depth) {
    return std::string(depth, '[') + R"("[[\"[[", {}, [])" + std::string(depth, ']');
  };
  EXPECT_FALSE(detail::exceeds_json_limits(nested(99)));
  EXPECT_TRUE(detail::exceeds_json_limits(nested(100)));
  EXPECT_FALSE(detail::exceeds_json_limits(""));
  EXPECT_FALSE(detail::exceeds_json_limits("\"" + std::string(1000, '[') + "\\"));
  EXPECT_FALSE(detail::exceeds_json_limits(R"({"a": [1, 2], "b,[:": 3})", 6));
  EXPECT_TRUE(detail::exceeds_json_limits(R"({"a": [1, 2], "b,[:": 3})", 5));
}

/// Takes the same random and nearly right texts as another parser, and no others.
TEST_F(JsonLinesTest, AgreesWithAnotherParser) {
  SeededRandom random;
  const std::vector<std::string> parts = {"{",
                                          "}",
                                          "[",
                                          "]",
                                          ",",
                                          ":",
                                          "\"a\"",
                                          "\"b\\n\"",
                                          "\"\\u0041\"",
                                          "\"\\ud83d\\ude00\"",
                                          "\"\xc3\xa9\"",
                                          "\"\xff\"",
                                          "1",
                                          "-0",
                                          "01",
                                          "1.5",
                                          "1e-5",
                                          "1.",
                                          "true",
                                          "false",
                                          "null",
                                          "nul",
                                          " ",
                                          "\t",
                                          "\"",
                                          "\\"};
  const auto drawn = [&](auto&& self, int depth) -> std::string {
    const auto kind = random() % (depth > 3 ? 7 : 10);
    if (kind < 7) return parts[6 + random() % 15];
    std::string text = kind < 8 ? "{" : "[";
    const auto count = random() % 4;
    for (std::size_t i = 0; i < count; ++i) {
      if (i != 0) text += random() % 2 == 0 ? "," : " , ";
      if (kind < 8) text += parts[6 + random() % 5] + ":";
      text += self(self, depth + 1);
    }
    return text + (kind < 8 ? "}" : "]");
  };
  int good = 0;
  for (int i = 0; i < 50'000; ++i) {
    std::string text = drawn(drawn, 0);
    if (random() % 3 == 0 && !text.empty()) text[random() % text.size()] = parts[random() % 6][0];
    if (random() % 5 == 0)
      text.insert(random() % (text.size() + 1), parts[random() % parts.size()]);
    if (text.find('\n') != text.npos) continue;
    const std::string padded = text + "\n" + std::string(64, '"');
    detail::JsonCursor cursor(padded.data());
    const bool found = cursor.skip_value(0) && cursor.peek() == '\n';
    ASSERT_EQ(found, nlohmann::json::accept(text)) << text;
    good += found ? 1 : 0;
  }
  EXPECT_GT(good, 5'000);
}

}  // namespace
}  // namespace infeed::test
