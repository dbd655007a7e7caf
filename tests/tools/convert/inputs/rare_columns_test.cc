#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <infeed/records/record_writer.h>
#include <infeed/records/sequence_example.h>

#include "matchers.h"
#include "tools/convert/inputs/conversion_test.h"
#include "tools/folder_content.h"

/// Columns that few rows have, and lists of lists.
namespace infeed::test {
namespace {

constexpr int kLines = 20'000;

class RareColumns : public ConversionTest {
 protected:
  /// Three lines have a bonus; none of them is in the samples, which begin every tenth or 20th line.
  std::string lines() const {
    std::string text;
    for (int i = 0; i < kLines; ++i) {
      const bool is_rare = i == 7013 || i == 7017 || i == 19'999;
      text += is_rare ? fmt::format("{{\"id\": {}, \"bonus\": 0.5}}\n", i)
                      : fmt::format("{{\"id\": {}}}\n", i);
    }
    return write("t.jsonl", text);
  }
};

TEST_F(RareColumns, CanBeChosenRenamedTypedAndSplitBy) {
  const std::string file = lines();
  EXPECT_THAT(said({file, "--columns", "id,bonus"}), HasSubstr("bonus"));
  EXPECT_EQ(examples()[7013], "bonus=[0.5f] id=[7013]");
  EXPECT_EQ(examples()[7014], "id=[7014]");
  said({file, "--rename", "bonus=more"});
  EXPECT_EQ(examples()[19'999], "id=[19999] more=[0.5f]");
  // A column that nobody names isn't lost by another one's new name.
  said({file, "--rename", "id=number", "--threads", "3"});
  EXPECT_EQ(examples()[7017], "bonus=[0.5f] number=[7017]");
  EXPECT_THAT(refused({file, "--rename", "id=bonus"}),
              AllOf(HasSubstr("the example has a column 'bonus', and --rename gives that name to "
                              "'id'"),
                    HasSubstr("t.jsonl line 7014 (row 7014)")));
  const std::string schema = write("schema.json", R"({"columns": {"bonus": "bytes"}})");
  said({file, "--schema", schema, "--columns", "bonus"});
  EXPECT_EQ(examples()[7013], "bonus=['0.5']");
  EXPECT_EQ(convert({file, "--validation", "0.1", "--split-by", "bonus"}).status, 0);
  EXPECT_THAT(refused({file, "--columns", "id,bonsu"}),
              HasSubstr("there is no column 'bonsu'; there are id"));
}

TEST_F(RareColumns, CanBeChosenOfRecords) {
  const std::string folder = folder_.file("set");
  ASSERT_EQ(run_infeed({"convert", lines(), "-o", folder, "--shards", "2"}).status, 0);
  output_of(run({"reshard", folder, "--columns", "id,bonus"}));
  EXPECT_EQ(examples()[7013], "bonus=[0.5f] id=[7013]");
  output_of(run({"reshard", folder, "--rename", "bonus=more"}));
  EXPECT_EQ(examples()[7017], "id=[7017] more=[0.5f]");
  EXPECT_THAT(refusal_of(run({"reshard", folder, "--columns", "x"})),
              HasSubstr("there is no column 'x'"));
}

TEST_F(RareColumns, RecordsWhoseFeatureListsWouldBeDroppedAreRefused) {
  const std::string file = folder_.file("clips.tfrecord");
  {
    RecordWriter writer(file);
    for (int i = 0; i < 3; ++i) {
      SequenceExampleBuilder builder;
      builder.context().integers("label", i);
      if (i == 2) builder.list("frames").bytes("frame");
      writer.write(builder.encode());
    }
    writer.close();
  }
  for (const char* const option : {"--columns", "--rename"}) {
    const std::string choice = std::string(option) == "--columns" ? "label" : "label=y";
    EXPECT_THAT(refusal_of(run({"reshard", file, option, choice})),
                AllOf(HasSubstr("the record has a feature list 'frames', which --columns and"),
                      HasSubstr("clips.tfrecord#2")));
  }
  output_of(run({"reshard", file}));
}

TEST_F(RareColumns, AColumnThatTheSampleHasEmptyGetsItsKindFromLaterRows) {
  std::string csv = "a,b,c,d\n";
  std::string json;
  for (int i = 0; i < kLines; ++i) {
    const bool is_rare = i == 7013 || i == 7017;
    csv += fmt::format("{},{},,{}\n", i, is_rare ? "0.5" : "", i == 19'999 ? "x" : "");
    json += fmt::format("{{\"a\": {}, \"b\": {}, \"c\": null}}\n", i, is_rare ? "0.5" : "null");
  }
  for (const std::string& file : {write("t.csv", csv), write("t.jsonl", json)}) {
    const std::string report = said({file});
    EXPECT_THAT(report,
                AllOf(HasSubstr("  b         floats    19,998 empty\n"),
                      HasSubstr("  c         bytes     20,000 empty, no value was seen, no")));
    EXPECT_THAT(examples(), Contains("a=[7013] b=[0.5f]"));
  }
  said({folder_.file("t.csv")});
  EXPECT_EQ(examples().back(), "a=[19999] d=['x']");
}

TEST_F(RareColumns, ListsOfListsKeepTheirShapeOrAreRefused) {
  const std::string matrix =
      write("m.jsonl", "{\"m\": [[1,2],[3,4]]}\n{}\n{\"m\": [[5,6],[7,8]]}\n");
  said({matrix});
  EXPECT_THAT(examples(), ElementsAre("m=[1, 2, 3, 4]", "", "m=[5, 6, 7, 8]"));
  const auto manifest = nlohmann::json::parse(read_whole(folder_.file("out/data.manifest.json")));
  EXPECT_EQ(manifest.at("columns").at(0).at("shape"), nlohmann::json({2, 2}));
  for (const std::string text :
       {"{\"s\": [[\"a\",\"b\"],[\"c\"]]}\n{\"s\": [[\"a\"],[\"b\",\"c\"]]}\n",
        "{\"s\": [1, [2, 3]]}\n{\"s\": [[1,2],3]}\n"}) {
    EXPECT_THAT(
        refused({write("r.jsonl", text)}),
        AllOf(HasSubstr("column 's' is a list of lists of different lengths here; a feature "
                        "is one flat list"),
              HasSubstr("write a flat list, with the lengths of the inner ones in a column "
                        "of their own"),
              HasSubstr("r.jsonl line 1 (row 1)")));
  }
  EXPECT_THAT(refused({write("o.jsonl", "{\"m\": [[1,2]]}\n{\"m\": [[1],[2]]}\n")}),
              AllOf(HasSubstr("column 'm' is a list of lists of shape [2, 1] here, but a list of "
                              "lists of shape [1, 2] in the rows looked at"),
                    HasSubstr("o.jsonl line 2 (row 2)")));
  EXPECT_THAT(refused({write("o.jsonl", "{\"m\": [1,2]}\n{\"m\": [[1,2]]}\n")}),
              HasSubstr("shape [1, 2] here, but no list of lists in the rows looked at"));
}

}  // namespace
}  // namespace infeed::test
