#include <gtest/gtest.h>

#include <infeed/records/crc32c.h>
#include <infeed/records/parallel_record_reader.h>
#include <infeed/records/record_reader.h>

#include "records/temporary_files.h"
#include "records/tfrecord/framed.h"
#include "seeded_random.h"
#include "tfrecord/framing.h"

/// Files made on purpose so that a reader that searches behind damage hashes the same bytes again
/// and again: valid headers one behind the other, each of which claims much of the rest.
namespace infeed {
namespace {

using test::frame;
using Payloads = std::vector<std::string>;

std::string length_header(std::uint64_t length) {
  const std::string bytes = test::little(length);
  return bytes + test::little(mask_crc32c(crc32c(bytes)));
}

struct ReadWork {
  Payloads payloads;
  std::uint64_t bytes_hashed = 0;
  std::size_t damages = 0;
};

/// Declared as plain: random bytes look like a zlib stream once in a thousand files.
const RecordReaderOptions kPlainAndDamaged = {.compression = Compression::none,
                                              .damage = DamagePolicy::skip_and_resynchronise};

ReadWork read_damaged(const std::string& file) {
  RecordReader reader(file, kPlainAndDamaged);
  ReadWork work;
  for (Record record; reader.next(record);) work.payloads.emplace_back(record.bytes());
  work.bytes_hashed = reader.bytes_hashed();
  work.damages = reader.damaged().size();
  return work;
}

TEST(LyingHeaders, every_byte_is_hashed_a_limited_number_of_times) {
  const TemporaryFolder folder;
  constexpr std::size_t kHeaders = 60'000;
  constexpr std::size_t kBytes = 12 * kHeaders;
  std::string rest_of_file, same_length, powers_of_two, with_records;
  for (std::size_t i = 0; i < kHeaders; ++i) {
    rest_of_file += length_header(kBytes - rest_of_file.size() - 16);
    same_length += length_header(kBytes / 2);
    powers_of_two += length_header((std::size_t{1} << (10 + i % 9)) - 16);
    if (i % 20 == 0) with_records += frame("good " + std::to_string(i)) + length_header(kBytes / 3);
  }
  for (const std::string* bytes : {&rest_of_file, &same_length, &powers_of_two, &with_records}) {
    const ReadWork work = read_damaged(folder.write("x", *bytes));
    EXPECT_LE(work.bytes_hashed, 13 * bytes->size());
    EXPECT_EQ(work.payloads.size(), bytes == &with_records ? kHeaders / 20 : 0);
  }
}

/// Reads the same records in the slowest and most obvious way.
Payloads search_by_definition(std::string_view bytes) {
  const auto record_at = [bytes](std::size_t at) -> std::optional<std::string_view> {
    if (bytes.size() - at < 16) return std::nullopt;
    const auto length = detail::load_little<std::uint64_t>(bytes.data() + at);
    if (length_header(length) != bytes.substr(at, 12) || length > bytes.size() - at - 16) {
      return std::nullopt;
    }
    return bytes.substr(at + 12, length);
  };
  const auto is_good = [bytes](std::string_view payload) {
    const auto footer = detail::load_little<std::uint32_t>(payload.data() + payload.size());
    return footer == mask_crc32c(crc32c(payload)) && payload.data() >= bytes.data();
  };
  Payloads found;
  for (std::size_t at = 0; at < bytes.size();) {
    const auto payload = record_at(at);
    if (payload && is_good(*payload)) {
      found.emplace_back(*payload);
      at += 16 + payload->size();
      continue;
    }
    if (payload) {  // passed over exactly when a header or the end follows
      const std::size_t next = at + 16 + payload->size();
      const bool has_header =
          bytes.size() - next >= 12 &&
          length_header(detail::load_little<std::uint64_t>(bytes.data() + next)) ==
              bytes.substr(next, 12);
      if (next == bytes.size() || has_header) {
        at = next;
        continue;
      }
    }
    for (++at; at < bytes.size(); ++at) {
      const auto candidate = record_at(at);
      if (candidate && is_good(*candidate)) break;
    }
  }
  return found;
}

TEST(LyingHeaders, the_same_records_are_found_as_by_the_definition) {
  test::SeededRandom random;
  const TemporaryFolder folder(test::memory_folder());
  for (int round = 0; round < 150; ++round) {
    std::string bytes;
    const std::size_t size = 1 + random() % 6000;
    while (bytes.size() < size) {
      switch (random() % 5) {
        case 0:
          bytes += test::random_bytes(random, random() % 30);
          break;
        case 1:
          bytes += frame(test::random_bytes(random, random() % 400));
          break;
        case 2: {  // a record inside a record, whole or not
          std::string inner = frame(frame(test::random_bytes(random, random() % 200)));
          if (random() % 2 == 0) inner[inner.size() - 1] ^= 1;
          bytes += inner;
          break;
        }
        default:
          bytes += length_header(random() % (2 * size));
      }
    }
    const Payloads expected = search_by_definition(bytes);
    const std::string file = folder.write("x", bytes);
    const ReadWork work = read_damaged(file);
    ASSERT_EQ(work.payloads, expected);
    ASSERT_LE(work.bytes_hashed, 14 * bytes.size() + 1000);
    ParallelRecordReader parallel(file, {.reader = kPlainAndDamaged, .segment_bytes = 64});
    Payloads payloads;
    for (Record record; parallel.next(record);) payloads.emplace_back(record.bytes());
    ASSERT_EQ(payloads, expected);
    ASSERT_EQ(parallel.damaged().size(), work.damages);
  }
}

}  // namespace
}  // namespace infeed
