#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <infeed/infeed.h>
#include <infeed/records/file.h>

#include "pipeline/suite/stage_suite.h"
#include "records/temporary_files.h"
#include "records/tfrecord/framed.h"
#include "thrown_error.h"

namespace infeed::test {
namespace {

class FixedLengthRecords : public ::testing::Test {
 protected:
  /// Records of 20 bytes that begin with their number, behind 3 bytes and in front of 5.
  static std::string content(std::int64_t first, int count) {
    std::string text = "abc";
    for (std::int64_t i = first; i < first + count; ++i) text += fmt::format("{:<20}", i);
    return text + "vwxyz";
  }
  static std::int64_t number_of(const Record& record) {
    return std::stoll(std::string(record.bytes()));
  }
  Dataset<Record> records(const std::string& pattern) const {
    return fixed_length_records(folder_.file(pattern), 20, {.header_bytes = 3, .footer_bytes = 5});
  }
  Dataset<std::int64_t> values(const std::string& pattern) const {
    return records(pattern) | map([](const Record& record) { return number_of(record); });
  }

  const TemporaryFolder folder_;
};

TEST_F(FixedLengthRecords, PassTheSuite) {
  std::vector<std::int64_t> expected(300);
  for (int i = 0; i < 300; ++i) expected[i] = i;
  for (int f = 0; f < 3; ++f) folder_.write(fmt::format("{}.bin", f), content(100 * f, 100));
  EXPECT_EQ(records("*.bin").cardinality(), Cardinality::finite(300));
  run_source_suite([&] { return values("*.bin"); }, numbers(expected));
  folder_.write("1.bin", gzip(content(100, 100)));
  EXPECT_EQ(records("*.bin").cardinality(), Cardinality::unknown());
  run_source_suite([&] { return values("*.bin"); }, numbers(expected));
}

TEST_F(FixedLengthRecords, PassTheSuiteWithErrors) {
  folder_.write("0.bin", content(0, 40));
  folder_.write("1.bin", content(40, 40) + "!");
  folder_.write("2.bin", gzip(content(80, 40).substr(0, 700)));
  folder_.write("3.bin", content(120, 40));
  const Stream all = stream_of(values("*.bin"));
  EXPECT_EQ(all.size(), 40 + 1 + 34 + 1 + 40);
  run_source_suite([&] { return values("*.bin"); }, all);
  run_source_suite([&] { return values("*.bin") | skip_errors(); },
                   stream_of(values("*.bin") | skip_errors()));
}

TEST_F(FixedLengthRecords, KnowTheirPlaces) {
  const std::string file = folder_.write("a.bin", content(7, 5));
  auto iterator = records("a.bin").iterate();
  iterator.next();
  const auto second = iterator.next();
  EXPECT_EQ(second->file(), file);
  EXPECT_EQ(second->number(), 1);
  EXPECT_EQ(second->offset(), 23);
  EXPECT_EQ(second->size(), 20);
}

TEST_F(FixedLengthRecords, LargeOnesAreSoughtAndRead) {
  std::string bytes;
  for (int i = 0; i < 5; ++i) bytes += std::string(700'000, static_cast<char>('a' + i));
  const auto dataset = fixed_length_records({folder_.write("l.bin", bytes)}, 700'000);
  auto iterator = dataset.iterate();
  for (int i = 0; i < 3; ++i) iterator.next();
  auto resumed = dataset.iterate({.resume = iterator.checkpoint()});
  const auto fourth = resumed.next();
  EXPECT_EQ(fourth->bytes(), std::string(700'000, 'd'));
  EXPECT_EQ(fourth->number(), 3);
  EXPECT_EQ(stream_of(fixed_length_records({folder_.write("e.bin", "")}, 9) |
                      map([](const Record&) { return 1; })),
            Stream());
}

TEST_F(FixedLengthRecords, SayWhatDoesNotFit) {
  const std::string file = folder_.write("a.bin", content(0, 2) + "1234");
  const Error error = error_of([&] { records("a.bin").iterate().next(); });
  EXPECT_EQ(error.code(), ErrorCode::data_loss);
  EXPECT_EQ(error.file(), file);
  EXPECT_THAT(error.message(),
              HasSubstr("the file has 52 bytes, which are not a header of 3 bytes, a footer of 5 "
                        "bytes, records of 20 bytes (4 bytes are left over)"));
  folder_.write("b.bin", gzip(content(0, 2) + "1234"));
  auto packed = records("b.bin").iterate();
  EXPECT_EQ(number_of(*packed.next()), 0);
  EXPECT_EQ(number_of(*packed.next()), 1);
  EXPECT_THAT(error_of([&] { packed.next(); }).message(),
              HasSubstr("the file has 52 bytes when it is decompressed"));
  EXPECT_FALSE(packed.next());
  EXPECT_EQ(records("?.bin").cardinality(), Cardinality::unknown());
  EXPECT_THAT(error_of([&] { fixed_length_records({file}, 0); }).message(),
              HasSubstr("record_bytes is 0"));
  EXPECT_THAT(error_of([&] { fixed_length_records({file}, 1, {.header_bytes = -2}); }).message(),
              HasSubstr("header_bytes"));
  EXPECT_EQ(error_of([&] { records("gone-*.bin"); }).code(), ErrorCode::not_found);
}

/// The sum of five files with holes, 2^62 bytes each, began again at 0.
TEST_F(FixedLengthRecords, BeyondAllThatCanBeCountedAreInfinite) {
  const File large(::memfd_create("large", MFD_CLOEXEC), "large");
  ASSERT_EQ(::ftruncate(large.descriptor(), off_t{1} << 62), 0);
  const std::string file = fmt::format("/proc/self/fd/{}", large.descriptor());
  EXPECT_EQ(fixed_length_records(std::vector(3, file), 1).cardinality(),
            Cardinality::finite(std::uint64_t{3} << 62));
  EXPECT_EQ(fixed_length_records(std::vector(5, file), 1).cardinality(), Cardinality::infinite());
}

TEST_F(FixedLengthRecords, ThatBeginLikeZlibAreTakenAsTheyAre) {
  const std::string file = folder_.write("z.bin", "\x78\x9c--");
  EXPECT_EQ(fixed_length_records({file}, 2).cardinality(), Cardinality::finite(2));
  EXPECT_EQ(fixed_length_records({file}, 2).iterate().next()->bytes(), "\x78\x9c");
}

}  // namespace
}  // namespace infeed::test
