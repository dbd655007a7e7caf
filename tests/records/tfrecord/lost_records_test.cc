#include <gtest/gtest.h>

#include <infeed/records/lost_records.h>
#include <infeed/records/record_index.h>
#include <infeed/records/record_writer.h>

#include "records/temporary_files.h"

namespace infeed {
namespace {

/// 100 records of 84 bytes, framing included.
constexpr std::uint64_t kRecordBytes = 84;
std::string write_hundred(const TemporaryFolder& folder, RecordWriterOptions options = {}) {
  options.existing = ExistingFile::replace;
  RecordWriter writer(folder.file("r"), options);
  for (int i = 0; i < 100; ++i) writer.write(std::string(kRecordBytes - 16, 'x'));
  writer.close();
  return folder.file("r");
}

Lost rest(const std::string& file, Compression compression, std::uint64_t record) {
  const RecordReader reader(file);
  return count_rest(file, compression, reader.file_bytes(), {record, kRecordBytes * record});
}

TEST(LostRecords, an_error_says_them) {
  const auto text = [](Lost lost) {
    return std::string(Error(ErrorCode::data_loss, "cut").at_record(3).losing(lost).what());
  };
  EXPECT_EQ(text({.records = 249, .bytes = 5976}),
            "data_loss: cut [record 3, lost with it 249 records (5976 bytes)]");
  EXPECT_EQ(text({.records = 1}), "data_loss: cut [record 3, lost with it 1 record]");
  EXPECT_EQ(text({.bytes = 1}), "data_loss: cut [record 3, lost with it 1 byte]");
  EXPECT_EQ(text({}), "data_loss: cut [record 3, lost with it an unknown number of records]");
  EXPECT_EQ(Error(ErrorCode::data_loss, "cut").lost(), std::nullopt);
}

TEST(LostRecords, without_an_index_are_bytes) {
  const TemporaryFolder folder;
  const std::string file = write_hundred(folder);
  EXPECT_EQ(rest(file, Compression::none, 40), (Lost{.bytes = 60 * kRecordBytes}));
  EXPECT_EQ(count_records_between(file, 100 * kRecordBytes, 0, 84), std::nullopt);
}

TEST(LostRecords, by_the_index_beside_the_file) {
  const TemporaryFolder folder;
  const std::string file = write_hundred(folder);
  write_index(index_records(file), file + ".index");
  for (const std::uint64_t record : {0, 1, 40, 99}) {
    EXPECT_EQ(rest(file, Compression::none, record),
              (Lost{.records = 99 - record, .bytes = (100 - record) * kRecordBytes}));
  }
  constexpr std::uint64_t kBytes = 100 * kRecordBytes;
  EXPECT_EQ(count_records_between(file, kBytes, 84, 84 * 3), 2U);
  EXPECT_EQ(count_records_between(file, kBytes, 84, 84 * 3 + 1), 3U) << "one more begins there";
  EXPECT_EQ(count_records_between(file, kBytes, 85, 84 * 3), std::nullopt) << "no record begins";
}

TEST(LostRecords, at_the_end_are_none) {
  const TemporaryFolder folder;
  const std::string file = write_hundred(folder);
  write_index(index_records(file), file + ".index");
  EXPECT_EQ(rest(file, Compression::none, 100), (Lost{.bytes = 0}));
  EXPECT_EQ(rest(file, Compression::none, 101), Lost{});
  EXPECT_EQ(count_rest(file, Compression::none, std::nullopt, {0, 0}), Lost{});
  const std::string packed = write_hundred(folder, {.compression = Compression::lz4});
  EXPECT_EQ(rest(packed, Compression::lz4, 99), (Lost{.records = 0, .bytes = kRecordBytes}));
  EXPECT_EQ(rest(packed, Compression::lz4, 100), Lost{});
  const RecordPosition beyond{99, 101 * kRecordBytes};
  EXPECT_EQ(count_rest(packed, Compression::lz4, std::nullopt, beyond), Lost{});
  EXPECT_EQ(rest(packed, Compression::zlib, 40), Lost{}) << "nothing says them";
}

TEST(LostRecords, an_index_of_another_file_is_not_believed) {
  const TemporaryFolder folder;
  const std::string file = write_hundred(folder);
  RecordIndex index = index_records(file);
  index.offsets.back() += 1;
  write_index(index, file + ".index");
  EXPECT_EQ(rest(file, Compression::none, 40).records, std::nullopt);
  for (const std::string& rubbish : {std::string("rubbish"), std::string(100, '\xff')}) {
    folder.write("r.index", rubbish);
    EXPECT_EQ(rest(file, Compression::none, 40).records, std::nullopt);
  }
}

TEST(LostRecords, of_compressed_files_where_they_say_it_themselves) {
  const TemporaryFolder folder;
  const Lost expected{.records = 59, .bytes = 60 * kRecordBytes};
  EXPECT_EQ(rest(write_hundred(folder, {.compression = Compression::lz4}), Compression::lz4, 40),
            expected);
  EXPECT_EQ(rest(write_hundred(folder, {.compression = Compression::gzip}), Compression::gzip, 40),
            Lost{});
  const std::string points =
      write_hundred(folder, {.compression = Compression::gzip, .flush_point_bytes = 1000});
  EXPECT_EQ(rest(points, Compression::gzip, 40), expected);
}

}  // namespace
}  // namespace infeed
