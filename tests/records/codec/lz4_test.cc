#include <infeed/error.h>
#include <infeed/records/record_reader.h>
#include <infeed/records/record_writer.h>

#include "codec/lz4_file.h"
#include "io/input_file.h"
#include "records/codec/lz4_framed.h"
#include "records/temporary_files.h"
#include "records/tfrecord/damaged_read.h"
#include "seeded_random.h"
#include "thrown_error.h"

namespace infeed {
namespace {

using test::DamagedRead;
using test::frame;
using test::lz4_file;
using test::read_with_damage;
using Payloads = std::vector<std::string>;

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
  std::vector<std::size_t> places;  // places of the blocks and of the end mark in the file

  Blocks() {
    for (std::size_t i = 0; i < 4; ++i) {
      std::uint64_t place = 0;
      for (std::size_t byte = 8; byte > 0; --byte) {
        place = place << 8 |
                static_cast<std::uint8_t>(file[file.size() - 20 - (4 - i) * 24 + byte - 1]);
      }
      places.push_back(place);
    }
  }
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
  test::SeededRandom random;
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
        const DamagedRead outcome = read_with_damage(file, {.block_bytes = block_bytes});
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
  std::mt19937_64 random(1);
  for (const Payloads& payloads :
       {Payloads{}, Payloads{"hello"}, kSix, Payloads{test::random_bytes(random, 600'000)}}) {
    write_records(folder.file("x"), payloads);
    const std::string stream = frame(payloads);
    const std::string by_hand =
        payloads.empty() ? lz4_file({}, {}) : lz4_file({stream}, {payloads.size()});
    EXPECT_EQ(read_whole(folder.file("x")), by_hand);
  }
}

TEST(Lz4, reads_files_made_by_hand) {
  const TemporaryFolder folder;
  const auto file = folder.write("x", Blocks().file);
  EXPECT_EQ(read_with_damage(file).payloads, kSix);
  EXPECT_EQ(read_with_damage(file, {.damage = DamagePolicy::stop_like_tensorflow}).payloads, kSix);
}

/// A block holds whole records, as many as fit.
TEST(Lz4, records_that_fill_a_block_exactly_are_one_block) {
  const TemporaryFolder folder;
  constexpr std::size_t kBlock = 262'144;
  const auto places_of = [&](const Payloads& payloads) {
    write_records(folder.file("x"), payloads);
    EXPECT_EQ(read_with_damage(folder.file("x")).payloads, payloads);
    std::vector<std::pair<std::uint64_t, std::uint64_t>> places;
    for (const detail::SegmentPlace& place :
         detail::read_lz4_places(*detail::open_input_file(folder.file("x")))) {
      places.emplace_back(place.stream_offset, place.first_record);
    }
    return places;
  };
  using Places = std::vector<std::pair<std::uint64_t, std::uint64_t>>;
  const std::string first(84, 'a');  // 100 bytes with what is around them
  EXPECT_EQ(places_of({first, std::string(kBlock - 116, 'b'), "c"}),
            (Places{{0, 0}, {kBlock, 2}, {kBlock + 17, 3}}));
  EXPECT_EQ(places_of({first, std::string(kBlock - 115, 'b'), "c"}),
            (Places{{0, 0}, {100, 1}, {kBlock + 18, 3}}));
  // A record that is larger than a block has blocks of its own.
  const std::string large(kBlock, 'l');
  EXPECT_EQ(places_of({first, first, large, first}),
            (Places{{0, 0}, {200, 2}, {kBlock + 216, 3}, {kBlock + 316, 4}}));
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
    const DamagedRead failed = read_with_damage(file);
    const DamagedRead skipped = read_with_damage(file, skipping(bit % 2 == 0 ? 64 : 1 << 18));
    EXPECT_FALSE(skipped.error.has_value());
    EXPECT_EQ(failed.error.has_value(), !skipped.damaged.empty());
    if (!failed.error) {  // another encoding of the same bytes, or a frame of other data
      EXPECT_EQ(failed.payloads, kSix);
      EXPECT_EQ(skipped.payloads, kSix);
      ++harmless;
      continue;
    }
    EXPECT_EQ(failed.error->code(), ErrorCode::data_loss);
    EXPECT_EQ(failed.error->file(), file);
    EXPECT_EQ(failed.payloads, Payloads(kSix.begin(), kSix.begin() + failed.payloads.size()));
    EXPECT_EQ(skipped.damaged[0].begin, failed.error->offset());
    if (bit < 4 * 8) continue;  // without the magic number it isn't recognised as LZ4
    EXPECT_GE(skipped.payloads.size(), 4U);
    for (const std::string& payload : skipped.payloads) {
      EXPECT_THAT(kSix, Contains(payload));
    }
  }
  EXPECT_LT(harmless, 200U);
}

TEST(Lz4, every_truncation_is_reported) {
  const TemporaryFolder folder(test::memory_folder());
  const Blocks good;
  const std::size_t behind_end_mark = good.file.size() - (8 + 4 * 24 + 20);
  for (std::size_t size = 1; size < good.file.size(); ++size) {
    SCOPED_TRACE("size " + std::to_string(size));
    const auto file = folder.write("x", good.file.substr(0, size));
    for (const std::size_t block_bytes : {64, 262'144}) {
      const DamagedRead failed = read_with_damage(file, {.block_bytes = block_bytes});
      ASSERT_TRUE(failed.error.has_value());
      if (size == behind_end_mark) {
        EXPECT_EQ(failed.payloads, kSix);
        EXPECT_THAT(failed.error->what(),
                    HasSubstr("the index that its writer put behind the end mark is missing"));
      }
      EXPECT_EQ(failed.error->code(), ErrorCode::data_loss);
      EXPECT_EQ(failed.payloads, Payloads(kSix.begin(), kSix.begin() + failed.payloads.size()));
      const DamagedRead skipped = read_with_damage(file, skipping(block_bytes));
      EXPECT_FALSE(skipped.error.has_value());
      EXPECT_EQ(skipped.payloads, failed.payloads);
      EXPECT_EQ(skipped.damaged.size(), 1U);
    }
  }
}

TEST(Lz4, a_lost_block_is_one_range_and_offsets_stay_right) {
  const TemporaryFolder folder;
  const Blocks good;
  const std::string nothing(good.places[2] - good.places[1], '\xff');  // no size of a block
  const std::string bytes =
      good.file.substr(0, good.places[1]) + nothing + good.file.substr(good.places[2]);
  RecordReader reader(folder.write("x", bytes), skipping());
  std::vector<std::uint64_t> offsets;
  Record record;
  while (reader.next(record)) offsets.push_back(record.offset().value());
  EXPECT_THAT(offsets, ElementsAre(12, 78, 187, 273));
  ASSERT_EQ(reader.damaged().size(), 1U);
  EXPECT_EQ(reader.damaged()[0].begin, good.ends[0]);
  EXPECT_EQ(reader.damaged()[0].end, good.ends[1]);
  EXPECT_EQ(reader.damaged()[0].record, 2U);
  EXPECT_THAT(reader.damaged()[0].message,
              HasSubstr("the lz4 file is damaged: the size of a block can't be right (byte "));
}

TEST(Lz4, a_missing_or_doubled_block_is_seen_at_the_index) {
  const TemporaryFolder folder;
  const Blocks good;
  const std::string missing =
      good.file.substr(0, good.places[1]) + good.file.substr(good.places[2]);
  const std::string doubled =
      good.file.substr(0, good.places[2]) + good.file.substr(good.places[1]);
  for (const std::string& bytes : {missing, doubled}) {
    const DamagedRead outcome = read_with_damage(folder.write("x", bytes));
    ASSERT_TRUE(outcome.error.has_value());
    EXPECT_THAT(outcome.error->what(), HasSubstr("the index at its end describes other blocks"));
  }
}

TEST(Lz4, an_index_that_cannot_be_is_refused) {
  const TemporaryFolder folder;
  const auto refusal = [&folder](const std::string& bytes) {
    const auto file = detail::open_input_file(folder.write("x", bytes));
    return std::string(error_of([&] { detail::read_lz4_places(*file); }).what());
  };
  const std::string good = Blocks().file;
  // Any end of the file, with or without a whole index.
  for (std::size_t size = 0; size < good.size(); ++size) {
    EXPECT_THAT(refusal(good.substr(good.size() - size)), HasSubstr("can't be split")) << size;
  }
  std::string other_header = good;
  other_header[4] = '\x40';
  EXPECT_THAT(refusal(other_header), HasSubstr("its frame's header"));
  EXPECT_THAT(refusal(lz4_file({frame(kSix), frame(kSix)}, {6, 0})),
              HasSubstr("the order of its index"));
  const auto file = detail::open_input_file(folder.write("x", good));
  EXPECT_EQ(detail::read_lz4_places(*file).size(), 4U);
}

TEST(Lz4, a_block_that_cannot_be_decoded_costs_itself) {
  const TemporaryFolder folder;
  Blocks good;
  good.file[good.places[1] + 4] = '\xff';  // more literals than there are
  const auto file = folder.write("x", good.file);
  const DamagedRead failed = read_with_damage(file);
  ASSERT_TRUE(failed.error.has_value());
  EXPECT_EQ(failed.error->offset(), good.ends[0]);
  EXPECT_EQ(failed.error->record(), 2U);
  EXPECT_THAT(failed.error->what(),
              HasSubstr("the lz4 file is damaged: a block can't be decoded (byte " +
                        std::to_string(good.places[1]) +
                        " of the file); the offset counts decompressed bytes"));
  const DamagedRead skipped = read_with_damage(file, skipping());
  EXPECT_EQ(skipped.payloads, (Payloads{kSix[0], kSix[1], kSix[4], kSix[5]}));
  ASSERT_EQ(skipped.damaged.size(), 1U);
  EXPECT_EQ(skipped.damaged[0].end, good.ends[1]);
}

/// A record of several blocks: the next place that the index knows is behind all of them.
TEST(Lz4, damage_in_a_large_record_costs_this_record) {
  const TemporaryFolder folder;
  std::mt19937_64 random(1);
  const Payloads payloads = {"a", test::random_bytes(random, 900'000), "c"};
  for (const std::size_t at : {100'000, 500'000, 800'000}) {
    write_records(folder.file("x"), payloads);
    flip_bits(folder.file("x"), at);
    const DamagedRead skipped = read_with_damage(folder.file("x"), skipping());
    EXPECT_EQ(skipped.payloads, (Payloads{"a", "c"}));
    EXPECT_EQ(skipped.damaged.size(), 1U);
  }
}

/// Where nothing behind damage can be found, its rest is one range.
TEST(Lz4, without_an_index_damage_costs_the_rest) {
  const TemporaryFolder folder;
  Blocks good;
  const std::string frame_alone = good.file.substr(0, good.places[3] + 4);
  std::string bytes = frame_alone;
  bytes[good.places[1] + 4] = '\xff';
  const DamagedRead skipped = read_with_damage(folder.write("x", bytes), skipping());
  EXPECT_EQ(skipped.payloads, (Payloads{kSix[0], kSix[1]}));
  EXPECT_EQ(skipped.damaged.size(), 1U);
}

TEST(Lz4, frames_of_other_programs_are_read) {
  const TemporaryFolder folder;
  std::mt19937_64 random(1);
  Payloads payloads;
  for (int i = 0; i < 300; ++i) {
    payloads.push_back(i % 2 == 0 ? test::random_bytes(random, random() % 3000)
                                  : std::string(random() % 3000, 'a'));
  }
  const std::string stream = frame(payloads);
  for (const LZ4F_blockMode_t mode : {LZ4F_blockLinked, LZ4F_blockIndependent}) {
    for (const LZ4F_contentChecksum_t sum : {LZ4F_noContentChecksum, LZ4F_contentChecksumEnabled}) {
      for (const bool has_size : {false, true}) {
        const std::string one = test::lz4_frame(stream, mode, sum, has_size);
        const std::string other = test::skippable_frame("other data");
        for (const std::size_t block_bytes : {64, 262'144}) {
          const RecordReaderOptions options = {.block_bytes = block_bytes};
          EXPECT_EQ(read_with_damage(folder.write("x", one), options).payloads, payloads);
          const DamagedRead twice = read_with_damage(folder.write("x", one + other + one), options);
          EXPECT_FALSE(twice.error.has_value());
          EXPECT_EQ(twice.payloads.size(), 2 * payloads.size());
          EXPECT_EQ(read_with_damage(folder.write("x", other + one), options).payloads, payloads);
        }
      }
    }
  }
  // A frame like ours, but without the promise of an index.
  const std::string like_ours =
      test::kLz4Header + test::lz4_block(frame(kSix)) + test::little(std::uint32_t{0});
  const DamagedRead without_index = read_with_damage(folder.write("x", like_ours + like_ours));
  EXPECT_FALSE(without_index.error.has_value());
  EXPECT_EQ(without_index.payloads.size(), 12U);
  // Two files of ours one behind the other, with the index of the first in between.
  const Blocks good;
  const DamagedRead two = read_with_damage(folder.write("x", good.file + good.file));
  EXPECT_FALSE(two.error.has_value());
  EXPECT_EQ(two.payloads.size(), 12U);
}

TEST(Lz4, a_missing_index_is_seen_in_front_of_the_next_frame) {
  const TemporaryFolder folder;
  const Blocks good;
  const std::string without_index = good.file.substr(0, good.places[3] + 4);
  const DamagedRead failed = read_with_damage(folder.write("x", without_index + good.file));
  ASSERT_TRUE(failed.error.has_value());
  EXPECT_EQ(failed.payloads, kSix);
  EXPECT_THAT(failed.error->what(), HasSubstr("so it was cut there"));
}

TEST(Lz4, damage_in_frames_of_other_programs_is_named) {
  const TemporaryFolder folder;
  const std::string one = test::lz4_frame(frame(kSix));
  for (std::size_t size = 5; size < one.size(); ++size) {
    const DamagedRead cut = read_with_damage(folder.write("x", one.substr(0, size)));
    ASSERT_TRUE(cut.error.has_value()) << size;
    EXPECT_EQ(cut.error->code(), ErrorCode::data_loss);
  }
  std::string bytes = one;
  bytes.back() ^= 1;
  EXPECT_THAT(read_with_damage(folder.write("x", bytes)).error->what(),
              HasSubstr("a checksum does not match the contents"));
  EXPECT_THAT(read_with_damage(folder.write("x", one + "rubbish")).error->what(),
              HasSubstr("what follows the end of a frame is not another one (byte " +
                        std::to_string(one.size()) + " of the file)"));
}

TEST(Lz4, a_claim_allocates_nothing) {
  const TemporaryFolder folder;
  const auto claim = [&](std::uint32_t size) {
    return read_with_damage(folder.write("x", test::kLz4Header + test::little(size) + "little"));
  };
  EXPECT_THAT(claim(200'000).error->what(), HasSubstr("it is cut inside a block"));
  EXPECT_THAT(claim(0x7fffffff).error->what(), HasSubstr("the size of a block can't be right"));
  EXPECT_THAT(claim(0xffffffff).error->what(), HasSubstr("the size of a block can't be right"));
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
