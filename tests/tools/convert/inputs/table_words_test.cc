#include <fmt/format.h>

#include "matchers.h"
#include "tools/convert/inputs/conversion_test.h"

/// Words that mean something in tables: true and false, those for no value, the names of columns,
/// the line by which spreadsheets name the delimiter.
namespace infeed::test {
namespace {

class TableWords : public ConversionTest {};

TEST_F(TableWords, TrueAndFalseAreOneAndZeroInTablesAndInJson) {
  EXPECT_THAT(said({write("t.csv", "x,y\ntrue,True\nfalse,FALSE\n")}),
              HasSubstr("  x         integers  2 booleans as 1 and 0\n"));
  EXPECT_THAT(examples(), ElementsAre("x=[1] y=[1]", "x=[0] y=[0]"));
  said({write("t.jsonl", "{\"x\":true}\n{\"x\":false}\n")});
  EXPECT_THAT(examples(), ElementsAre("x=[1]", "x=[0]"));
  // Among numbers they are text, which is said however many they are.
  for (const std::string& file :
       {write("m.csv", "x\ntrue\n1\nfalse\n2\n"),
        write("m.jsonl", "{\"x\":true}\n{\"x\":1}\n{\"x\":false}\n{\"x\":2}\n")}) {
    EXPECT_THAT(said({file}), HasSubstr("  x         bytes     text, though some values are "
                                        "numbers: 2 of 4 aren't, first 'true' in"));
    EXPECT_THAT(examples(), ElementsAre("x=['true']", "x=['1']", "x=['false']", "x=['2']")) << file;
  }
  std::string numbers = "x\n";
  std::string flags = "x\n";
  for (int i = 0; i < 3000; ++i) {
    numbers += fmt::format("{}\n", i);
    flags += i % 2 == 0 ? "true\n" : "false\n";
  }
  EXPECT_THAT(refused({write("n.csv", numbers + "true\n")}),
              AllOf(HasSubstr("column 'x' has 'true', but takes integers as other rows"),
                    HasSubstr("n.csv line 3002 (row 3001)")));
  EXPECT_THAT(refused({write("f.csv", flags + "2\n")}),
              HasSubstr("column 'x' has '2', but takes true and false as other rows"));
  said({write("f.csv", flags + "1\n0\n")});
  EXPECT_EQ(examples().back(), "x=[0]");
  const std::string schema = write("schema.json", R"({"columns": {"x": "floats"}})");
  said({write("t.csv", "x\ntrue\n0.5\n"), "--schema", schema});
  EXPECT_THAT(examples(), ElementsAre("x=[1f]", "x=[0.5f]"));
}

TEST_F(TableWords, WordsForNoValueCanBeNamed) {
  const std::string file = write("na.csv", "x,y\n1,2.5\nNA,NaN\n3,N/A\n4,null\n");
  EXPECT_THAT(said({file}),
              AllOf(HasSubstr("  x         bytes     text, though most values are numbers: 1 of 4 "
                              "aren't, first 'NA' in na.csv line 3 (row 2); --nulls 'NA' takes it "
                              "as no value"),
                    HasSubstr("--nulls 'N/A' takes it as no value")));
  EXPECT_THAT(said({file, "--nulls", "NA,N/A,null"}),
              AllOf(HasSubstr("  x         integers  1 empty\n"),
                    HasSubstr("  y         floats    2 empty, 1 NaN or infinite\n")));
  EXPECT_THAT(examples(), ElementsAre("x=[1] y=[2.5f]", "y=[nanf]", "x=[3]", "x=[4]"));
  // Also numbers, and in columns of text; in quotes it is text.
  said({write("t.csv", "n,t\n-9,a\n1,NA\n2,\"NA\"\n"), "--nulls", "NA", "--nulls", "-9"});
  EXPECT_THAT(examples(), ElementsAre("t=['a']", "n=[1]", "n=[2] t=['NA']"));
  EXPECT_THAT(refused({write("t.jsonl", "{}\n"), "--nulls", "NA"}),
              HasSubstr("--nulls is for csv and tsv, but the input is jsonl"));
}

TEST_F(TableWords, OptionsOfTablesAreRefusedOfOtherInputs) {
  const std::string lines = write("l.jsonl", "{\"a\":1}\n");
  EXPECT_THAT(refused({lines, "--no-header"}),
              HasSubstr("--no-header is for csv and tsv, but the input is jsonl"));
  const std::string schema = write("schema.json", R"({"columns": {"a": "floats"}})");
  said({lines, "--schema", schema});
  const std::string plain = write("plain.bin", "x");
  EXPECT_THAT(refused({plain, "--kind", "files", "--schema", schema}),
              HasSubstr("--schema is for csv, tsv and jsonl, but the input is files"));
}

TEST_F(TableWords, AFirstRowOfNumbersIsNotedThatMayBeNoHeader) {
  const std::string file =
      write("iris.csv", "5.1,3.5,1.4,0.2,Iris-setosa\n4.9,3.0,1.4,0.2,Iris-setosa\n");
  EXPECT_THAT(said({file}),
              HasSubstr("data: the first row, 5.1, 3.5, 1.4, 0.2, Iris-setosa, was taken for the "
                        "columns' names, though it has numbers like the rows below it: if it is an "
                        "example, too, say --no-header\n"));
  EXPECT_THAT(said({file, "--no-header"}), Not(HasSubstr("was taken for")));
  EXPECT_EQ(examples().size(), 2U);
  EXPECT_THAT(said({write("t.csv", "a,b\n1,2\n")}), Not(HasSubstr("was taken for")));
  EXPECT_THAT(refused({write("digits.csv", "5,0,0,12\n0,0,0,0\n")}),
              HasSubstr("a column's name comes twice in the header: '0'; if the first row is an "
                        "example, say --no-header"));
}

TEST_F(TableWords, TheLineOfSpreadsheetsNamesTheDelimiter) {
  const std::string file = write("sep.csv", "sep=;\r\nid;text\r\n1;a\r\nx;b,c\r\n2;\"d;e\"\r\n");
  EXPECT_THAT(said({file}), HasSubstr("3 rows of 2 columns"));
  EXPECT_THAT(examples(),
              ElementsAre("id=['1'] text=['a']", "id=['x'] text=['b,c']", "id=['2'] text=['d;e']"));
  EXPECT_THAT(refused({file, "--delimiter", ","}),
              HasSubstr("its first line says that ';' stands between the columns, but --delimiter "
                        "says ','; leave --delimiter out"));
  EXPECT_THAT(said({file, "--delimiter", ";"}), HasSubstr("3 rows of 2 columns"));
  EXPECT_THAT(refused({write("bad.csv", "sep=;\nid;text\n1;a;b\n")}),
              HasSubstr("bad.csv line 3 (row 1) is bad"));
  EXPECT_THAT(refused({file, write("other.csv", "sep=,\nid,text\n3,f\n")}),
              AllOf(HasSubstr("its first line says that ',' stands between the columns, but in the "
                              "first file ';' does; convert them one by one"),
                    HasSubstr("other.csv")));
  // Blanks alone are no value of a column of numbers, and text of any other.
  said({write("blank.csv", "n,t\n1,a\n , \n\t,b\n")});
  EXPECT_THAT(examples(), ElementsAre("n=[1] t=['a']", "t=[' ']", "t=['b']"));
}

}  // namespace
}  // namespace infeed::test
