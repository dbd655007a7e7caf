#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <optional>

#include <infeed/error.h>
#include <infeed/records/record_reader.h>
#include <infeed/records/record_writer.h>

#include "records/codec/lz4_framed.h"
#include "records/temporary_files.h"
#include "thrown_error.h"

namespace infeed {
namespace {

using test::error_of;
using test::frame;
using test::lz4_file;
using test::TemporaryFolder;
using ::testing::HasSubstr;
using Payloads = std::vector<std::string>;

struct Outcome {
  Payloads payloads;
  std::optional<Error> error;
  std::vector<DamagedRange> damaged;
};

Outcome read_all(const std::string& file, const RecordReaderOptions& options = {}) {
  Outcome outcome;
  RecordReader reader(file, options);
  Record record;
  try {
    while (reader.next(record)) outcome.payloads.emplace_back(record.bytes());
  } catch (const Error& error) {
    outcome.error = error;
  }
  outcome.damaged = reader.damaged();
  return outcome;
}

RecordReaderOptions skipping(std::size_t block_bytes = 1 << 18) {
  return {.damage = DamagePolicy::skip_and_resynchronise, .block_bytes = block_bytes};
}

/// Three blocks of two records.
const Payloads kSix = {std::string(50, 'a'), "b", std::string(60, 'c'), "",
                       std::string(70, 'e'), "f"};

struct Blocks {
  std::string file = lz4_file(
      {frame({kSix[0], kSix[1]}), frame({kSix[2], kSix[3]}), frame({kSix[4], kSix[5]})}, {2, 2, 2});
  std::vector<std::size_t> ends = {83, 83 + 92, 83 + 92 + 103};  // ends of the blocks in the stream
};

void write_records(const std::string& file, const Payloads& payloads, int level = 1) {
  RecordWriter writer(file, {.compression = Compression::lz4,
                             .compression_level = level,
                             .existing = ExistingFile::replace});
  for (const std::string& payload : payloads) writer.write(payload);
  writer.close();
}

TEST(Lz4, files_of_any_records_are_read_back) {
  const TemporaryFolder folder;
  const auto seed = test::test_seed();
  SCOPED_TRACE("INFEED_TEST_SEED=" + std::to_string(seed));
  std::mt19937_64 random(seed);
  Payloads mixed;
  for (int i = 0; i < 400; ++i) {
    const std::size_t size = random() % (i % 20 == 0 ? 900'000 : 2000);
    mixed.push_back(i % 3 == 0 ? test::random_bytes(random, size)
                               : std::string(size, static_cast<char>('a' + i % 26)));
  }
  const auto file = folder.file("x");
  for (const Payloads& payloads : {Payloads{}, Payloads{""}, kSix, mixed}) {
    for (const int level : {0, 1, 2, 3}) {
      if (level > 1 && payloads.size() > 100 && level != 2) continue;  // seconds
      write_records(file, payloads, level);
      for (const std::size_t block_bytes : {64, 262'144}) {
        const Outcome outcome = read_all(file, {.block_bytes = block_bytes});
        EXPECT_FALSE(outcome.error.has_value());
        EXPECT_EQ(outcome.payloads, payloads);
      }
      EXPECT_EQ(count_records(file), payloads.size());
    }
  }
  RecordReader reader(file);
  EXPECT_EQ(reader.compression(), Compression::lz4);
  Record record;
  ASSERT_TRUE(reader.next(record));
  ASSERT_TRUE(reader.next(record));
  EXPECT_EQ(record.number(), 1U);
  EXPECT_EQ(record.offset(), 16 + mixed[0].size() + 12) << "counts decompressed bytes";
}

TEST(Lz4, writes_what_the_format_says) {
  const TemporaryFolder folder;
  for (const Payloads& payloads : {Payloads{}, Payloads{"hello"}, kSix}) {
    write_records(folder.file("x"), payloads);
    const std::string stream = frame(payloads);
    const std::string by_hand =
        payloads.empty() ? lz4_file({}, {}) : lz4_file({stream}, {payloads.size()});
    EXPECT_EQ(test::read_whole(folder.file("x")), by_hand);
  }
}

TEST(Lz4, reads_files_made_by_hand) {
  const TemporaryFolder folder;
  const auto file = folder.write("x", Blocks().file);
  EXPECT_EQ(read_all(file).payloads, kSix);
  EXPECT_EQ(read_all(file, {.damage = DamagePolicy::stop_like_tensorflow}).payloads, kSix);
}

TEST(Lz4, every_bit_flip_is_reported_and_costs_a_block_at_most) {
  const TemporaryFolder folder(test::memory_folder());
  const Blocks good;
  std::size_t harmless = 0;
  for (std::size_t bit = 0; bit < good.file.size() * 8; ++bit) {
    SCOPED_TRACE("bit " + std::to_string(bit));
    std::string bytes = good.file;
    bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ (1 << (bit % 8)));
    const auto file = folder.write("x", bytes);
    const Outcome failed = read_all(file);
    const Outcome skipped = read_all(file, skipping(bit % 2 == 0 ? 64 : 1 << 18));
    EXPECT_FALSE(skipped.error.has_value());
    EXPECT_EQ(failed.error.has_value(), !skipped.damaged.empty());
    if (!failed.error) {  // another encoding of the same bytes
      EXPECT_EQ(failed.payloads, kSix);
      EXPECT_EQ(skipped.payloads, kSix);
      ++harmless;
      continue;
    }
    EXPECT_EQ(failed.error->code(), ErrorCode::data_loss);
    EXPECT_EQ(failed.error->file(), file);
    EXPECT_EQ(failed.payloads, Payloads(kSix.begin(), kSix.begin() + failed.payloads.size()));
    EXPECT_EQ(skipped.damaged[0].begin, failed.error->offset());
    if (bit < 8 * 8) continue;  // without the magic number it isn't recognised as LZ4
    EXPECT_GE(skipped.payloads.size(), 4U);
    for (const std::string& payload : skipped.payloads) {
      EXPECT_THAT(kSix, ::testing::Contains(payload));
    }
  }
  EXPECT_LT(harmless, 100U);
}

TEST(Lz4, every_truncation_is_reported) {
  const TemporaryFolder folder(test::memory_folder());
  const Blocks good;
  for (std::size_t size = 1; size < good.file.size(); ++size) {
    SCOPED_TRACE("size " + std::to_string(size));
    const auto file = folder.write("x", good.file.substr(0, size));
    for (const std::size_t block_bytes : {64, 262'144}) {
      const Outcome failed = read_all(file, {.block_bytes = block_bytes});
      ASSERT_TRUE(failed.error.has_value());
      EXPECT_EQ(failed.error->code(), ErrorCode::data_loss);
      EXPECT_EQ(failed.payloads, Payloads(kSix.begin(), kSix.begin() + failed.payloads.size()));
      const Outcome skipped = read_all(file, skipping(block_bytes));
      EXPECT_FALSE(skipped.error.has_value());
      EXPECT_EQ(skipped.payloads, failed.payloads);
      EXPECT_EQ(skipped.damaged.size(), 1U);
    }
  }
}

TEST(Lz4, a_lost_block_is_one_range_and_offsets_stay_right) {
  const TemporaryFolder folder;
  const Blocks good;
  const std::size_t second = good.file.find("LZ4B", good.file.find("LZ4B") + 1);
  const std::size_t third = good.file.find("LZ4B", second + 1);
  for (const std::string& bytes :
       {good.file.substr(0, second) + good.file.substr(third),  // missing
        good.file.substr(0, second) + std::string(third - second, '\0') +
            good.file.substr(third)}) {
    RecordReader reader(folder.write("x", bytes), skipping());
    std::vector<std::uint64_t> offsets;
    Record record;
    while (reader.next(record)) offsets.push_back(record.offset().value());
    EXPECT_THAT(offsets, ::testing::ElementsAre(12, 78, 187, 273));
    ASSERT_GE(reader.damaged().size(), 1U);
    EXPECT_EQ(reader.damaged()[0].begin, good.ends[0]);
    EXPECT_EQ(reader.damaged()[0].end, good.ends[1]);
    EXPECT_EQ(reader.damaged()[0].record, 2U);
    EXPECT_THAT(reader.damaged()[0].message, HasSubstr("the lz4 file is damaged: a block"));
  }
  const std::string doubled = good.file.substr(0, third) + good.file.substr(second);
  EXPECT_EQ(read_all(folder.write("x", doubled), skipping()).payloads, kSix);
}

TEST(Lz4, a_block_that_cannot_be_decoded_costs_itself) {
  const TemporaryFolder folder;
  Blocks good;
  const std::size_t second = good.file.find("LZ4B", good.file.find("LZ4B") + 1);
  good.file[second + 36] = '\xff';  // more literals than there are
  const auto file = folder.write("x", good.file);
  const Outcome failed = read_all(file);
  ASSERT_TRUE(failed.error.has_value());
  EXPECT_EQ(failed.error->offset(), good.ends[0]);
  EXPECT_EQ(failed.error->record(), 2U);
  EXPECT_THAT(failed.error->what(),
              HasSubstr("the lz4 file is damaged: the block at byte " + std::to_string(second) +
                        " of the file can't be decoded; the offset counts decompressed bytes"));
  const Outcome skipped = read_all(file, skipping());
  EXPECT_EQ(skipped.payloads, (Payloads{kSix[0], kSix[1], kSix[4], kSix[5]}));
  ASSERT_EQ(skipped.damaged.size(), 1U);
  EXPECT_EQ(skipped.damaged[0].end, good.ends[1]);
}

TEST(Lz4, a_claim_allocates_nothing) {
  const TemporaryFolder folder;
  const std::string file_header = lz4_file({}, {}).substr(0, 16);
  const auto huge = folder.write(
      "x", file_header + test::lz4_block_header(900 << 20, 1 << 30, 1, 0, 0) + "little");
  EXPECT_THAT(read_all(huge).error->what(), HasSubstr("it is cut inside a block"));
  const auto bomb =
      folder.write("x", file_header + test::lz4_block_header(5, 1 << 30, 1, 0, 0) + "12345");
  EXPECT_THAT(read_all(bomb).error->what(), HasSubstr("a block's header is damaged"));
}

TEST(Lz4, another_version_is_refused) {
  const TemporaryFolder folder;
  const auto file = folder.write(
      "x", test::with_masked_crc("INFEEDL4" + test::little(std::uint32_t{2})) + "whatever");
  const Error error = error_of([&] {
    RecordReader reader(file);
    Record record;
    reader.next(record);
  });
  EXPECT_EQ(error.code(), ErrorCode::failed_precondition);
  EXPECT_THAT(error.what(), HasSubstr("the lz4 file has version 2, but only 1 is known"));
}

TEST(Lz4, wrong_options_are_refused) {
  const TemporaryFolder folder;
  EXPECT_THAT(
      error_of([&] {
        RecordWriter(folder.file("x"), {.compression = Compression::lz4, .compression_level = 4});
      }).what(),
      HasSubstr("compression_level is 4, for lz4 it goes from 0 (fastest) to 3 (smallest)"));
}

}  // namespace
}  // namespace infeed
