#include <cerrno>
#include <filesystem>
#include <string>
#include <system_error>

#include <infeed/records/files.h>

#include "records/temporary_files.h"
#include "thrown_error.h"

/// Folders that a pattern leads to, and those that it can't look into.
namespace infeed {
namespace {

TEST(MatchFiles, relative_patterns_begin_here) {
  const TemporaryFolder folder;
  for (const char* name : {"a1", "b", "x/a2"}) folder.write(name, "");
  const test::InFolder here(folder.path());
  EXPECT_THAT(match_files("a*"), ElementsAre("a1"));
  EXPECT_THAT(match_files("*/a*"), ElementsAre("x/a2"));
  EXPECT_THAT(match_files("**/a*"), ElementsAre("a1", "x/a2"));
}

TEST(MatchFiles, a_folder_may_lack_the_file) {
  const TemporaryFolder folder;
  for (const char* name : {"x/data", "y/other", "z"}) folder.write(name, "");
  EXPECT_THAT(match_files(folder.file("*/data")), ElementsAre(folder.file("x/data")));
  EXPECT_EQ(error_of([&] { match_files(folder.file("*/none")); }).message(),
            "no file matches '" + folder.file("*/none") + "': folder '" + folder.path().string() +
                "' holds 3 other entries: 'x/', 'y/', 'z'");
}

TEST(MatchFiles, what_is_no_folder_holds_no_files) {
  const TemporaryFolder folder;
  const std::string file = folder.write("file", "");
  EXPECT_EQ(error_of([&] { match_files(file + "/*"); }).message(),
            "no file matches '" + file + "/*': folder '" + file +
                "' cannot be listed: " + std::generic_category().message(ENOTDIR));
  const std::string none = folder.file("none");
  EXPECT_EQ(error_of([&] { match_files(none + "/*"); }).message(),
            "no file matches '" + none + "/*': folder '" + none + "' does not exist");
}

TEST(MatchFiles, a_folder_that_cannot_be_listed_is_an_error) {
  const TemporaryFolder folder;
  std::filesystem::create_symlink("loop", folder.file("loop"));
  const Error error = error_of([&] { match_files(folder.file("loop/*")); });
  EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
  EXPECT_EQ(error.message(), "cannot list: too many symbolic links in the path");
  EXPECT_EQ(error.file(), folder.file("loop/"));
}

}  // namespace
}  // namespace infeed
