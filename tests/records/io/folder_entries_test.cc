#include "infeed/detail/folder_entries.h"

#include <cerrno>
#include <filesystem>
#include <system_error>

#include "temporary_folder.h"
#include "thrown_error.h"

namespace infeed::test {
namespace {

using ::testing::UnorderedElementsAre;

TEST(FolderEntries, AreNamedWithWhatTheyAre) {
  const TemporaryFolder folder;
  fs::create_directory(folder.file("below"));
  write_whole(folder.file("file"), "x");
  write_whole(folder.file(".hidden"), "x");
  fs::create_symlink("below", folder.file("to-below"));
  fs::create_symlink("nowhere", folder.file("to-nowhere"));
  EXPECT_THAT(detail::names_in_folder(folder.path().string()),
              UnorderedElementsAre("below", "file", ".hidden", "to-below", "to-nowhere"));
  std::error_code error;
  std::vector<std::string> folders;
  std::vector<std::string> links;
  for (detail::FolderEntry entry : detail::folder_entries(folder.path().string(), error)) {
    const std::string path = folder.file(entry.name);
    const bool is_folder = detail::is_folder(entry, path);
    const bool is_link = detail::is_link(entry, path);
    if (is_folder) folders.push_back(entry.name);
    if (is_link) links.push_back(entry.name);
    entry.type = 0;  // a file system that doesn't say
    EXPECT_EQ(detail::is_folder(entry, path), is_folder) << entry.name;
    EXPECT_EQ(detail::is_link(entry, path), is_link) << entry.name;
  }
  EXPECT_FALSE(error);
  EXPECT_THAT(folders, UnorderedElementsAre("below", "to-below"));
  EXPECT_THAT(links, UnorderedElementsAre("to-below", "to-nowhere"));
}

TEST(FolderEntries, AreReadWhateverFailedBefore) {
  const TemporaryFolder folder;
  write_whole(folder.file("file"), "x");
  // The folder of this process's descriptors, one of which reads it.
  const auto descriptors = [] { return detail::names_in_folder("/proc/self/fd").size(); };
  const std::size_t before = descriptors();
  std::error_code error = std::make_error_code(std::errc::io_error);
  errno = EIO;
  EXPECT_THAT(detail::folder_entries(folder.path().string(), error), SizeIs(1));
  EXPECT_FALSE(error);
  EXPECT_EQ(descriptors(), before) << "the folder is closed";
}

TEST(FolderEntries, OfWhatIsNoFolderAreAnError) {
  const TemporaryFolder folder;
  write_whole(folder.file("file"), "x");
  std::error_code error;
  EXPECT_THAT(detail::folder_entries(folder.file("none"), error), IsEmpty());
  EXPECT_EQ(error, std::errc::no_such_file_or_directory);
  EXPECT_THAT(detail::folder_entries(folder.file("file"), error), IsEmpty());
  EXPECT_EQ(error, std::errc::not_a_directory);
  EXPECT_THAT(detail::folder_entries(folder.path().string(), error), SizeIs(1));
  EXPECT_FALSE(error);
  const Error thrown = error_of([&] { detail::names_in_folder(folder.file("none")); });
  EXPECT_EQ(thrown.code(), ErrorCode::not_found);
  EXPECT_EQ(thrown.file(), folder.file("none"));
}

}  // namespace
}  // namespace infeed::test
