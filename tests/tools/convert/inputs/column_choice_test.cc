#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "matchers.h"
#include "tools/convert/inputs/conversion_test.h"
#include "tools/folder_content.h"

/// No value of a text format is changed or dropped without notice, by the real program.
namespace infeed::test {
namespace {

using Json = nlohmann::json;

class ColumnChoices : public ConversionTest {
 protected:
  std::string schema(const std::string& column, const std::string& kind) const {
    return write("schema.json", Json{{"columns", {{column, kind}}}}.dump());
  }
};

TEST_F(ColumnChoices, WholeNumbersBeyondInt64BecomeTextAndThatIsSaid) {
  const std::string csv = write("t.csv", "id\n5\n10499958131665514997\n");
  const std::string note =
      "text, for a number beyond int64: '10499958131665514997' in t.csv line 3 (row 2)";
  EXPECT_THAT(said({csv}), HasSubstr("  id        bytes     " + note));
  EXPECT_THAT(examples(), ElementsAre("id=['5']", "id=['10499958131665514997']"));
  const std::string lines =
      write("t.jsonl", "{\"id\":18446744073709551616}\n{\"id\":18446744073709551615}\n");
  EXPECT_THAT(said({lines}), HasSubstr("'18446744073709551616' in t.jsonl line 1 (row 1)"));
  EXPECT_THAT(examples(),
              ElementsAre("id=['18446744073709551616']", "id=['18446744073709551615']"));
  EXPECT_THAT(refused({csv, "--schema", schema("id", "integers")}),
              HasSubstr("column 'id' has '10499958131665514997', which is beyond int64, but "
                        "--schema says integers; correct it, or change the schema; example t.csv "
                        "line 3 (row 2) is bad"));
}

TEST_F(ColumnChoices, NumbersBeyondFloat32AreRefused) {
  for (const std::string number : {"1e39", "-1e39", "1e400"}) {
    const std::string csv = write("t.csv", "x,y\n0.5,1\n" + number + ",2\n");
    EXPECT_THAT(
        refused({csv}),
        AllOf(HasSubstr(fmt::format("column 'x' has '{}', which is beyond float32", number)),
              HasSubstr(R"(--schema with {"columns": {"x": "bytes"}})"),
              HasSubstr("t.csv line 3 (row 2)"), HasSubstr("--quarantine-max")));
    said({csv, "--quarantine-max", "1"});
    EXPECT_THAT(examples(), ElementsAre("x=[0.5f] y=[1]"));
    said({csv, "--schema", schema("x", "bytes")});
    EXPECT_THAT(examples(), ElementsAre("x=['0.5'] y=[1]", fmt::format("x=['{}'] y=[2]", number)));
  }
  const std::string lines = write("t.jsonl", "{\"x\":0.5}\n\n{\"x\":[1,1e300]}\n");
  EXPECT_THAT(refused({lines}), AllOf(HasSubstr("column 'x' has '1e300', which is beyond float32"),
                                      HasSubstr("t.jsonl line 3 (row 2)")));
  EXPECT_THAT(refused({write("t.jsonl", "{\"x\":{\"y\":-1e400}}\n")}),
              HasSubstr("column 'x.y' has '-1e400', which is beyond float64"));
  said({write("t.csv", "x\ninf\n-Infinity\nnan\n")});
  EXPECT_THAT(examples(), ElementsAre("x=[inff]", "x=[-inff]", "x=[nanf]"));
}

TEST_F(ColumnChoices, RoundedNumbersAreCounted) {
  const std::string csv = write("t.csv", "x,y\n0.1,1\n16777217,2\n,3\n1e-50,4\nnan,5\n");
  EXPECT_THAT(said({csv, "--json", folder_.file("json")}),
              AllOf(HasSubstr("  x         floats    1 empty, 1 NaN or infinite, 2 rounded to "
                              "float32 (first '16777217' in t.csv line 3 (row 2))\n"),
                    HasSubstr("  y         integers\n")));
  const Json columns = Json::parse(std::ifstream(folder_.file("json"))).at("sets")[0].at("columns");
  EXPECT_EQ(columns[0].at("rounded"), 2);
  EXPECT_EQ(columns[0].at("empty"), 1);
  EXPECT_EQ(columns[0].at("first_rounded"), "'16777217' in t.csv line 3 (row 2)");
  const Json manifest = Json::parse(std::ifstream(folder_.file("out/data.manifest.json")));
  EXPECT_EQ(manifest.at("columns")[0].at("rounded"), 2);
  // The same command again reports it from the manifest.
  const ProgramResult again =
      run_infeed({"convert", csv, "-o", folder_.file("out"), "--shards", "1"});
  EXPECT_THAT(again.out, AllOf(HasSubstr("complete already"), HasSubstr("2 rounded to float32")));
}

TEST_F(ColumnChoices, ColumnsWithoutValuesAreTold) {
  const std::string csv = write("t.csv", "a,b\n1,\n2,\n");
  const std::string note = "  b         bytes     2 empty, no value was seen, no example has it";
  EXPECT_THAT(said({csv}), HasSubstr(note));
  EXPECT_THAT(said({csv, "--columns", "b", "--rename", "b=c"}),
              HasSubstr("  c         bytes     2 empty, no value was seen, no example has it"));
  EXPECT_THAT(read_whole(folder_.file("out/data.manifest.json")), HasSubstr("\"name\": \"c\""));
  EXPECT_THAT(said({csv, "--schema", schema("b", "floats")}),
              HasSubstr("  b         floats    2 empty, by --schema, no example has it"));
  EXPECT_THAT(said({write("t.jsonl", "{\"a\":false,\"b\":null}\n{\"a\":true}\n")}),
              AllOf(HasSubstr("  b         bytes     1 empty, 1 missing, no value was seen"),
                    HasSubstr("  a         integers  2 booleans as 1 and 0")));
}

TEST_F(ColumnChoices, NumbersAmongWhichAreOthersAreSaidOrRefused) {
  std::string text = "x\n";
  for (int i = 0; i < 20; ++i) text += fmt::format("{}\n", i);
  const std::string csv = write("t.csv", text + "N/A\n");
  EXPECT_THAT(refused({csv}), AllOf(HasSubstr("column 'x' has 'N/A', but takes integers as other "
                                              "rows have them; correct it, or give"),
                                    HasSubstr("t.csv line 22 (row 21)")));
  EXPECT_THAT(said({csv, "--dry-run"}),
              AllOf(HasSubstr("1 of 21 values looked at can't be integers and are refused, first "
                              "'N/A' in t.csv line 22 (row 21)"),
                    HasSubstr("1 of them would be refused, first t.csv line 22 (row 21): ")));
  EXPECT_THAT(said({csv, "--quarantine-max", "1"}), HasSubstr("20 of 21 rows"));
  EXPECT_THAT(refused({csv, "--schema", schema("x", "integers")}),
              AllOf(HasSubstr("'N/A', but --schema says integers"), Not(HasSubstr("other rows"))));

  EXPECT_THAT(said({write("t.csv", "x,name\n1,a\n2,1\n\"a\nb\",2\n3,c\n")}),
              AllOf(HasSubstr("  x         bytes     text, though most values are numbers: 1 of 4 "
                              "aren't, first 'a\\nb' in t.csv line 4 (row 3)\n"),
                    HasSubstr("  name      bytes\n")));
  EXPECT_THAT(said({write("t.csv", "zip\n10115\n00812\n")}),
              HasSubstr("text, for leading zeros: '00812' in t.csv line 3 (row 2)"));
  said({folder_.file("t.csv"), "--schema", schema("zip", "integers")});
  EXPECT_THAT(examples(), ElementsAre("zip=[10115]", "zip=[812]"));
}

TEST_F(ColumnChoices, RowsHaveTheSameNamesInEveryFormat) {
  // A row of several lines, and an empty one, come before.
  const std::string rest = "\r\n\r\n\"1\n\n2\",3\r\n4,5,6\r\n";
  EXPECT_THAT(refused({write("t.csv", "a,b" + rest)}), HasSubstr("t.csv line 6 (row 2) is bad"));
  EXPECT_THAT(refused({write("t.csv", "a,b" + rest), "--no-header"}),
              HasSubstr("t.csv line 6 (row 3) is bad"));
  EXPECT_THAT(refused({write("t.tsv", "a\tb\n\n1\t2\n1\n")}),
              HasSubstr("t.tsv line 4 (row 2) is bad"));
  EXPECT_THAT(refused({write("t.jsonl", "{}\n\n{}\n[]\n")}),
              HasSubstr("t.jsonl line 4 (row 3) is bad"));
  // Far behind the first mark.
  std::string text = "a\n";
  for (int i = 0; i < 5000; ++i) text += "\"1\n\"\n\n";
  EXPECT_THAT(refused({write("t.csv", text + "1,2\n")}),
              HasSubstr("t.csv line 15002 (row 5001) is bad"));
}

TEST_F(ColumnChoices, AnotherDelimiterIsNoticedAndCanBeNamed) {
  const std::string csv = write("t.csv", "a;b\n1;\"2;3\"\n4;5\n");
  EXPECT_THAT(refused({csv}),
              AllOf(HasSubstr("with ',' between the columns there is only one, 'a;b', but with ';' "
                              "there are several"),
                    HasSubstr("say --delimiter ';', or --delimiter ',' for one column"),
                    HasSubstr("t.csv")));
  said({csv, "--delimiter", ";"});
  EXPECT_THAT(examples(), ElementsAre("a=[1] b=['2;3']", "a=[4] b=['5']"));
  EXPECT_THAT(
      refused({write("t.csv", "a;b\n1,5;2\n3\n")}),
      HasSubstr("the row has 2 fields, but there is 1 column; is --delimiter ';' missing?"));
  EXPECT_THAT(refused({write("t.tsv", "a|b\n1|2\n")}), HasSubstr("--delimiter '|'"));
  const std::string tabs = write("t.csv", "a\tb\n1\t2\n");
  EXPECT_THAT(refused({tabs}), HasSubstr("say --delimiter tab, or"));
  for (const std::string tab : {"tab", "\\t", "\t"}) {
    said({tabs, "--delimiter", tab});
    EXPECT_THAT(examples(), ElementsAre("a=[1] b=[2]"));
  }
  said({write("t.csv", "a;b\nx;y\n"), "--delimiter", ","});
  EXPECT_THAT(examples(), ElementsAre("a;b=['x;y']"));
  said({write("t.csv", "text\nfirst; second\nthird\n")});
  EXPECT_THAT(examples(), ElementsAre("text=['first; second']", "text=['third']"));
  EXPECT_THAT(refused({csv, "--delimiter", "::"}), HasSubstr("takes one byte"));
  EXPECT_THAT(refused({write("t.jsonl", "{}\n"), "--delimiter", ";"}),
              HasSubstr("--delimiter is for csv and tsv, but the input is jsonl"));
}

TEST_F(ColumnChoices, JsonThatWouldLoseSomethingIsRefused) {
  EXPECT_THAT(refused({write("t.jsonl", "{\"a\":1,\"a\":2}\n")}),
              HasSubstr("column 'a' comes twice in the line"));
  EXPECT_THAT(refused({write("t.jsonl", "{\"a.b\":1,\"a\":{\"b\":2}}\n")}),
              HasSubstr("column 'a.b' comes twice in the line"));
  EXPECT_THAT(refused({write("t.jsonl", "{\"a\":NaN}\n")}),
              HasSubstr("no JSON object: '{\"a\":NaN}', from byte 6 on (JSON has no NaN"));
  EXPECT_THAT(refused({write("t.jsonl", "{\"a\":1} 2\n")}), HasSubstr("no JSON object"));
  EXPECT_THAT(refused({write("t.jsonl", "{\"a\":[1,null]}\n")}),
              HasSubstr("column 'a' is a list with null in it"));
  // Numbers in a column of text stay as written.
  said({write("t.jsonl", "{\"a\":1.50e3}\n{\"a\":\"x\"}\n{\"a\":false}\n")});
  EXPECT_THAT(examples(), ElementsAre("a=['1.50e3']", "a=['x']", "a=['false']"));
  said({write("t.jsonl", "{\"a\":-0,\"b\":-0,\"c\":-0}\n{\"a\":\"x\",\"b\":0.5}\n")});
  EXPECT_THAT(examples(), ElementsAre("a=['-0'] b=[-0f] c=[0]", "a=['x'] b=[0.5f]"));
  EXPECT_THAT(refused({write("t.csv", std::string("\xff\xfe\x61\0", 4))}),
              HasSubstr("UTF-16 text, but UTF-8 is read"));
}

}  // namespace
}  // namespace infeed::test
