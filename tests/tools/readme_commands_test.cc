// Commands that the pages of tools/ show, typed into a shell.
#include <clicks.pb.h>
#include <filesystem>
#include <fmt/format.h>
#include <regex>
#include <sstream>
#include <string>

#include <infeed/records/record_writer.h>

#include "matchers.h"
#include "temporary_folder.h"
#include "tools/run_program.h"

namespace infeed::test {
namespace {

/// Returns the block of commands behind <!-- commands: name --> in a page of tools/.
std::string shown_commands(const std::string& page, const std::string& name) {
  const std::string text = read_whole(INFEED_TOOLS "/" + page);
  const std::string marker = "<!-- commands: " + name + " -->\n```sh\n";
  const std::size_t at = text.find(marker);
  if (at == text.npos) return "tools/" + page + " has no " + marker;
  const std::size_t begin = at + marker.size();
  return text.substr(begin, text.find("```", begin) - begin);
}

/// Runs the commands in the folder; the first that fails ends them.
ProgramResult run_commands(const std::string& commands, const TemporaryFolder& folder) {
  return run_infeed(
      {"-ec", "cd \"$1\"; infeed() { \"$0\" \"$@\"; }\n" + commands, INFEED_COMMAND, folder.path()},
      {.program = "/bin/sh"});
}

/// Writes people.csv.
void write_table(const TemporaryFolder& folder, int rows) {
  std::string text = "city,age,income\n";
  for (int i = 0; i < rows; ++i) text += fmt::format("Rome,{},{}.5\n", i % 90, i);
  folder.write("people.csv", text);
}

TEST(ToolsReadme, ItsTableHasEachCommand) {
  std::istringstream lines(run_infeed({"--help"}).out);
  const std::string readme = read_whole(INFEED_TOOLS "/README.md");
  int commands = 0;
  for (std::string line; std::getline(lines, line);) {
    std::smatch found;
    if (!std::regex_search(line, found, std::regex("^  ([a-z]+)  "))) continue;
    EXPECT_THAT(readme, HasSubstr("\n| `infeed " + found[1].str() + "` |"));
    ++commands;
  }
  EXPECT_GE(commands, 17);
}

TEST(ToolsReadme, ItsCommandsShowMessagesOfOnesOwn) {
  const TemporaryFolder folder;
  folder.write("shop.proto", read_whole(INFEED_TEST_PROTO));
  shop::Click click;
  click.set_id(7);
  RecordWriter writer(folder.file("clicks.tfrecord"));
  writer.write(click.SerializeAsString());
  writer.close();
  const ProgramResult result = run_commands(shown_commands("README.md", "own messages"), folder);
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("\n  id: 7\n"));
}

TEST(ToolsReadme, TheGuideOfConversionMakesChecksAndReshards) {
  const TemporaryFolder folder;
  write_table(folder, 300);
  const std::string convert = shown_commands("convert/README.md", "convert");
  const ProgramResult made = run_commands(convert, folder);
  EXPECT_EQ(made.status, 0) << made.err;
  EXPECT_THAT(made.out, HasSubstr("people: 300 rows of 3 columns in 4 shards"));
  EXPECT_THAT(made.out, HasSubstr("people.manifest.json: good: 4 files, 300 records"));
  EXPECT_THAT(run_commands(convert, folder).out, HasSubstr("complete already"));
  const ProgramResult parts =
      run_commands(shown_commands("convert/README.md", "split and reshard"), folder);
  EXPECT_EQ(parts.status, 0) << parts.err;
  EXPECT_TRUE(std::filesystem::exists(folder.file("parts/validation.manifest.json")));
  EXPECT_TRUE(std::filesystem::exists(folder.file("packed/data-00001-of-00002.tfrecord.gz")));
}

TEST(ToolsReadme, TheGuideOfProfilesRecordsExplainsAndCompares) {
  const TemporaryFolder folder;
  write_table(folder, 300);
  folder.write("pipeline.json", R"({"stages": [{"stage": "records", "files": "data/*.tfrecord"},
      {"stage": "repeat"}, {"stage": "parse"}, {"stage": "batch", "size": 20}], "step_us": 500})");
  // A program that records itself.
  folder.write("train",
               fmt::format("#!/bin/sh\nfile=$INFEED_PROFILE\nunset INFEED_PROFILE\n"
                           "exec {} profile \"$file\" --pipeline pipeline.json --seconds 0.3\n",
                           INFEED_COMMAND));
  std::filesystem::permissions(folder.file("train"), std::filesystem::perms::owner_all);
  const ProgramResult result = run_commands(
      "infeed convert people.csv -o data\n" + shown_commands("profile/README.md", "profile"),
      folder);
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("% of the steps' time is waiting for input"));
  EXPECT_THAT(result.out, HasSubstr("before"));
  EXPECT_THAT(read_whole(folder.file("report.html")), HasSubstr("<html"));
}

}  // namespace
}  // namespace infeed::test
