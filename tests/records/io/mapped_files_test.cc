#include "infeed/records/detail/mapped_files.h"

#include <array>
#include <fcntl.h>
#include <filesystem>
#include <gtest/gtest.h>
#include <string>
#include <string_view>
#include <sys/stat.h>
#include <utility>
#include <vector>

#include "records/temporary_files.h"

namespace infeed::detail {
namespace {

std::string_view bytes_of(const MappedFile& mapped) {
  EXPECT_TRUE(mapped.bring(0, mapped.size_bytes()));
  return {mapped.data(), static_cast<std::size_t>(mapped.size_bytes())};
}

TEST(MappedFiles, stay_mapped_until_they_change) {
  const TemporaryFolder folder;
  const std::string name = folder.write("data", "before");
  MappedFiles files;
  const auto first = files.of(File::open_to_read(name));
  ASSERT_NE(first, nullptr);
  EXPECT_EQ(bytes_of(*first), "before");
  EXPECT_EQ(files.of(File::open_to_read(name)), first);

  folder.write("data", "longer than before");
  const auto longer = files.of(File::open_to_read(name));
  ASSERT_NE(longer, nullptr);
  EXPECT_EQ(bytes_of(*longer), "longer than before");

  // Replaced by a rename: readers of the old file aren't disturbed.
  std::filesystem::rename(folder.write("other", "replaced"), name);
  const auto replaced = files.of(File::open_to_read(name));
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
  const auto mapped = [&] { return files.of(File::open_to_read(name)); };
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

TEST(MappedFiles, say_what_is_not_there_any_more) {
  const TemporaryFolder folder;
  const std::string name = folder.write("data", std::string(20'000, 'x'));
  MappedFiles files;
  const auto mapped = files.of(File::open_to_read(name));
  ASSERT_NE(mapped, nullptr);
  EXPECT_TRUE(mapped->bring(10'000, 20'000));
  std::filesystem::resize_file(name, 5'000);
  EXPECT_TRUE(mapped->bring(0, 5'000));
  EXPECT_FALSE(mapped->bring(10'000, 20'000));
}

TEST(MappedFiles, are_files_with_bytes) {
  const TemporaryFolder folder;
  MappedFiles files;
  EXPECT_EQ(files.of(File::open_to_read(folder.write("empty", ""))), nullptr);
  EXPECT_EQ(files.of(File::open("/dev/zero", O_RDONLY)), nullptr);
}

}  // namespace
}  // namespace infeed::detail
