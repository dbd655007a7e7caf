#include "infeed/records/file_sum.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <infeed/records/crc32c.h>

#include "records/temporary_files.h"
#include "thrown_error.h"

namespace infeed {
namespace {

using test::error_of;

FileSum sum_of(const std::string& bytes) { return {bytes.size(), crc32c(bytes)}; }

std::string difference(const std::string& file, const FileSum& wanted, FileCheck check) {
  const std::optional<FileDifference> found = compare_file(file, wanted, check);
  if (!found) return "none";
  return found->text + (found->can_be_read ? " (can be read)" : "");
}

TEST(FileSum, IsThatOfAllBytes) {
  const TemporaryFolder folder;
  std::string bytes = "some bytes";
  for (const std::size_t size : {std::size_t{0}, std::size_t{10}, std::size_t{3} << 20}) {
    bytes.resize(size, 'x');
    EXPECT_EQ(sum_file(folder.write("f", bytes)), sum_of(bytes)) << size;
  }
}

TEST(FileSum, ADifferenceSaysWhatIsThere) {
  const TemporaryFolder folder;
  const std::string file = folder.write("f", "0123456789");
  for (const FileCheck check : {FileCheck::size, FileCheck::content}) {
    EXPECT_EQ(difference(file, sum_of("0123456789"), check), "none");
    EXPECT_EQ(difference(file, sum_of("012345"), check), "has 10 bytes instead of 6 (can be read)");
    EXPECT_EQ(difference(folder.file("g"), sum_of("0"), check), "is missing");
    EXPECT_EQ(difference(folder.path().string(), sum_of("0"), check), "is no regular file");
    EXPECT_EQ(difference(file + "/f", sum_of("0"), check), "is missing");
  }
  EXPECT_EQ(difference(file, sum_of("0123456780"), FileCheck::size), "none");
  EXPECT_EQ(difference(file, sum_of("0123456780"), FileCheck::content),
            fmt::format("has the checksum {:08x} instead of {:08x} of its 10 bytes (can be read)",
                        crc32c("0123456789"), crc32c("0123456780")));
}

TEST(FileSum, OfAnotherSizeIsNotRead) {
  const TemporaryFolder folder;
  const std::string file = folder.write("f", "0123456789");
  std::stop_source stopped;
  stopped.request_stop();
  const FileSum shorter = sum_of("012345");
  EXPECT_TRUE(compare_file(file, shorter, FileCheck::content, stopped.get_token()));
}

TEST(FileSum, EndsWithAStop) {
  const TemporaryFolder folder;
  const std::string file = folder.write("f", "0123456789");
  std::stop_source stopped;
  stopped.request_stop();
  const std::stop_token stop = stopped.get_token();
  EXPECT_EQ(error_of([&] { sum_file(file, stop); }).code(), ErrorCode::cancelled);
  EXPECT_EQ(
      error_of([&] { compare_file(file, sum_of("0123456780"), FileCheck::content, stop); }).code(),
      ErrorCode::cancelled);
}

}  // namespace
}  // namespace infeed
