#include <cstdio>
#include <filesystem>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <iterator>

#include <infeed/error.h>
#include <infeed/records/output_file.h>

#include "records/temporary_files.h"
#include "thrown_error.h"

namespace infeed::testing {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

std::size_t entries(const fs::path& folder) {
  return static_cast<std::size_t>(
      std::distance(fs::directory_iterator(folder), fs::directory_iterator()));
}

TEST(ReplaceFile, WritesAndReplaces) {
  const TemporaryFolder folder;
  const std::string file = folder.file("result.json");
  check_can_write(file);
  EXPECT_EQ(entries(folder.path()), 0);
  replace_file(file, "one");
  EXPECT_EQ(read_whole(file), "one");
  check_can_write(file);
  EXPECT_EQ(read_whole(file), "one");
  replace_file(file, "second");
  EXPECT_EQ(read_whole(file), "second");
  EXPECT_EQ(entries(folder.path()), 1);
}

TEST(ReplaceFile, SaysWhatIsWrongBeforeAndWhenWriting) {
  const TemporaryFolder folder;
  const std::string nowhere = folder.file("none/result.json");
  for (const Error& error : {error_of([&] { check_can_write(nowhere); }),
                             error_of([&] { replace_file(nowhere, "x"); })}) {
    EXPECT_EQ(error.code(), ErrorCode::not_found);
    EXPECT_THAT(error.message(), HasSubstr("does not exist"));
    EXPECT_EQ(error.file(), nowhere);
  }
  for (const Error& error : {error_of([&] { check_can_write(folder.path().string()); }),
                             error_of([&] { replace_file(folder.path().string(), "x"); })}) {
    EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
    EXPECT_THAT(error.message(), HasSubstr("it is a folder"));
  }
}

TEST(ReplaceFile, StandardOutputIsWrittenAndNotReplaced) {
  const TemporaryFolder folder;
  std::FILE* const out = std::fopen(folder.file("out").c_str(), "w");
  fs::create_symlink(fmt::format("/proc/self/fd/{}", fileno(out)), folder.file("link"));
  check_can_write(folder.file("link"));
  replace_file(folder.file("link"), "text");
  std::fclose(out);
  EXPECT_TRUE(fs::is_symlink(folder.file("link")));
  EXPECT_EQ(read_whole(folder.file("out")), "text");
}

TEST(ReplaceFile, ADeviceIsWrittenDirectly) {
  check_can_write("/dev/full");
  const Error error = error_of([] { replace_file("/dev/full", "x"); });
  EXPECT_EQ(error.code(), ErrorCode::resource_exhausted);
  EXPECT_THAT(error.message(), HasSubstr("the disk is full"));
}

}  // namespace
}  // namespace infeed::testing
