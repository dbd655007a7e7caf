// Commands that tools/README.md shows, typed into a shell.
#include <clicks.pb.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <string>

#include <infeed/records/record_writer.h>

#include "temporary_folder.h"
#include "tools/run_program.h"

namespace infeed::test {
namespace {

using ::testing::HasSubstr;

/// Returns the block of commands behind <!-- commands: name -->.
std::string shown_commands(const std::string& name) {
  const std::string readme = read_whole(INFEED_TOOLS_README);
  const std::string marker = "<!-- commands: " + name + " -->\n```sh\n";
  const std::size_t at = readme.find(marker);
  if (at == readme.npos) return "tools/README.md has no " + marker;
  const std::size_t begin = at + marker.size();
  return readme.substr(begin, readme.find("```", begin) - begin);
}

TEST(ToolsReadme, ItsCommandsShowMessagesOfOnesOwn) {
  const TemporaryFolder folder;
  folder.write("shop.proto", read_whole(INFEED_TEST_PROTO));
  shop::Click click;
  click.set_id(7);
  RecordWriter writer(folder.file("clicks.tfrecord"));
  writer.write(click.SerializeAsString());
  writer.close();
  const std::string in_folder = "cd \"$1\"; infeed() { \"$0\" \"$@\"; }\n";
  const ProgramResult result =
      run_infeed({"-ec", in_folder + shown_commands("own messages"), INFEED_COMMAND, folder.path()},
                 {.program = "/bin/sh"});
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("\n  id: 7\n"));
}

}  // namespace
}  // namespace infeed::test
