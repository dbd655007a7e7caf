#include "cli/atomic_file.h"

#include <cstdio>
#include <filesystem>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <iterator>

#include <infeed/error.h>

#include "tools/folder_content.h"
#include "tools/temporary_folder.h"

namespace infeed::testing {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using tools::check_can_write;
using tools::replace_file;

std::size_t entries(const std::string& folder) {
  return static_cast<std::size_t>(
      std::distance(fs::directory_iterator(folder), fs::directory_iterator()));
}

TEST(AtomicFile, WritesAndReplaces) {
  const TemporaryFolder folder;
  const std::string file = folder.file("result.json");
  check_can_write(file);
  EXPECT_EQ(entries(folder.path()), 0);
  replace_file(file, "one");
  EXPECT_EQ(read_bytes(file), "one");
  check_can_write(file);
  EXPECT_EQ(read_bytes(file), "one");
  replace_file(file, "second");
  EXPECT_EQ(read_bytes(file), "second");
  EXPECT_EQ(entries(folder.path()), 1);
}

template <class F>
Error error_of(F f) {
  try {
    f();
  } catch (const Error& error) {
    return error;
  }
  return Error(ErrorCode::internal, "nothing was thrown");
}

TEST(AtomicFile, SaysWhatIsWrongBeforeAndWhenWriting) {
  const TemporaryFolder folder;
  const std::string nowhere = folder.file("none/result.json");
  for (const Error& error : {error_of([&] { check_can_write(nowhere); }),
                             error_of([&] { replace_file(nowhere, "x"); })}) {
    EXPECT_EQ(error.code(), ErrorCode::not_found);
    EXPECT_THAT(error.message(), HasSubstr("does not exist"));
    EXPECT_EQ(error.file(), nowhere);
  }
  for (const Error& error : {error_of([&] { check_can_write(folder.path()); }),
                             error_of([&] { replace_file(folder.path(), "x"); })}) {
    EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
    EXPECT_THAT(error.message(), HasSubstr("it is a folder"));
  }
}

TEST(AtomicFile, StandardOutputIsWrittenAndNotReplaced) {
  const TemporaryFolder folder;
  std::FILE* const out = std::fopen(folder.file("out").c_str(), "w");
  fs::create_symlink(fmt::format("/proc/self/fd/{}", fileno(out)), folder.file("link"));
  check_can_write(folder.file("link"));
  replace_file(folder.file("link"), "text");
  std::fclose(out);
  EXPECT_TRUE(fs::is_symlink(folder.file("link")));
  EXPECT_EQ(read_bytes(folder.file("out")), "text");
}

TEST(AtomicFile, ADeviceIsWrittenDirectly) {
  check_can_write("/dev/full");
  const Error error = error_of([] { replace_file("/dev/full", "x"); });
  EXPECT_EQ(error.code(), ErrorCode::resource_exhausted);
  EXPECT_THAT(error.message(), HasSubstr("the disk is full"));
}

}  // namespace
}  // namespace infeed::testing
