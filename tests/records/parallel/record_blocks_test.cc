#include "infeed/records/detail/record_blocks.h"

#include <algorithm>
#include <filesystem>
#include <new>
#include <string>
#include <vector>

#include "infeed/records/record_reader.h"
#include "infeed/records/record_writer.h"
#include "matchers.h"
#include "records/temporary_files.h"
#include "seeded_random.h"

namespace infeed::detail {
namespace {

struct Found {
  std::vector<std::string> payloads;
  std::vector<std::uint64_t> offsets;
  RecordPosition next;
  bool ended_well = true;
  std::size_t blocks = 0;
};

/// Reads as several threads would: some blocks are claimed and read, in any order, before one is
/// framed.
Found read_blocks(const std::shared_ptr<BlockFile>& file, std::mt19937_64& random) {
  Found found;
  while (found.ended_well) {
    std::vector<RecordBlock> blocks(1 + random() % 3);
    const auto unclaimed = std::find_if(blocks.begin(), blocks.end(),
                                        [&](RecordBlock& block) { return !file->claim(block); });
    blocks.erase(unclaimed, blocks.end());
    if (blocks.empty()) break;
    std::vector<std::size_t> order;
    for (std::size_t i = 0; i < blocks.size(); ++i) order.push_back(i);
    std::shuffle(order.begin(), order.end(), random);
    for (const std::size_t i : order) file->read(blocks[i]);
    for (RecordBlock& block : blocks) {
      found.ended_well = file->frame(block);
      ++found.blocks;
      const bool is_whole = file->complete(block);
      for (std::size_t i = 0; i < block.size(); ++i) {
        if ((i + 1 == block.size() && !is_whole) || !block.is_valid(i)) {
          found.ended_well = false;
          found.next = block.position(i);
          return found;
        }
        EXPECT_EQ(block.position(i).record, found.payloads.size());
        found.payloads.emplace_back(block.bytes(i));
        found.offsets.push_back(block.position(i).offset);
      }
      found.next = file->next();
      if (!found.ended_well) break;
    }
  }
  return found;
}

/// Returns the records before the end, or before the first error.
Found read_records(const std::string& file) {
  Found found;
  RecordReader reader(file);
  try {
    for (Record record; reader.next(record);) {
      found.payloads.emplace_back(record.bytes());
      found.offsets.push_back(*record.offset() - 12);
    }
  } catch (const Error&) {
    found.ended_well = false;
  }
  found.next = reader.position();
  return found;
}

class RecordBlocks : public ::testing::Test {
 protected:
  void write(const RecordWriterOptions& options, std::size_t records, std::size_t bytes_max) {
    std::filesystem::remove(file_ + ".points");
    RecordWriterOptions replacing = options;
    replacing.existing = ExistingFile::replace;
    RecordWriter writer(file_, replacing);
    for (std::size_t i = 0; i < records; ++i) {
      writer.write(test::random_bytes(random_, random_() % (bytes_max + 1)));
    }
    writer.close();
  }
  std::shared_ptr<BlockFile> open(Compression compression, BlockFileOptions options = {}) const {
    options.compression = compression;
    options.block_bytes = 4096;
    return open_block_file(file_, {}, options);
  }

  test::SeededRandom random_;
  const TemporaryFolder folder_;
  const std::string file_ = folder_.file("data");
  const std::vector<RecordWriterOptions> options_ = {
      {},
      {.compression = Compression::gzip},
      {.compression = Compression::zlib},
      {.compression = Compression::lz4},
      {.compression = Compression::gzip, .flush_point_bytes = 5000},
      {.compression = Compression::gzip, .flush_point_bytes = 1}};
};

TEST_F(RecordBlocks, hold_what_a_reader_gives) {
  for (const RecordWriterOptions& options : options_) {
    // Many to a block, some larger than a block, and none at all.
    for (const auto& [records, bytes_max] : std::vector<std::pair<std::size_t, std::size_t>>{
             {10'000, 100}, {300, 30'000}, {1, 10}, {0, 0}}) {
      SCOPED_TRACE(std::string(to_string(options.compression)) + " " + std::to_string(records));
      write(options, records, bytes_max);
      const Found expected = read_records(file_);
      const Found found = read_blocks(open(options.compression), random_);
      EXPECT_TRUE(found.ended_well);
      ASSERT_EQ(found.payloads, expected.payloads);
      EXPECT_EQ(found.offsets, expected.offsets);
      EXPECT_EQ(found.next, expected.next);
      if (records > 1) {
        EXPECT_GT(found.blocks, 1U);
      }
    }
  }
}

/// A file whose number of records is wrong, and one with more records behind its end.
TEST_F(RecordBlocks, end_before_what_is_wrong_at_the_end) {
  for (const RecordWriterOptions& options : options_) {
    SCOPED_TRACE(std::string(to_string(options.compression)));
    write(options, 300, 100);
    for (const std::uint64_t listed : {299, 301}) {
      const Found found = read_blocks(open(options.compression, {.records = listed}), random_);
      EXPECT_FALSE(found.ended_well);
      EXPECT_EQ(found.next.record, 300U);
    }
    EXPECT_TRUE(read_blocks(open(options.compression, {.records = 300}), random_).ended_well);
    folder_.write("data", read_whole(file_) + "more");
    if (options.compression == Compression::lz4) continue;  // its end mark ends it
    EXPECT_FALSE(read_blocks(open(options.compression), random_).ended_well);
  }
}

/// Whatever happens to the bytes, blocks give the first records of a reader, and end well only
/// where it does.
TEST_F(RecordBlocks, of_damaged_files) {
  for (int round = 0; round < 400; ++round) {
    const RecordWriterOptions& options = options_[random_() % options_.size()];
    write(options, 40, round % 2 == 0 ? 100 : 3000);
    const std::string name =
        random_() % 8 == 0 && options.flush_point_bytes != 0 ? file_ + ".points" : file_;
    std::string bytes = read_whole(name);
    if (random_() % 4 == 0) {
      bytes.resize(random_() % (bytes.size() + 1));
    } else {
      bytes[random_() % bytes.size()] ^= static_cast<char>(1 << random_() % 8);
    }
    folder_.write(name.substr(file_.size() - 4), bytes);
    SCOPED_TRACE(std::string(to_string(options.compression)) + " round " + std::to_string(round));
    Compression compression{};
    Found expected;
    try {
      compression = RecordReader(file_).compression();
      expected = read_records(file_);
    } catch (const Error&) {
      continue;  // not even its kind is known
    }
    const Found found = read_blocks(open(compression), random_);
    ASSERT_LE(found.payloads.size(), expected.payloads.size());
    ASSERT_TRUE(
        std::equal(found.payloads.begin(), found.payloads.end(), expected.payloads.begin()));
    if (found.ended_well) {
      ASSERT_TRUE(expected.ended_well);
      ASSERT_EQ(found.payloads.size(), expected.payloads.size());
    }
  }
}

/// If all records are equally long, a block's end is predicted; records longer than the largest
/// block allow no prediction.
TEST_F(RecordBlocks, of_long_records_of_one_length) {
  for (const std::size_t bytes : {100'000, 5'000'000}) {
    {
      RecordWriter writer(file_, {.existing = ExistingFile::replace});
      for (char c = 'a'; c < 'm'; ++c) writer.write(std::string(bytes, c));
      writer.close();
    }
    const Found expected = read_records(file_);
    const Found found =
        read_blocks(open_block_file(file_, {}, {.compression = Compression::none}), random_);
    EXPECT_TRUE(found.ended_well);
    EXPECT_TRUE(found.payloads == expected.payloads) << bytes;
    EXPECT_EQ(found.offsets, expected.offsets);
  }
}

/// Long records are used where they lie in the page cache, with the same outcome. This includes a
/// record that isn't whole in a block, one longer than a block, and the end of the file.
TEST_F(RecordBlocks, of_mapped_files) {
  for (int round = 0; round < 8; ++round) {
    write({}, 20, 300'000);
    if (round % 4 != 0) {
      std::string bytes = read_whole(file_);
      if (round % 4 == 1) bytes.resize(random_() % (bytes.size() + 1));
      if (round % 4 == 2) bytes[random_() % bytes.size()] ^= static_cast<char>(1 << random_() % 8);
      if (round % 4 == 3) bytes += "more";
      folder_.write("data", bytes);
    }
    const Found expected = read_blocks(open(Compression::none), random_);
    const BlockFileOptions options{.mapped_files = std::make_shared<MappedFiles>()};
    for (int pass = 0; pass < 2; ++pass) {
      const Found found = read_blocks(open(Compression::none, options), random_);
      ASSERT_EQ(found.payloads, expected.payloads) << "round " << round;
      EXPECT_EQ(found.offsets, expected.offsets);
      EXPECT_EQ(found.next, expected.next);
      EXPECT_EQ(found.ended_well, expected.ended_well);
    }
  }
}

/// A record's memory stays as long as the record, and a shortened file ends the blocks.
TEST_F(RecordBlocks, of_a_mapped_file_that_changes) {
  std::string payload;
  {
    RecordWriter writer(file_, {});
    payload = test::random_bytes(random_, 100'000);
    for (int i = 0; i < 20; ++i) writer.write(payload);
    writer.close();
  }
  const auto mapped_files = std::make_shared<MappedFiles>();
  auto file = open(Compression::none, {.mapped_files = mapped_files});
  Record kept;
  RecordBlock block;
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(file->claim(block));
    file->read(block);
    ASSERT_TRUE(file->frame(block));
    ASSERT_TRUE(file->complete(block));
    ASSERT_NE(block.size(), 0U);
    // The first block showed the records' length; the others take no memory.
    EXPECT_EQ(block.memory_bytes() == 0, i != 0);
    Record borrowed = block.borrowed(0);
    kept = borrowed;
    ::new (static_cast<void*>(&borrowed)) Record();  // forgotten without being destroyed
  }
  std::filesystem::resize_file(file_, 1'500'000);
  ASSERT_TRUE(file->claim(block));
  file->read(block);
  EXPECT_FALSE(file->frame(block));

  block = {};
  file = nullptr;
  std::filesystem::remove(file_);
  EXPECT_EQ(kept.bytes(), payload);
  EXPECT_EQ(kept.detached().bytes(), payload);
}

/// The fewer records are cut by the end of a block, the fewer bytes are read twice.
TEST_F(RecordBlocks, end_at_pages_where_few_records_are_cut) {
  const auto ends = [&](std::size_t record_bytes, std::size_t block_bytes,
                        std::size_t large_block_bytes, std::size_t blocks) {
    {
      RecordWriter writer(file_, {.existing = ExistingFile::replace});
      for (int i = 0; i < 40; ++i) writer.write(std::string(record_bytes - 16, 'x'));
      writer.close();
    }
    const auto file = open_block_file(file_, {},
                                      {.compression = Compression::none,
                                       .block_bytes = block_bytes,
                                       .large_block_bytes = large_block_bytes});
    std::vector<std::uint64_t> found;
    RecordBlock block;
    for (std::size_t i = 0; i < blocks && file->claim(block); ++i) {
      found.push_back(block.end());
      file->read(block);
      EXPECT_TRUE(file->frame(block));
    }
    return found;
  };
  // Nothing is known of the records in the first block. Later ones begin behind a whole record.
  EXPECT_THAT(ends(1016, 10'000, 1 << 20, 3), ElementsAre(8192, 16'384, 24'576));
  // Room for four records, as far as large blocks go.
  EXPECT_THAT(ends(3016, 4096, 1 << 20, 2), ElementsAre(4096, 16'384));
  EXPECT_THAT(ends(3016, 4096, 8000, 2), ElementsAre(4096, 12'288));
  // Long records of one length: the end of the last whole one is foretold.
  EXPECT_THAT(ends(20'016, 4096, 1 << 20, 2), ElementsAre(4096, 98'304));
  EXPECT_THAT(ends(20'016, 4096, 4096, 2), ElementsAre(4096, 20'480)) << "none fits";
  EXPECT_THAT(ends(16'396, 4096, 1 << 20, 2), ElementsAre(4096, 77'824)) << "just long enough";
  EXPECT_THAT(ends(16'394, 4096, 1 << 20, 2), ElementsAre(4096, 81'920)) << "too short by a byte";
}

}  // namespace
}  // namespace infeed::detail
