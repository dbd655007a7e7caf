#include "infeed/records/fixed_length.h"

#include <filesystem>
#include <fmt/format.h>
#include <string>
#include <vector>

#include "records/temporary_files.h"
#include "records/tfrecord/framed.h"
#include "thrown_error.h"

namespace infeed::test {
namespace {

constexpr std::size_t kFixedBytes = 10;

std::string fixed_record(std::uint64_t number) { return fmt::format("{:010}", number); }

/// Returns a file of so many records between a header and a footer of so many bytes.
std::string fixed_file(std::uint64_t records, std::size_t header = 0, std::size_t footer = 0) {
  std::string bytes(header, 'h');
  for (std::uint64_t i = 0; i < records; ++i) bytes += fixed_record(i);
  return bytes + std::string(footer, 'f');
}

class FixedLength : public ::testing::Test {
 protected:
  /// Reads records in steps and expects them to be those from `first` on. Returns how many come.
  std::uint64_t read_on(FixedLengthReader& reader, std::uint64_t first, std::size_t header = 0) {
    std::vector<Record> some(7);
    std::uint64_t number = first;
    while (const std::size_t got = reader.read(some)) {
      EXPECT_EQ(some[0].number(), number);
      EXPECT_EQ(some[0].offset(), header + number * kFixedBytes);
      EXPECT_EQ(some[0].file(), folder_.file("x"));
      for (std::size_t i = 0; i < got; ++i, ++number) {
        EXPECT_EQ(some[i].bytes(), fixed_record(number));
      }
    }
    return number - first;
  }
  FixedLengthReader open(const std::string& bytes, std::int64_t header = 0,
                         std::int64_t footer = 0) const {
    return {folder_.write("x", bytes),
            {.record_bytes = kFixedBytes, .header_bytes = header, .footer_bytes = footer}};
  }
  /// Reads to the error at the end, behind which there is nothing more.
  Error refusal(FixedLengthReader reader, std::uint64_t records_before = 0) {
    std::vector<Record> some(7);
    std::uint64_t before = 0;
    const Error error = error_of([&] {
      while (const std::size_t got = reader.read(some)) before += got;
    });
    EXPECT_EQ(before, records_before);
    EXPECT_EQ(error.code(), ErrorCode::data_loss);
    EXPECT_EQ(error.file(), folder_.file("x"));
    EXPECT_EQ(reader.read(some), 0U);
    EXPECT_EQ(reader.skip(1), 0U);
    return error;
  }

  const TemporaryFolder folder_;
};

TEST_F(FixedLength, RecordsLieBetweenHeaderAndFooter) {
  struct Frame {
    std::size_t header;
    std::size_t footer;
  };
  for (const auto& [header, footer] : {Frame{0, 0}, {3, 2}, {0, 10}, {25, 0}, {10, 35}}) {
    for (const std::uint64_t records : {0, 1, 7, 8, 30'000}) {
      SCOPED_TRACE(fmt::format("{} records, {} and {} bytes around them", records, header, footer));
      const std::string bytes = fixed_file(records, header, footer);
      for (const std::string& stored : {bytes, gzip(bytes)}) {
        const auto head = static_cast<std::int64_t>(header);
        const auto foot = static_cast<std::int64_t>(footer);
        FixedLengthReader reader = open(stored, head, foot);
        EXPECT_EQ(read_on(reader, 0, header), records);
        FixedLengthReader skipping = open(stored, head, foot);
        EXPECT_EQ(skipping.skip(0), 0U);
        const std::uint64_t some = records / 2;
        EXPECT_EQ(skipping.skip(some), some);
        EXPECT_EQ(read_on(skipping, some, header), records - some);
        EXPECT_EQ(skipping.skip(1), 0U);
        FixedLengthReader far = open(stored, head, foot);
        const std::uint64_t most = records - records / 16;  // more than one block holds
        EXPECT_EQ(far.skip(most), most);
        EXPECT_EQ(read_on(far, most, header), records - most);
        EXPECT_EQ(open(stored, head, foot).skip(records + 1), records);
      }
    }
  }
}

TEST_F(FixedLength, ASizeThatDoesNotFitIsRefusedAtOnce) {
  const std::string advice =
      "; it is cut, or record_bytes, header_bytes or footer_bytes are those of another format";
  EXPECT_EQ(
      refusal(open(std::string(25, 'x'))).message(),
      "the file has 25 bytes, which are not records of 10 bytes (5 bytes are left over)" + advice);
  EXPECT_EQ(
      refusal(open(std::string(26, 'x'), 3)).message(),
      "the file has 26 bytes, which are not a header of 3 bytes, records of 10 bytes (3 bytes "
      "are left over)" +
          advice);
  const std::string framed = "a header of 3 bytes, a footer of 2 bytes, records of 10 bytes (";
  for (const auto& [bytes, left] : {std::pair(26, 1), std::pair(2, 0), std::pair(4, 0)}) {
    EXPECT_EQ(refusal(open(std::string(static_cast<std::size_t>(bytes), 'x'), 3, 2)).message(),
              fmt::format("the file has {} bytes, which are not {}{} bytes are left over){}", bytes,
                          framed, left, advice));
  }
  EXPECT_EQ(refusal(open("xxx", 1, 1)).message(),
            "the file has 3 bytes, which are not a header of 1 bytes, a footer of 1 bytes, records "
            "of 10 bytes (1 bytes are left over)" +
                advice);
  // 6 bytes too few: 2^64 - 6 is a multiple of 10.
  EXPECT_EQ(refusal(open("xxxx", 3, 7)).message(),
            "the file has 4 bytes, which are not a header of 3 bytes, a footer of 7 bytes, records "
            "of 10 bytes (0 bytes are left over)" +
                advice);
  EXPECT_EQ(refusal(open("xx", 8)).message(),
            "the file has 2 bytes, which are not a header of 8 bytes, records of 10 bytes (0 bytes "
            "are left over)" +
                advice);
  EXPECT_EQ(open("xx", 8).skip(0), 0U) << "which looks at nothing";
}

TEST_F(FixedLength, ASizeThatDoesNotFitShowsAtTheEndOfACompressedFile) {
  const auto misfit = [](std::size_t bytes, std::size_t left) {
    return fmt::format(
        "the file has {} bytes when it is decompressed, which are not a header of 3 bytes, a "
        "footer "
        "of 2 bytes, records of 10 bytes ({} bytes are left over); it is cut, or record_bytes, "
        "header_bytes or footer_bytes are those of another format",
        bytes, left);
  };
  EXPECT_EQ(refusal(open(gzip(fixed_file(2, 3, 3)), 3, 2), 2).message(), misfit(26, 1));
  EXPECT_EQ(refusal(open(gzip(fixed_file(2, 3, 1)), 3, 2), 1).message(), misfit(24, 9));
  EXPECT_EQ(refusal(open(gzip("hh"), 3, 2)).message(), misfit(2, 0));
  EXPECT_EQ(refusal(open(gzip("hhhf"), 3, 2)).message(), misfit(4, 0));
  // A skip gives the records before it.
  FixedLengthReader skipping = open(gzip(fixed_file(2, 3, 3)), 3, 2);
  EXPECT_EQ(skipping.skip(100), 2U);
  EXPECT_EQ(refusal(std::move(skipping)).message(), misfit(26, 1));
  FixedLengthReader one = open(gzip(fixed_file(1, 3, 3)), 3, 2);
  EXPECT_EQ(one.skip(100), 1U);
  EXPECT_EQ(refusal(std::move(one)).message(), misfit(16, 1));
  FixedLengthReader none = open(gzip("hh"), 3, 2);
  EXPECT_EQ(none.skip(0), 0U);
  EXPECT_EQ(error_of([&] { none.skip(100); }).message(), misfit(2, 0));
}

TEST_F(FixedLength, DamageOfACompressedFileComesBehindTheRecordsBeforeIt) {
  const std::string packed = gzip(fixed_file(100'000));
  FixedLengthReader reader = open(packed.substr(0, packed.size() / 2));
  const Error error = error_of([&] { read_on(reader, 0); });
  EXPECT_EQ(error.code(), ErrorCode::data_loss);
  EXPECT_THAT(error.message(), HasSubstr("the file ends inside it"));
  EXPECT_EQ(error.file(), folder_.file("x"));
  EXPECT_GT(error.offset(), 10'000U);
  FixedLengthReader skipping = open(packed.substr(0, packed.size() / 2));
  EXPECT_GT(skipping.skip(100'000), 1000U);
  EXPECT_EQ(error_of([&] { skipping.skip(1); }).message(), error.message());
}

TEST_F(FixedLength, AFileThatBecomesShorterIsAnError) {
  FixedLengthReader reader = open(fixed_file(100'000));
  std::vector<Record> one(1);
  ASSERT_EQ(reader.read(one), 1U);
  std::filesystem::resize_file(folder_.file("x"), 500'005);
  const Error error = refusal(std::move(reader), 49'999);
  EXPECT_EQ(error.message(), "the file became shorter while it was read");
  EXPECT_EQ(error.offset(), 500'005U);
}

TEST_F(FixedLength, RecordsAreCountedWhereTheFileNeedNotBeRead) {
  const auto count = [&](const std::string& bytes, std::int64_t header = 0,
                         Compression compression = Compression::automatic) {
    return count_fixed_length_records(
        folder_.write("x", bytes),
        {.record_bytes = kFixedBytes, .header_bytes = header, .compression = compression});
  };
  EXPECT_EQ(count(fixed_file(7)), 7U);
  EXPECT_EQ(count(fixed_file(7, 3), 3), 7U);
  EXPECT_EQ(count(""), 0U);
  EXPECT_EQ(count(fixed_file(7) + "x"), std::nullopt);
  EXPECT_EQ(count("xx", 3), std::nullopt);
  EXPECT_EQ(count(gzip(fixed_file(7))), std::nullopt);
  EXPECT_EQ(count(fixed_file(7), 0, Compression::gzip), std::nullopt);
  EXPECT_EQ(count("\x1f\x8b\x08" + std::string(7, 'x'), 0, Compression::none), 1U);
  EXPECT_EQ(count_fixed_length_records(folder_.file("none"), {.record_bytes = 1}), std::nullopt);
  EXPECT_EQ(count_fixed_length_records("https://host/x", {.record_bytes = 1}), std::nullopt);
}

TEST_F(FixedLength, RecordsHaveBytes) {
  const std::string file = folder_.write("x", "x");
  const auto refused = [&](const FixedLengthFormat& format) {
    const Error error = error_of([&] { FixedLengthReader(file, format); });
    EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
    return error.message();
  };
  EXPECT_EQ(refused({.record_bytes = 0}),
            "fixed_length_records: record_bytes is 0; give the bytes of one record");
  EXPECT_EQ(refused({.record_bytes = -1}),
            "fixed_length_records: record_bytes is -1; give 0 or more");
  EXPECT_EQ(refused({.record_bytes = 1, .header_bytes = -2}),
            "fixed_length_records: header_bytes is -2; give 0 or more");
  EXPECT_EQ(refused({.record_bytes = 1, .footer_bytes = -3}),
            "fixed_length_records: footer_bytes is -3; give 0 or more");
  EXPECT_THROW(count_fixed_length_records(file, {.record_bytes = 0}), Error);
}

}  // namespace
}  // namespace infeed::test
