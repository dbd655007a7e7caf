#include <cstdint>
#include <fstream>
#include <gtest/gtest.h>
#include <memory>
#include <string>
#include <vector>

#include <infeed/records/detail/mapped_files.h>
#include <infeed/records/record_reader.h>

#include "records/temporary_files.h"
#include "records/tfrecord/framed.h"
#include "seeded_random.h"

// That whole files are the same under each policy for damage is tested with the parallel reader.
namespace infeed {
namespace {

class MappedReader : public ::testing::Test {
 protected:
  std::string write(int records, std::size_t bytes_max) {
    std::string framed;
    for (int i = 0; i < records; ++i)
      framed += test::frame(test::random_bytes(random_, random_() % (bytes_max + 1)));
    return folder_.write("data", framed);
  }
  std::shared_ptr<const detail::MappedFile> mapping(const std::string& file) {
    const File opened = File::open_to_read(file);
    return files_->of(opened, opened.size_bytes().value_or(0));
  }

  test::SeededRandom random_;
  const TemporaryFolder folder_;
  std::shared_ptr<detail::MappedFiles> files_ = std::make_shared<detail::MappedFiles>();
};

bool lies_in(const detail::MappedFile& mapped, std::string_view bytes) {
  const char* const end = mapped.data() + mapped.size_bytes();
  return bytes.data() >= mapped.data() && bytes.data() + bytes.size() <= end;
}

TEST_F(MappedReader, ItsRecordsLieInTheMappingAndOutliveAllElse) {
  const std::string file = write(100, 300);
  std::vector<Record> records(100);
  {
    RecordReader reader(file, {.block_bytes = 1000, .mapped_files = files_});
    for (Record& record : records) {
      ASSERT_TRUE(reader.next(record));
      EXPECT_TRUE(lies_in(*mapping(file), record.bytes()));
    }
  }
  files_ = nullptr;
  RecordReader plain(file);
  for (const Record& record : records) {
    Record expected;
    ASSERT_TRUE(plain.next(expected));
    EXPECT_EQ(record.bytes(), expected.bytes());
    EXPECT_EQ(record.number(), expected.number());
    EXPECT_EQ(record.offset(), expected.offset());
    EXPECT_EQ(record.file(), file);
    EXPECT_FALSE(
        lies_in(*detail::MappedFile::map(File::open_to_read(file)), record.detached().bytes()));
  }
}

TEST_F(MappedReader, ReadsSkipsAndJumpsAsOneThatReads) {
  const std::string file = write(200, 2000);
  std::vector<RecordPosition> places;
  RecordReader whole(file);
  for (Record record; places.push_back(whole.position()), whole.next(record);) {
  }
  RecordReader plain(file);
  RecordReader mapped(file, {.block_bytes = 4096, .mapped_files = files_});
  for (int i = 0; i < 500; ++i) {
    switch (random_() % 3) {
      case 0: {
        const RecordPosition place = places[random_() % places.size()];
        plain.seek(place);
        mapped.seek(place);
        break;
      }
      case 1: {
        const std::uint64_t count = random_() % 50;
        ASSERT_EQ(mapped.skip(count), plain.skip(count));
        break;
      }
      default:
        for (std::uint64_t left = random_() % 20; left != 0; --left) {
          Record expected;
          Record record;
          ASSERT_EQ(mapped.next(record), plain.next(expected));
          ASSERT_EQ(record.bytes(), expected.bytes());
        }
    }
    ASSERT_EQ(mapped.position(), plain.position());
  }
}

TEST_F(MappedReader, ReadsOnWhereTheFileHasGrownSinceItWasMapped) {
  const std::string file = write(10, 300);
  RecordReader reader(file, {.mapped_files = files_});
  Record record;
  ASSERT_TRUE(reader.next(record));
  std::ofstream(file, std::ios::binary | std::ios::app) << test::frame("appended");
  for (int i = 1; i < 10; ++i) ASSERT_TRUE(reader.next(record));
  ASSERT_TRUE(reader.next(record));
  EXPECT_EQ(record.bytes(), "appended");
  EXPECT_EQ(record.number(), 10U);
  EXPECT_FALSE(reader.next(record));
}

TEST_F(MappedReader, EmptyFilesHaveNoRecords) {
  RecordReader reader(folder_.write("empty", ""), {.mapped_files = files_});
  Record record;
  EXPECT_FALSE(reader.next(record));
}

}  // namespace
}  // namespace infeed
