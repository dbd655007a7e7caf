#include "cli/limits.h"

#include <ctime>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>

#include <infeed/records/example.h>
#include <infeed/records/inferred_schema.h>

#include "cli/terminal.h"
#include "convert/column_statistics.h"
#include "convert/conversion_plan.h"
#include "convert/convert.h"
#include "convert/inputs/open_input.h"
#include "convert/inputs/text_rows.h"
#include "convert/inputs/text_value.h"
#include "convert/manifest.h"
#include "dataset/picture.h"
#include "profile/recorded_run.h"
#include "temporary_folder.h"
#include "thrown_error.h"

/// The limits of the commands for their input.
namespace infeed::test {
namespace {

/// 522 KB of gzip took 5.6 GB.
TEST(ToolLimits, ARowOfTextHasAnEnd) {
  const TemporaryFolder folder;
  const std::string file = folder.write("t.csv", "a,b\n1,2\n");
  std::filesystem::resize_file(file, tools::limits::text_row_bytes + 100);  // zeros, no line feed
  for (const bool has_quotes : {false, true}) {
    const Error error =
        error_of([&] { tools::TextRows(file, {.rows = {.has_quotes = has_quotes}}); });
    EXPECT_EQ(error.code(), ErrorCode::data_loss);
    EXPECT_THAT(error.message(),
                HasSubstr("the row that begins in line 3 is longer than 67108864 bytes, which is "
                          "the limit"));
  }
}

TEST(ToolLimits, JournalsAndPlansThatAreTooDeepSayNothing) {
  const std::string deep = std::string(400'000, '[') + std::string(400'000, ']');
  EXPECT_FALSE(tools::parse_shard_entry(R"({"shard": )" + deep + "}"));
  EXPECT_EQ(tools::describe_difference(deep, "{}"), "its plan can't be read");
}

/// 300,000 lines, each with its own name, took 1.6 GB.
TEST(ToolLimits, RecordsHaveSoManyColumns) {
  tools::ColumnStatistics statistics;
  for (int i = 0; i < 65'536; ++i) {
    statistics.add(ExampleBuilder().integers(fmt::format("{}", i), 1).encode());
  }
  const std::string wrong =
      "there are 65537 columns with 316580 bytes of names, where 65536 and "
      "16777216 are the limits; put what the names tell apart into lists of "
      "values";
  const std::string more = ExampleBuilder().integers("name 65537", 1).encode();
  tools::ColumnStatistics same = statistics;
  const Error error = error_of([&] { same.add(more); });
  EXPECT_EQ(error.code(), ErrorCode::resource_exhausted);
  EXPECT_EQ(error.message(), wrong);
  tools::ColumnStatistics later;
  later.add(more);
  EXPECT_EQ(error_of([&] { statistics.merge(later); }).message(), wrong);
  EXPECT_EQ(error_of([&] { statistics.add_counts({{.name = "name 65537"}}); }).message(), wrong);
}

/// Each of a thousand shards may have its own names: the manifest has them all, and so has memory.
TEST(ToolLimits, TheShardsOfASetHaveSoManyColumnsTogether) {
  const TemporaryFolder folder;
  const std::string file = folder.file("t.jsonl");
  std::ofstream out(file);
  for (int i = 0; i < 65'537; ++i) out << fmt::format("{{\"{}\": 1}}\n", i);
  out.close();
  const auto input = tools::open_input({file}, {});
  const auto convert = [&](std::uint32_t shards, const std::string& name) {
    return error_of([&] {
      tools::convert(*input, {.prefix = folder.file(name + "/set"),
                              .shard_count = shards,
                              .durability = Durability::leave_to_system,
                              .threads = 1});
    });
  };
  for (const std::uint32_t shards : {2U, 16U}) {
    const std::string name = fmt::format("of-{}", shards);
    const Error error = convert(shards, name);
    EXPECT_EQ(error.code(), ErrorCode::resource_exhausted);
    EXPECT_THAT(error.message(), HasSubstr("in all shards together there are 65537 columns with "
                                           "316575 bytes of names, where 65536 and 16777216"));
    EXPECT_THAT(error.file(), HasSubstr(fmt::format("set-{0:05}-of-{1:05}", shards - 1, shards)));
    EXPECT_FALSE(std::filesystem::exists(folder.file(name + "/set.manifest.json")));
    // The shards that are kept don't let the next call pass.
    EXPECT_EQ(convert(shards, name).message(), error.message());
  }
}

/// 5,000,000 names of one record were looked up before they were counted.
TEST(ToolLimits, NamesOfOneRecordAreCountedBeforeTheyAreKept) {
  ExampleBuilder builder;
  for (int i = 0; i < 65'537; ++i) builder.integers(fmt::format("{}", i), 1);
  const std::string record = builder.encode();
  ExampleParser parser;
  const Error error = error_of([&] { parser.want_features_of(record); });
  EXPECT_EQ(error.code(), ErrorCode::resource_exhausted);
  EXPECT_THAT(error.message(), HasSubstr("there are 65537 columns with 316575 bytes of names"));
  EXPECT_EQ(parser.size(), 65'536U);
  EXPECT_EQ(error_of([&] { tools::ColumnStatistics().add(record); }).message(), error.message());
  EXPECT_EQ(error_of([&] { SchemaInference().add(record); }).message(), error.message());
}

TEST(ToolLimits, NamesOfRecordsHaveSoManyBytes) {
  tools::ColumnStatistics statistics;
  for (char c = 'a'; c < 'a' + 15; ++c) {
    statistics.add(ExampleBuilder().integers(std::string(1 << 20, c), 1).encode());
  }
  EXPECT_THAT(
      error_of([&] {
        statistics.add(ExampleBuilder().integers(std::string((1 << 20) + 1, 'z'), 1).encode());
      }).message(),
      HasSubstr("there are 16 columns with 16777217 bytes of names"));
}

/// Lines outside of the sample; records don't show the names of nulls.
TEST(ToolLimits, LaterLinesHaveSoManyColumns) {
  const TemporaryFolder folder;
  const std::string file = folder.file("t.jsonl");
  std::ofstream out(file);
  for (int i = 0; i < 2'000; ++i) out << "{}\n";
  for (int i = 0; i < 65'537; ++i) out << fmt::format("{{\"{}\": null}}\n", i);
  out.close();
  const auto input = tools::open_input({file}, {});
  const auto reader = input->open_reader();
  std::string example;
  const Error error = error_of([&] {
    for (std::uint64_t i = 0; i < input->size(); ++i) reader->read(i, example);
  });
  EXPECT_EQ(error.code(), ErrorCode::resource_exhausted);
  EXPECT_THAT(error.message(), HasSubstr("there are 65537 columns with 316575 bytes of names"));
  EXPECT_THAT(error.file(), HasSubstr("t.jsonl line 67537"));
  reader->take_counts();
  reader->read(input->size() - 1, example);  // another shard begins anew
}

TEST(ToolLimits, ASchemaIsNoDeepNest) {
  const TemporaryFolder folder;
  const std::string file =
      folder.write("schema.json", std::string(400'000, '[') + std::string(400'000, ']'));
  EXPECT_EQ(error_of([&] { tools::read_schema(file); }).message(),
            "this is no schema: objects and arrays lie more than 100 deep in each other, or have "
            "millions of values");
}

/// A column of a million pixels was drawn in 500,000 lines.
TEST(ToolLimits, APictureHasSoManyLines) {
  constexpr std::size_t kHeight = 1'000'000;
  const tools::Picture picture{1, kHeight, std::vector<std::uint8_t>(3 * kHeight, 128)};
  EXPECT_EQ(tools::draw(picture, tools::Terminal(stdout)).size(), tools::limits::picture_lines);
}

/// A line of 16 MiB took 647 MB.
TEST(ToolLimits, ALineOfARecordingHasSoManyValues) {
  const std::string begin =
      "{\"infeed_recording\": 1, \"process\": 1, \"program\": \"p\", \"host\": \"h\", "
      "\"started_unix_s\": 1.5, \"slow_after_ns\": 1}\n{\"new\": [";
  const auto text = [&](std::size_t values, const std::string& end) {
    std::string line = begin;
    for (std::size_t i = 0; i < values; ++i) line += "1,";
    return line + "1]}" + end;
  };
  constexpr std::size_t kMost = tools::limits::recorded_line_values - 3;  // {"new": [1
  EXPECT_EQ(tools::parse_recorded_run(text(kMost, "\n"), "f").process, 1);
  EXPECT_THAT(error_of([&] { tools::parse_recorded_run(text(kMost + 1, "\n"), "f"); }).message(),
              HasSubstr("line 2 of the recording is damaged (it has more than 16777216 bytes or "
                        "1048576 values"));
  EXPECT_TRUE(tools::parse_recorded_run(text(kMost + 1, ""), "f").is_cut);
}

TEST(ToolLimits, APictureOfMoreThanItsBytesIsRefused) {
  const std::string record = ExampleBuilder().bytes("image", "xy").encode();
  EXPECT_THAT(
      error_of([&] { tools::decode_picture(record, "image", "4294967296x4294967297"); }).message(),
      HasSubstr("2 bytes are no 4294967296x4294967297 pixels"));
}

/// Returns the statistics of two threads' records, each of which has a name of its own.
auto columns_of_new_names(int records) {
  tools::ColumnStatistics first, second;
  for (int i = 0; i < records; ++i) {
    const std::string record =
        ExampleBuilder().integers("label", i).integers(fmt::format("new {}", i), 1).encode();
    (i < records / 2 ? first : second).add(record);
  }
  first.merge(second);
  return first.columns();
}

/// Each record took time for all names before it: 7 s for 30,000, where 10,000 take a ninth of that.
TEST(ToolLimits, NewNamesInEachRecordCostNoMore) {
  const std::clock_t begin = std::clock();
  columns_of_new_names(10'000);
  const std::clock_t third = std::clock() - begin;
  const auto columns = columns_of_new_names(30'000);
  EXPECT_LT(std::clock() - begin - third, 6 * third);
  ASSERT_EQ(columns.size(), 30'001U);
  EXPECT_EQ(columns[0].name, "label");
  EXPECT_EQ(columns[0].examples, 30'000U);
  EXPECT_EQ(columns[0].integer_max, 29'999);
  EXPECT_EQ(columns[30'000].examples, 1U);
}

}  // namespace
}  // namespace infeed::test
