#include "infeed/records/file_sum.h"

#include <cerrno>
#include <fmt/format.h>
#include <sys/resource.h>
#include <system_error>

#include <infeed/records/crc32c.h>

#include "records/temporary_files.h"
#include "thrown_error.h"

namespace infeed {
namespace {

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

TEST(FileSum, OfWhatIsNoRegularFileIsRefused) {
  EXPECT_EQ(error_of([] { sum_file("/dev/null"); }).message(),
            "this is no regular file (a device), which is not read here");
}

TEST(FileSum, ADifferenceSaysWhyNothingIsKnown) {
  const TemporaryFolder folder;
  EXPECT_EQ(difference(folder.file(std::string(300, 'x')), sum_of("0"), FileCheck::size),
            "can't be looked at: " + std::generic_category().message(ENAMETOOLONG));
  const std::string file = folder.write("f", "0123456789");
  rlimit open_files{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &open_files), 0);
  const rlimit none{0, open_files.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  const std::string found = difference(file, sum_of("0123456780"), FileCheck::content);
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &open_files), 0);
  EXPECT_THAT(found, StartsWith("can't be read: cannot open: too many open files"));
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
