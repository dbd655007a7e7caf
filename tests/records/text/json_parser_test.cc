#include <random>
#include <thread>

#include <infeed/records/json_lines.h>
#include <infeed/records/json_parser.h>

#include "records/temporary_files.h"
#include "seeded_random.h"
#include "thrown_error.h"

namespace infeed::test {
namespace {

ColumnSchema mixed_schema() {
  return ColumnSchema()
      .column("id", DType::int64)
      .column("meta.score", DType::float32)
      .if_missing(std::vector<double>{-1})
      .bytes("text")
      .ragged("tokens", DType::int32)
      .column("box", DType::float32, {2});
}

ColumnBatch parsed(const JsonParser& parser, const std::vector<std::string>& texts) {
  ColumnRows rows = parser.begin(texts.size());
  for (std::size_t i = 0; i < texts.size(); ++i) parser.parse_row(texts[i], nullptr, i, rows);
  return parser.finish(std::move(rows), texts.size());
}

std::string drawn_object(std::mt19937_64& random) {
  std::vector<std::string> members = {
      "\"id\": " + std::to_string(static_cast<std::int64_t>(random())),
      "\"text\":\"caf\\u00e9 \\\"" + std::string(random() % 90, 'x') + "\"",
      "\"box\" : [" + std::to_string(random() % 100) + ".25, -1e3]",
      "\"other\": {\"a\": [1, {}], \"b\": null}"};
  if (random() % 2 == 0) members.push_back("\"meta\": {\"score\": 0.5, \"x\": []}");
  if (random() % 2 == 0)
    members.push_back("\"tokens\": [1,2, " + std::to_string(random() % 9) + "]");
  if (random() % 4 == 0) std::shuffle(members.begin(), members.end(), random);
  std::string text = "{";
  for (const std::string& member : members) text += (text.size() == 1 ? "" : ", ") + member;
  return text + "}";
}

/// Both take the same way, so each row must be the same in both.
TEST(JsonParser, GivesWhatJsonLinesGives) {
  SeededRandom random;
  const TemporaryFolder folder;
  std::vector<std::string> texts;
  std::string lines;
  for (int i = 0; i < 500; ++i) {
    texts.push_back(drawn_object(random));
    lines += texts.back() + "\n";
  }
  folder.write("a.jsonl", lines);
  JsonLinesReader reader({folder.file("a.jsonl")}, mixed_schema());
  EXPECT_EQ(parsed(JsonParser(mixed_schema()), texts), *reader.read(1000));
}

TEST(JsonParser, TakesLineBreaksBetweenValuesOnly) {
  const JsonParser parser(ColumnSchema().column("a", DType::int32).bytes("b"));
  const ColumnBatch batch = parsed(parser, {"{\n  \"a\": 1,\r\n  \"b\": \"x\"\n}\n"});
  EXPECT_EQ(batch.column("b").bytes(0), "x");
  EXPECT_THAT(error_of([&] { parsed(parser, {"{\"a\": 1, \"b\": \"x\ny\"}"}); }).message(),
              HasSubstr("column 'b'"));
}

TEST(JsonParser, ErrorsSayWhere) {
  const JsonParser parser(ColumnSchema().column("a", DType::int8).bytes("b"));
  ColumnRows rows = parser.begin(2);
  parser.parse_row(R"({"a": 1, "b": "x"})", nullptr, 0, rows);
  const auto refused = [&](std::string_view text) {
    const Record record(text);
    const Error error = error_of([&] { parser.parse_row(text, &record, 1, rows); });
    EXPECT_EQ(error.code(), ErrorCode::data_loss);
    return error.message();
  };
  EXPECT_EQ(
      refused(R"({"a": 300, "b": "x"})"),
      "column 'a': '300' is beyond the column's type; expected is a whole number from -128 to "
      "127 (int8) (byte 7 of the text)");
  EXPECT_THAT(refused(R"({"a": 1})"), HasSubstr("column 'b': the line has no such member"));
  EXPECT_THAT(refused(""), HasSubstr("an object"));
  EXPECT_THAT(refused("[]"), HasSubstr("an object"));
  EXPECT_THAT(refused(R"({"a": 1, "b": "x"} 7)"), HasSubstr("the line's end"));
  EXPECT_THAT(refused(R"({"a": 1, "a": 2, "b": "x"})"), HasSubstr("comes twice"));
  parser.parse_row(R"({"a": 2, "b": "y"})", nullptr, 1, rows);
  const ColumnBatch batch = parser.finish(std::move(rows), 2);
  EXPECT_EQ(batch.column("b").bytes(1), "y") << "failed rows leave nothing behind";
  EXPECT_EQ(error_of([] {
              JsonParser(ColumnSchema().add({.name = "x",
                                             .dtype = DType::int32,
                                             .kind = Column::Kind::ragged,
                                             .ragged_levels = 2}));
            }).code(),
            ErrorCode::invalid_argument);
}

/// Returns the error of the member "v", whose value begins at byte 6.
std::string why_not(const ColumnSchema& schema, const std::string& value) {
  return error_of([&] { parsed(JsonParser(schema), {"{\"v\":" + value + "}"}); }).message();
}

TEST(JsonParser, ErrorsOfNumbersSayWhatStandsWhere) {
  const auto number = ColumnSchema().column("v", DType::float32);
  const std::string expected = " stands where a number (float32) is expected (byte 6 of the text)";
  for (const auto& [value, found] :
       std::vector<std::pair<std::string, std::string>>{{R"("x")", R"('"x"')"},
                                                        {"", "'}'"},
                                                        {"true", "'true'"},
                                                        {"[1]", "'[1'"},
                                                        {"+1", "'+1'"},
                                                        {"x \r", "'x'"},
                                                        {"/", "'/'"},
                                                        {":", "':'"}}) {
    EXPECT_EQ(why_not(number, value), "column 'v': " + found + expected);
  }
  EXPECT_EQ(
      why_not(number, "1e39"),
      "column 'v': '1e39' is beyond the column's type; expected is a number (float32) (byte 6 of "
      "the text)");
  EXPECT_EQ(why_not(number, "01"),
            "column 'v': a number begins with a zero that means nothing (byte 6 of the text)");
  EXPECT_EQ(why_not(number, "-"),
            "column 'v': '-' stands where a value is expected (byte 6 of the text)");
  EXPECT_EQ(
      why_not(number, "null"),
      "column 'v': null is no value, but a number (float32) is expected; a default (if_missing) "
      "would stand in for it (byte 10 of the text)");
  const auto whole = ColumnSchema().column("v", DType::uint8);
  for (const auto& [value, problem] :
       std::vector<std::pair<std::string, std::string>>{{"256", "beyond the column's type"},
                                                        {"-1", "beyond the column's type"},
                                                        {"1.0", "no whole number"},
                                                        {"1e2", "no whole number"}}) {
    EXPECT_EQ(why_not(whole, value),
              "column 'v': '" + value + "' is " + problem +
                  "; expected is a whole number from 0 to 255 (uint8) (byte 6 of the text)");
  }
  const auto flag = ColumnSchema().column("v", DType::boolean);
  EXPECT_EQ(why_not(flag, "1"),
            "column 'v': '1' stands where true or false (bool) is expected (byte 6 of the text)");
  EXPECT_EQ(why_not(flag, "tru"),
            "column 'v': 't' stands where a value is expected (byte 6 of the text)");
}

TEST(JsonParser, ErrorsOfTextsAndArraysSayWhatStandsWhere) {
  const auto text = ColumnSchema().bytes("v");
  EXPECT_EQ(why_not(text, "5"),
            "column 'v': '5' stands where text is expected (byte 6 of the text)");
  EXPECT_EQ(why_not(text, "\"open"),
            "column 'v': a string is not closed before the line ends (byte 6 of the text)");
  const auto texts = ColumnSchema().ragged_bytes("v");
  EXPECT_EQ(why_not(texts, R"(["x", 5])"),
            "column 'v': '5' stands where text is expected (byte 12 of the text)");
  const auto list = ColumnSchema().ragged("v", DType::int32);
  EXPECT_EQ(why_not(list, "5"),
            "column 'v': '5' stands where an array is expected (byte 6 of the text)");
  EXPECT_EQ(why_not(list, "[1 2]"),
            "column 'v': '2' stands where ',' or ']' is expected (byte 9 of the text)");
  EXPECT_EQ(
      why_not(list, R"([1, "x"])"),
      "column 'v': '\"x\"' stands where a whole number from -2147483648 to 2147483647 (int32) is "
      "expected (byte 10 of the text)");
  EXPECT_EQ(
      why_not(ColumnSchema().column("v", DType::float64, {2}), "[1, 2, 3]"),
      "column 'v': the array has 3 values, but a row of shape [2] has 2 (byte 6 of the text)");
  EXPECT_EQ(
      why_not(ColumnSchema().padded("v", DType::int8, 2), "[1, 2, 3]"),
      "column 'v': the array has 3 values, but a row has up to 2 items of 1; cut it, or make the "
      "width larger (byte 6 of the text)");
  EXPECT_EQ(
      why_not(ColumnSchema().ragged("v", DType::int8, {2}), "[1, 2, 3]"),
      "column 'v': the array has 3 values, which is no multiple of the 2 of an item (byte 6 of "
      "the text)");
}

TEST(JsonParser, ErrorsOfObjectsSayWhatStandsWhere) {
  const JsonParser parser(ColumnSchema().column("a", DType::int8));
  for (const auto& [text, problem] : std::vector<std::pair<std::string, std::string>>{
           {"", "the line ends where an object is expected (byte 1 of the text)"},
           {" []", "'[' stands where an object is expected (byte 2 of the text)"},
           {R"({"a":1} 7)", "'7' stands where the line's end is expected (byte 9 of the text)"},
           {R"({"a" 1})", "'1' stands where ':' is expected (byte 6 of the text)"},
           {R"({,"a":1})", "',' stands where a member's name is expected (byte 2 of the text)"},
           {R"({"a":1,})", "'}' stands where a member's name is expected (byte 8 of the text)"},
           {R"({"a":1 "b":2})", "'\"' stands where ',' or '}' is expected (byte 8 of the text)"},
           {R"({"a":1,"b":[1)", "the line ends where ',' or ']' is expected (byte 14 of the text)"},
           {R"({"a":1, "a":2})",
            "column 'a': the member comes twice in the line (byte 13 of the text)"},
           {R"({"b":1})",
            "column 'a': the line has no such member, but a whole number from -128 to 127 (int8) "
            "is "
            "expected; a default (if_missing) would stand in for it (byte 8 of the text)"}}) {
    EXPECT_EQ(error_of([&, text = text] { parsed(parser, {text}); }).message(), problem) << text;
  }
}

/// A name is compared with that of the object before, eight bytes at a time.
TEST(JsonParser, NamesOfAnyLengthAreToldApart) {
  for (std::size_t length = 1; length < 24; ++length) {
    for (std::size_t place = 0; place < length; ++place) {
      const std::string a(length, 'x');
      std::string b = a;
      b[place] = 'y';
      const JsonParser parser(ColumnSchema().column(a, DType::int8).column(b, DType::int8));
      const auto object = [](const std::string& first, const std::string& second) {
        return "{\"" + first + "\":1,\"" + second + "\":2}";
      };
      const ColumnBatch batch = parsed(parser, {object(a, b), object(b, a), object(b, a)});
      ASSERT_THAT(batch.column(a).values<std::int8_t>(), ElementsAre(1, 2, 2)) << a;
      ASSERT_THAT(batch.column(b).values<std::int8_t>(), ElementsAre(2, 1, 1)) << b;
    }
  }
}

/// Members stand where others stood in the object before, written in the same way.
TEST(JsonParser, NamesBelongToTheirObjectAndPlace) {
  const auto schema = [] { return ColumnSchema().column("o.x", DType::int8); };
  const JsonParser both(schema().column("p.x", DType::int8));
  const ColumnBatch batch =
      parsed(both, {R"({"o":{"x":1},"p":{"x":2}})", R"({"p":{"x":4},"o":{"x":3}})"});
  EXPECT_THAT(batch.column("o.x").values<std::int8_t>(), ElementsAre(1, 3));
  EXPECT_THAT(batch.column("p.x").values<std::int8_t>(), ElementsAre(2, 4));
  const auto refused = [&](const std::string& good, const std::string& bad) {
    return error_of([&] { parsed(JsonParser(schema()), {good, bad}); }).message();
  };
  EXPECT_EQ(refused(R"({"a":1,"o":{"x":5}})", R"({"o":{"y":"s""x":5}})"),
            "'\"' stands where ',' or '}' is expected (byte 14 of the text)");
  EXPECT_EQ(refused(R"({"o":{"y":1,"x":2}})", R"({"a":1,"o":{,"x":2}})"),
            "',' stands where a member's name is expected (byte 13 of the text)");
}

/// Threads keep the names that they saw: those of one parser must not be taken for another's.
TEST(JsonParser, ParsersAndThreadsDontMix) {
  const JsonParser ab(ColumnSchema().column("a", DType::int32).column("b", DType::int32));
  const JsonParser ba(ColumnSchema().column("b", DType::int32).column("a", DType::int32));
  EXPECT_TRUE(ab.has_fixed_rows());
  constexpr std::size_t kRows = 2000;
  ColumnRows rows = ab.begin(kRows);
  const auto fill = [&](std::size_t first) {
    for (std::size_t row = first; row < kRows; row += 2) {
      const std::string text =
          "{\"a\": " + std::to_string(row) + ", \"b\": " + std::to_string(row * 3) + "}";
      ab.parse_row(text, nullptr, row, rows);
      if (row % 16 == 0) {
        EXPECT_EQ(parsed(ba, {text}).column("b").values<std::int32_t>()[0],
                  static_cast<std::int32_t>(row * 3));
      }
    }
  };
  std::thread other(fill, 1);
  fill(0);
  other.join();
  const ColumnBatch batch = ab.finish(std::move(rows), kRows);
  for (std::size_t row = 0; row < kRows; ++row) {
    ASSERT_EQ(batch.column("a").values<std::int32_t>()[row], static_cast<std::int32_t>(row));
    ASSERT_EQ(batch.column("b").values<std::int32_t>()[row], static_cast<std::int32_t>(row * 3));
  }
}

}  // namespace
}  // namespace infeed::test
