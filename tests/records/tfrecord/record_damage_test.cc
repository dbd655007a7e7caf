#include <algorithm>

#include <infeed/error.h>
#include <infeed/records/record_reader.h>

#include "matchers.h"
#include "records/codec/zstd_framed.h"
#include "records/temporary_files.h"
#include "records/tfrecord/damaged_read.h"
#include "records/tfrecord/framed.h"
#include "seeded_random.h"

/// Damage in every place of a file, under every policy.
namespace infeed {
namespace {

using test::DamagedRead;
using test::frame;
using test::gzip;
using test::read_with_damage;
using test::zlib;
using Payloads = std::vector<std::string>;

const Payloads kFour = {"hello", "", std::string(40, 'x'), "123456789"};

std::vector<std::size_t> boundaries() {
  std::vector<std::size_t> ends = {0};
  for (const auto& payload : kFour) ends.push_back(ends.back() + 16 + payload.size());
  return ends;
}

TEST(RecordDamage, every_bit_flip_of_a_plain_file_is_reported) {
  const TemporaryFolder folder;
  const std::string good = frame(kFour);
  const auto ends = boundaries();
  for (std::size_t bit = 0; bit < good.size() * 8; ++bit) {
    std::string bytes = good;
    bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ (1 << (bit % 8)));
    const auto hit = static_cast<std::size_t>(std::upper_bound(ends.begin(), ends.end(), bit / 8) -
                                              ends.begin() - 1);
    const auto file = folder.write("flipped", bytes);

    for (DamagePolicy policy : {DamagePolicy::fail, DamagePolicy::stop_like_tensorflow}) {
      const DamagedRead failed = read_with_damage(file, {.damage = policy});
      ASSERT_TRUE(failed.error.has_value()) << "bit " << bit;
      EXPECT_EQ(failed.error->code(), ErrorCode::data_loss);
      EXPECT_EQ(failed.error->file(), file);
      EXPECT_EQ(failed.error->offset(), ends[hit]);
      EXPECT_EQ(failed.error->record(), hit);
      EXPECT_EQ(failed.payloads, Payloads(kFour.begin(), kFour.begin() + hit)) << "bit " << bit;
    }

    const DamagedRead skipped =
        read_with_damage(file, {.damage = DamagePolicy::skip_and_resynchronise});
    Payloads others = kFour;
    others.erase(others.begin() + hit);
    EXPECT_FALSE(skipped.error.has_value());
    EXPECT_EQ(skipped.payloads, others) << "bit " << bit;
    ASSERT_EQ(skipped.damaged.size(), 1U) << "bit " << bit;
    EXPECT_EQ(skipped.damaged[0].file, file);
    EXPECT_EQ(skipped.damaged[0].begin, ends[hit]);
    EXPECT_EQ(skipped.damaged[0].end, ends[hit + 1]);
    EXPECT_EQ(skipped.damaged[0].record, hit);
    EXPECT_FALSE(skipped.damaged[0].message.empty());
  }
}

/// A first length of 376 bytes is written as zlib's header is. One bit cost the whole file.
TEST(RecordDamage, a_first_length_that_looks_compressed_costs_one_record) {
  const TemporaryFolder folder;
  for (const std::size_t size : {376U, 1384U, 0x789cU, 0x10178U}) {
    const Payloads records(5, std::string(size, 'x'));
    std::string bytes = frame(records);
    bytes[9] = static_cast<char>(bytes[9] ^ 1);
    const DamagedRead skipped = read_with_damage(folder.write("damaged", bytes),
                                                 {.damage = DamagePolicy::skip_and_resynchronise});
    EXPECT_FALSE(skipped.error) << size;
    EXPECT_EQ(skipped.payloads.size(), 4U) << size;
  }
}

/// Its first length is the begin of a zip archive.
TEST(RecordDamage, a_sound_header_tells_records_from_other_files) {
  const TemporaryFolder folder;
  const std::string header = frame(std::string(0x04034b50, 'x')).substr(0, 12);
  const DamagedRead cut = read_with_damage(folder.write("cut", header + "rest"));
  ASSERT_TRUE(cut.error);
  EXPECT_THAT(cut.error->what(), HasSubstr("record is cut"));
}

TEST(RecordDamage, every_truncation_of_a_plain_file_is_reported) {
  const TemporaryFolder folder;
  const std::string good = frame(kFour);
  const auto ends = boundaries();
  for (std::size_t size = 0; size < good.size(); ++size) {
    const auto file = folder.write("cut", good.substr(0, size));
    const auto hit = static_cast<std::size_t>(std::upper_bound(ends.begin(), ends.end(), size) -
                                              ends.begin() - 1);
    const Payloads whole(kFour.begin(), kFour.begin() + hit);
    const bool at_boundary = ends[hit] == size;
    const bool in_header = size - ends[hit] < 12;

    const DamagedRead failed = read_with_damage(file);
    EXPECT_EQ(failed.payloads, whole);
    ASSERT_EQ(failed.error.has_value(), !at_boundary) << "size " << size;
    if (failed.error) {
      EXPECT_EQ(failed.error->offset(), ends[hit]);
      EXPECT_EQ(failed.error->record(), hit);
      EXPECT_THAT(failed.error->what(), HasSubstr("record is cut"));
    }

    const DamagedRead lenient =
        read_with_damage(file, {.damage = DamagePolicy::stop_like_tensorflow});
    EXPECT_EQ(lenient.payloads, whole);
    EXPECT_EQ(lenient.error.has_value(), !in_header) << "size " << size;

    const DamagedRead skipped =
        read_with_damage(file, {.damage = DamagePolicy::skip_and_resynchronise});
    EXPECT_EQ(skipped.payloads, whole);
    EXPECT_FALSE(skipped.error.has_value());
    ASSERT_EQ(skipped.damaged.size(), at_boundary ? 0U : 1U) << "size " << size;
    if (!at_boundary) {
      EXPECT_EQ(skipped.damaged[0].begin, ends[hit]);
      EXPECT_EQ(skipped.damaged[0].end, size);
    }
  }
}

/// Requirements for a damaged compressed file under every policy: the records before the damage
/// come, and then an error, or one range that begins behind them.
void expect_reported(const std::string& file, std::size_t block_bytes) {
  const auto ends = boundaries();
  const auto read = [&](DamagePolicy policy) {
    return read_with_damage(file, {.damage = policy, .block_bytes = block_bytes});
  };
  const DamagedRead failed = read(DamagePolicy::fail);
  ASSERT_TRUE(failed.error.has_value());
  const std::size_t count = failed.payloads.size();
  EXPECT_EQ(failed.error->code(), ErrorCode::data_loss);
  EXPECT_EQ(failed.error->file(), file);
  EXPECT_EQ(failed.error->record(), count);
  EXPECT_EQ(failed.error->offset(), ends.at(count));
  EXPECT_EQ(failed.payloads, Payloads(kFour.begin(), kFour.begin() + count));

  const DamagedRead skipped = read(DamagePolicy::skip_and_resynchronise);
  EXPECT_FALSE(skipped.error.has_value());
  EXPECT_GE(skipped.payloads.size(), count);
  ASSERT_FALSE(skipped.damaged.empty());
  EXPECT_EQ(skipped.damaged[0].begin, ends.at(count));
  EXPECT_EQ(skipped.damaged[0].record, count);
  for (const std::string& payload : skipped.payloads) {
    EXPECT_THAT(kFour, Contains(payload));
  }

  // Only a cut between two records or inside a header is a silent end there.
  const DamagedRead lenient = read(DamagePolicy::stop_like_tensorflow);
  EXPECT_EQ(lenient.payloads, failed.payloads);
}

TEST(RecordDamage, every_truncation_of_a_compressed_file_is_reported) {
  const TemporaryFolder folder(test::memory_folder());
  for (const std::string& good :
       {gzip(frame(kFour)), zlib(frame(kFour)), test::zstd(frame(kFour))}) {
    for (std::size_t size = 1; size < good.size(); ++size) {
      SCOPED_TRACE("size " + std::to_string(size));
      const auto file = folder.write("cut", good.substr(0, size));
      for (std::size_t block_bytes : {64, 262'144}) {
        expect_reported(file, block_bytes);
        const RecordReaderOptions skip = {.damage = DamagePolicy::skip_and_resynchronise,
                                          .block_bytes = block_bytes};
        EXPECT_EQ(read_with_damage(file, skip).damaged.size(), 1U);
      }
    }
  }
}

// Flips in fields of the gzip header that carry no meaning (time, operating system, extra flags)
// are not damage: zlib reads such a file as well.
bool zlib_accepts(const std::string& bytes, const std::string& expected) {
  z_stream stream{};
  inflateInit2(&stream, 15 + 32);
  std::string out(expected.size() + 100, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  const int code = inflate(&stream, Z_FINISH);
  out.resize(out.size() - stream.avail_out);
  const bool all = stream.avail_in == 0;
  inflateEnd(&stream);
  return code == Z_STREAM_END && all && out == expected;
}

bool zstd_accepts(const std::string& bytes, const std::string& expected) {
  std::string out(expected.size() + 100, '\0');
  const std::size_t size = ZSTD_decompress(out.data(), out.size(), bytes.data(), bytes.size());
  return ZSTD_isError(size) == 0 && out.substr(0, size) == expected;
}

TEST(RecordDamage, every_bit_flip_of_a_compressed_file_is_reported) {
  const TemporaryFolder folder(test::memory_folder());
  const std::string plain = frame(kFour);
  for (const std::string& good : {gzip(plain), zlib(plain), test::zstd(plain)}) {
    for (std::size_t bit = 0; bit < good.size() * 8; ++bit) {
      SCOPED_TRACE("bit " + std::to_string(bit));
      std::string bytes = good;
      bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ (1 << (bit % 8)));
      const auto file = folder.write("flipped", bytes);
      if (!zlib_accepts(bytes, plain) && !zstd_accepts(bytes, plain)) {
        for (std::size_t block_bytes : {64, 262'144}) expect_reported(file, block_bytes);
        continue;
      }
      for (DamagePolicy policy : {DamagePolicy::fail, DamagePolicy::skip_and_resynchronise,
                                  DamagePolicy::stop_like_tensorflow}) {
        const DamagedRead whole = read_with_damage(file, {.damage = policy});
        EXPECT_FALSE(whole.error.has_value());
        EXPECT_TRUE(whole.damaged.empty());
        EXPECT_EQ(whole.payloads, kFour);
      }
    }
  }
}

TEST(RecordDamage, messages) {
  const TemporaryFolder folder;
  std::string bytes = frame(kFour);
  bytes[21 + 16 + 12] = 'y';
  const auto file = folder.write("x", bytes);
  EXPECT_EQ(
      std::string(read_with_damage(file).error->what()),
      "data_loss: record is damaged: its 40 bytes have the checksum 029b01e3, but ecd29763 is "
      "stored [file " +
          file + ", offset 37, record 2]");
  const auto cut = folder.write("x", frame(kFour).substr(0, 37 + 20));
  EXPECT_THAT(read_with_damage(cut).error->what(),
              HasSubstr("record is cut: 20 of 56 bytes are there (a payload of 40 and 16 around "
                        "it); the file was probably not written or copied to its end [file"));
}

TEST(RecordDamage, an_absurd_length_with_a_valid_checksum_allocates_nothing) {
  const TemporaryFolder folder;
  for (std::uint64_t length : {std::uint64_t{1} << 30, std::uint64_t{1} << 40, ~std::uint64_t{0},
                               ~std::uint64_t{0} - 15}) {
    const std::string header = test::little(length);
    const std::string bytes =
        frame("first") + header + test::little(mask_crc32c(crc32c(header))) + frame("last");
    for (const std::string& stored : {bytes, gzip(bytes)}) {
      const auto file = folder.write("absurd", stored);
      EXPECT_EQ(read_with_damage(file).error->record(), 1U);
      const DamagedRead skipped =
          read_with_damage(file, {.damage = DamagePolicy::skip_and_resynchronise});
      EXPECT_EQ(skipped.payloads, (Payloads{"first", "last"}));
    }
  }
}

TEST(RecordDamage, random_damage_loses_only_damaged_records) {
  test::SeededRandom random;
  const TemporaryFolder folder;
  for (int round = 0; round < 20; ++round) {
    Payloads payloads;
    std::vector<std::size_t> ends = {0};
    for (int i = 0; i < 400; ++i) {
      payloads.push_back(test::random_bytes(random, 8 + random() % 2000));
      ends.push_back(ends.back() + 16 + payloads.back().size());
    }
    std::string bytes = frame(payloads);
    std::vector<bool> hit(payloads.size(), false);
    for (int i = 0; i < 10; ++i) {  // overwrite a run of bytes
      const std::size_t begin = random() % bytes.size();
      const std::size_t end = std::min(bytes.size(), begin + 1 + random() % 600);
      for (std::size_t at = begin; at < end; ++at) {
        bytes[at] = static_cast<char>(bytes[at] ^ (1 + random() % 255));
        hit[std::upper_bound(ends.begin(), ends.end(), at) - ends.begin() - 1] = true;
      }
    }
    Payloads expected;
    for (std::size_t i = 0; i < payloads.size(); ++i) {
      if (!hit[i]) expected.push_back(payloads[i]);
    }
    const auto file = folder.write("x", bytes);
    for (std::size_t block_bytes : {std::size_t{64}, std::size_t{4096}, std::size_t{262'144}}) {
      const DamagedRead outcome = read_with_damage(
          file, {.damage = DamagePolicy::skip_and_resynchronise, .block_bytes = block_bytes});
      ASSERT_EQ(outcome.payloads, expected);
      std::uint64_t lost_bytes = 0;
      for (const auto& range : outcome.damaged) lost_bytes += range.end - range.begin;
      std::uint64_t expected_lost_bytes = 0;
      for (std::size_t i = 0; i < hit.size(); ++i) {
        if (hit[i]) expected_lost_bytes += ends[i + 1] - ends[i];
      }
      EXPECT_EQ(lost_bytes, expected_lost_bytes);
    }
  }
}

TEST(RecordDamage, inserted_and_deleted_bytes_cost_one_record) {
  const TemporaryFolder folder;
  const std::string good = frame(kFour);
  for (const std::string& bytes :
       {good.substr(0, 60) + "inserted" + good.substr(60), good.substr(0, 60) + good.substr(65)}) {
    const DamagedRead outcome = read_with_damage(folder.write("x", bytes),
                                                 {.damage = DamagePolicy::skip_and_resynchronise});
    EXPECT_EQ(outcome.payloads, (Payloads{"hello", "", "123456789"}));
  }
}

TEST(RecordDamage, a_tail_of_zeros_is_damage_and_never_records) {
  const TemporaryFolder folder;
  const auto file = folder.write("x", frame(kFour) + std::string(5000, '\0'));
  EXPECT_EQ(read_with_damage(file).error->record(), 4U);
  const DamagedRead outcome =
      read_with_damage(file, {.damage = DamagePolicy::skip_and_resynchronise});
  EXPECT_EQ(outcome.payloads, kFour);
  ASSERT_EQ(outcome.damaged.size(), 1U);
  EXPECT_EQ(outcome.damaged[0].end - outcome.damaged[0].begin, 5000U);
}

TEST(RecordDamage, what_the_callback_throws_passes_through_and_reading_goes_on_after_it) {
  const TemporaryFolder folder;
  std::string bytes = frame(kFour);
  bytes[12] = 'j';
  RecordReader reader(folder.write("x", bytes), {.damage = DamagePolicy::skip_and_resynchronise,
                                                 .on_damage = [](const DamagedRange&) {
                                                   throw std::runtime_error("enough");
                                                 }});
  Record record;
  EXPECT_THROW(reader.next(record), std::runtime_error);
  ASSERT_TRUE(reader.next(record));
  EXPECT_EQ(record.number(), 1U);
  EXPECT_EQ(record.bytes(), "");
}

TEST(RecordDamage, a_length_that_overflows_is_not_passed_over) {
  const TemporaryFolder folder;
  const std::string length = test::little(~std::uint64_t{0} - 4);
  const std::string bytes =
      frame("first") + length + test::little(mask_crc32c(crc32c(length))) + frame("last");
  RecordReader reader(folder.write("x", bytes), {.damage = DamagePolicy::skip_and_resynchronise});
  EXPECT_EQ(reader.skip(10), 2U);
  ASSERT_EQ(reader.damaged().size(), 1U);
  EXPECT_EQ(reader.damaged()[0].begin, 21U);
  EXPECT_EQ(reader.damaged()[0].end, 33U);
}

TEST(RecordDamage, behind_a_false_length_a_damaged_stream_still_gives_its_whole_records) {
  const TemporaryFolder folder;
  const std::string length = test::little(std::uint64_t{5000});
  const std::string claim = length + test::little(mask_crc32c(crc32c(length)));
  std::string bytes = gzip(frame("first") + claim + frame(kFour));
  bytes.resize(bytes.size() - 8);  // without its trailer
  const auto file = folder.write("x", bytes);
  for (std::size_t block_bytes : {64, 262'144}) {
    const DamagedRead outcome = read_with_damage(
        file, {.damage = DamagePolicy::skip_and_resynchronise, .block_bytes = block_bytes});
    EXPECT_EQ(outcome.payloads, (Payloads{"first", "hello", "", kFour[2], kFour[3]}));
    ASSERT_EQ(outcome.damaged.size(), 2U);
    EXPECT_EQ(outcome.damaged[0].begin, 21U);
    EXPECT_EQ(outcome.damaged[0].end, 33U);
    EXPECT_EQ(outcome.damaged[1].begin, outcome.damaged[1].end);
    EXPECT_THAT(outcome.damaged[1].message, HasSubstr("the file ends inside it"));
  }
}

}  // namespace
}  // namespace infeed
