#include <fmt/format.h>
#include <gtest/gtest.h>

#include <infeed/records/parallel_record_reader.h>
#include <infeed/records/record.h>
#include <infeed/records/spare_blocks.h>

#include "records/temporary_files.h"
#include "records/tfrecord/framed.h"

namespace infeed {
namespace {

constexpr std::size_t kBytesReadAtOnce = 4096;
// A block has room for the rest of a record that ends behind the bytes read at once.
constexpr std::size_t kBlockBytes = 2 * kBytesReadAtOnce;

/// Makes a payload of 78 bytes: with it the file's last block is nearly as large as the others.
std::string payload_of(int number) { return fmt::format("{:078}", number); }

ParallelRecordReaderOptions options_with(std::shared_ptr<SpareBlocks> spare) {
  return {.reader = {.block_bytes = kBytesReadAtOnce},
          .threads = 2,
          .read_ahead_bytes = 16 * kBlockBytes,
          .spare_blocks = std::move(spare)};
}

std::vector<detail::Block*> take_all(SpareBlocks& spare) {
  std::vector<detail::Block*> blocks;
  while (detail::Block* const block = spare.take(1)) blocks.push_back(block);
  return blocks;
}

std::size_t bytes_of(const std::vector<detail::Block*>& blocks) {
  std::size_t bytes = 0;
  for (const detail::Block* block : blocks) bytes += block->capacity_bytes;
  return bytes;
}

class SpareBlocksTest : public ::testing::Test {
 protected:
  SpareBlocksTest() {
    std::vector<std::string> payloads;
    for (int i = 0; i < 2000; ++i) payloads.push_back(payload_of(i));
    file_ = folder_.write("x", test::frame(payloads));
  }

  /// Takes the last records and looks at all of them. Every record holds its block until the end.
  std::vector<Record> read(const std::shared_ptr<SpareBlocks>& spare) const {
    ParallelRecordReader reader(file_, options_with(spare));
    std::vector<Record> kept;
    int number = 0;
    for (Record record; reader.next(record); ++number) {
      EXPECT_EQ(record.bytes(), payload_of(number));
      EXPECT_EQ(record.file(), file_);
      kept.push_back(record);
    }
    EXPECT_EQ(number, 2000);
    kept.erase(kept.begin(), kept.end() - 10);
    return kept;
  }

  const TemporaryFolder folder_;
  std::string file_;
};

TEST_F(SpareBlocksTest, go_from_reader_to_reader) {
  const auto spare = std::make_shared<SpareBlocks>(64 * kBlockBytes);
  EXPECT_EQ(spare->take(1), nullptr);
  read(spare);
  const std::vector<detail::Block*> blocks = take_all(*spare);
  ASSERT_FALSE(blocks.empty());
  for (detail::Block* block : blocks) EXPECT_TRUE(spare->keep(block));
  // Those that are too small for where the next reader's threads cut the file stay.
  std::vector<Record> records;
  ParallelRecordReader reader(file_, options_with(spare));
  for (Record record; reader.next(record);) records.push_back(record);
  const std::vector<detail::Block*> unused = take_all(*spare);
  EXPECT_LT(unused.size(), blocks.size());
  for (detail::Block* block : unused) EXPECT_TRUE(spare->keep(block));
}

TEST_F(SpareBlocksTest, are_limited) {
  const auto spare = std::make_shared<SpareBlocks>(9 * kBlockBytes);
  for (int i = 0; i < 3; ++i) read(spare);
  const std::vector<detail::Block*> blocks = take_all(*spare);
  EXPECT_LE(bytes_of(blocks), 9 * kBlockBytes);
  EXPECT_GE(bytes_of(blocks), 8 * kBlockBytes);
  for (detail::Block* block : blocks) EXPECT_TRUE(spare->keep(block));
  // None is larger than an eighth of all, but for the bytes that a window puts in front.
  const auto exact = std::make_shared<SpareBlocks>(8 * kBlockBytes);
  read(exact);
  const std::vector<detail::Block*> kept = take_all(*exact);
  EXPECT_GE(bytes_of(kept), 7 * kBlockBytes);
  for (detail::Block* block : kept) EXPECT_TRUE(exact->keep(block));
  const auto small = std::make_shared<SpareBlocks>(7 * kBlockBytes);
  read(small);
  EXPECT_EQ(small->take(1), nullptr);
}

TEST_F(SpareBlocksTest, records_outlive_reader_and_spare) {
  std::vector<Record> kept = read(std::make_shared<SpareBlocks>(64 * kBlockBytes));
  ASSERT_EQ(kept.size(), 10);
  EXPECT_EQ(kept.front().bytes(), payload_of(1990));
  EXPECT_EQ(kept.front().file(), file_);
}

}  // namespace
}  // namespace infeed
