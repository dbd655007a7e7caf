#include "infeed/records/detail/mapped_files.h"

#include <array>
#include <fcntl.h>
#include <filesystem>
#include <gtest/gtest.h>
#include <memory>
#include <string>
#include <string_view>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>
#include <vector>

#include "records/temporary_files.h"

namespace infeed::detail {
namespace {

std::string_view bytes_of(const MappedFile& mapped) {
  EXPECT_TRUE(mapped.bring(0, mapped.size_bytes()));
  return {mapped.data(), static_cast<std::size_t>(mapped.size_bytes())};
}

std::shared_ptr<const MappedFile> mapping_of(MappedFiles& files, const File& file) {
  return files.of(file, file.size_bytes().value_or(0));
}

TEST(MappedFiles, stay_mapped_until_they_change) {
  const TemporaryFolder folder;
  const std::string name = folder.write("data", "before");
  MappedFiles files;
  const auto first = mapping_of(files, File::open_to_read(name));
  ASSERT_NE(first, nullptr);
  EXPECT_EQ(bytes_of(*first), "before");
  EXPECT_EQ(mapping_of(files, File::open_to_read(name)), first);

  folder.write("data", "longer than before");
  const auto longer = mapping_of(files, File::open_to_read(name));
  ASSERT_NE(longer, nullptr);
  EXPECT_EQ(bytes_of(*longer), "longer than before");

  // Replaced by a rename: readers of the old file aren't disturbed.
  std::filesystem::rename(folder.write("other", "replaced"), name);
  const auto replaced = mapping_of(files, File::open_to_read(name));
  ASSERT_NE(replaced, nullptr);
  EXPECT_EQ(bytes_of(*replaced), "replaced");
  EXPECT_EQ(bytes_of(*longer), "longer than before");
}

/// Written in place, with the size or the time that it had.
TEST(MappedFiles, are_mapped_anew_where_either_size_or_time_is_another) {
  const TemporaryFolder folder;
  const std::string name = folder.write("data", "before");
  const auto changed = [&](const std::string& bytes, timespec modified) {
    File file = File::open(name, O_WRONLY | O_TRUNC);
    file.write(bytes);
    const std::array<timespec, 2> times{modified, modified};
    ASSERT_EQ(::futimens(file.descriptor(), times.data()), 0);
  };
  MappedFiles files;
  const auto mapped = [&] { return mapping_of(files, File::open_to_read(name)); };
  changed("before", {.tv_sec = 1000, .tv_nsec = 7});
  auto last = mapped();
  EXPECT_EQ(mapped(), last);
  for (const auto& [bytes, modified] :
       std::vector<std::pair<std::string, timespec>>{{"longer", {.tv_sec = 1001, .tv_nsec = 7}},
                                                     {"longer", {.tv_sec = 1001, .tv_nsec = 8}},
                                                     {"longer!", {.tv_sec = 1001, .tv_nsec = 8}},
                                                     {"short", {.tv_sec = 1001, .tv_nsec = 8}}}) {
    changed(bytes, modified);
    const auto now = mapped();
    ASSERT_NE(now, nullptr);
    EXPECT_NE(now, last);
    EXPECT_EQ(bytes_of(*now), bytes);
    last = now;
  }
}

TEST(MappedFiles, have_the_length_that_the_file_had_when_it_was_opened) {
  const TemporaryFolder folder;
  const std::string name = folder.write("data", "before");
  const File file = File::open_to_read(name);
  MappedFiles files;
  EXPECT_NE(files.of(file, 6), nullptr);
  std::filesystem::resize_file(name, 18);
  EXPECT_EQ(files.of(file, 6), nullptr);
  EXPECT_NE(files.of(file, 18), nullptr);
}

TEST(MappedFiles, say_what_is_not_there_any_more) {
  const TemporaryFolder folder;
  const std::string name = folder.write("data", std::string(20'000, 'x'));
  MappedFiles files;
  const auto mapped = mapping_of(files, File::open_to_read(name));
  ASSERT_NE(mapped, nullptr);
  EXPECT_TRUE(mapped->bring(10'000, 20'000));
  std::filesystem::resize_file(name, 5'000);
  EXPECT_TRUE(mapped->bring(0, 5'000));
  EXPECT_FALSE(mapped->bring(10'000, 20'000));
}

std::uint64_t page_bytes() { return static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE)); }

/// Pages are looked at in steps of 256, and one counts even if only its first byte is wanted.
TEST(MappedFiles, say_what_is_not_there_any_more_of_many_pages) {
  // Where pages are kept one by one: several that are kept together may outlive the end of the file.
  const TemporaryFolder folder(test::memory_folder());
  const std::uint64_t pages = 600;
  const std::string name = folder.write("data", std::string(pages * page_bytes(), 'x'));
  const auto mapped = MappedFile::map(File::open_to_read(name));
  ASSERT_NE(mapped, nullptr);
  EXPECT_TRUE(mapped->bring(0, pages * page_bytes()));
  for (const std::uint64_t left : {599, 512, 300, 257, 256, 255, 2}) {
    const std::uint64_t end = left * page_bytes();
    std::filesystem::resize_file(name, end);
    EXPECT_TRUE(mapped->bring(0, end)) << left;
    EXPECT_TRUE(mapped->bring(end - 1, end)) << left;
    EXPECT_FALSE(mapped->bring(0, end + 1)) << left;
    EXPECT_FALSE(mapped->bring(page_bytes(), end + 1)) << left;
    EXPECT_FALSE(mapped->bring(0, pages * page_bytes())) << left;
  }
}

TEST(MappedFiles, bring_what_is_not_in_memory) {
  const TemporaryFolder folder;
  const std::string name = folder.write("data", "begin");
  const std::uint64_t bytes = std::uint64_t{20} << 20;
  std::filesystem::resize_file(name, bytes);  // no page of it was ever read
  const auto mapped = MappedFile::map(File::open_to_read(name));
  ASSERT_NE(mapped, nullptr);
  const std::uint64_t begin = (std::uint64_t{17} << 20) + 5000;
  EXPECT_TRUE(mapped->bring(begin, bytes));
  EXPECT_EQ(mapped->data()[begin], '\0');
  EXPECT_EQ(mapped->data()[bytes - 1], '\0');
}

TEST(MappedFiles, are_unmapped_when_nobody_holds_them) {
  const TemporaryFolder folder;
  const auto is_mapped = [&] {
    return read_whole("/proc/self/maps").find(folder.path().filename()) != std::string::npos;
  };
  auto data = map_bytes(File::open_to_read(folder.write("data", "bytes")), 5);
  ASSERT_NE(data, nullptr);
  EXPECT_EQ(std::string_view(data.get(), 5), "bytes");
  EXPECT_TRUE(is_mapped());
  data.reset();
  EXPECT_FALSE(is_mapped());
}

/// The files have no names: 64 MiB of a disk take seconds, and a container's /dev/shm ends there.
TEST(MappedFiles, are_so_many_at_most) {
  const auto new_file = [] {
    File file(::memfd_create("file", MFD_CLOEXEC), "file");
    file.write("x");
    return file;
  };
  MappedFiles files;
  const File first = new_file();
  const auto kept = mapping_of(files, first);
  ASSERT_NE(kept, nullptr);
  for (int count = 1; count < 16'384; ++count) ASSERT_NE(mapping_of(files, new_file()), nullptr);
  EXPECT_EQ(mapping_of(files, new_file()), nullptr);
  EXPECT_EQ(mapping_of(files, first), kept);
}

TEST(MappedFiles, are_files_with_bytes) {
  const TemporaryFolder folder;
  MappedFiles files;
  EXPECT_EQ(mapping_of(files, File::open_to_read(folder.write("empty", ""))), nullptr);
  EXPECT_EQ(mapping_of(files, File::open("/dev/zero", O_RDONLY)), nullptr);
}

}  // namespace
}  // namespace infeed::detail
