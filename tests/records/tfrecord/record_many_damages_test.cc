#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <gtest/gtest.h>
#include <set>

#include <infeed/records/record_reader.h>

#include "records/temporary_files.h"
#include "records/tfrecord/framed.h"
#include "seeded_random.h"

/// A large file with a hundred damages loses exactly the records that were hit. INFEED_TEST_FILE_MB
/// makes the file larger (1024: seven seconds).
namespace infeed {
namespace {

std::uint64_t wanted_file_bytes() {
  const char* const text = std::getenv("INFEED_TEST_FILE_MB");
  return (text == nullptr ? 24 : std::strtoull(text, nullptr, 10)) << 20;
}

/// A record's payload follows from its number, so that nothing has to be remembered.
std::string payload_of(std::uint64_t record) {
  std::mt19937_64 random(test::test_seed() + record);
  // Many small ones, some as large as an image, a few larger than the reader's block.
  const std::uint64_t kind = random() % 1000;
  const std::size_t size_max = kind < 900 ? 1000 : kind < 998 ? 20'000 : 600'000;
  const std::size_t size = 8 + random() % size_max;
  std::string bytes((size + 7) / 8 * 8, '\0');
  for (std::size_t at = 0; at < bytes.size(); at += 8) {
    const std::uint64_t word = random();
    std::copy_n(reinterpret_cast<const char*>(&word), 8, bytes.data() + at);
  }
  bytes.resize(size);
  return bytes;
}

struct WrittenFile {
  std::string name;
  std::vector<std::uint64_t> offsets = {0};  // one more than records
};

WrittenFile write_file(const TemporaryFolder& folder) {
  WrittenFile file{folder.file("large")};
  std::ofstream out(file.name, std::ios::binary);
  const std::uint64_t bytes_wanted = wanted_file_bytes();
  while (file.offsets.back() < bytes_wanted) {
    const std::string framed = test::frame(payload_of(file.offsets.size() - 1));
    out.write(framed.data(), static_cast<std::streamsize>(framed.size()));
    file.offsets.push_back(file.offsets.back() + framed.size());
  }
  return file;
}

/// Changes bytes in a hundred places: single bits, runs, zeroed sectors. Returns the records hit.
std::set<std::uint64_t> damage(const WrittenFile& file, std::mt19937_64& random) {
  std::set<std::uint64_t> hit;
  std::fstream stream(file.name, std::ios::binary | std::ios::in | std::ios::out);
  for (int i = 0; i < 100; ++i) {
    const std::uint64_t begin = random() % file.offsets.back();
    const std::size_t kind = random() % 3;
    const std::uint64_t wanted = kind == 0 ? 1 : kind == 1 ? 1 + random() % 300 : 512;
    const std::uint64_t end = std::min(file.offsets.back(), begin + wanted);
    std::string bytes(end - begin, '\0');
    stream.seekg(static_cast<std::streamoff>(begin));
    stream.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    for (std::size_t at = 0; at < bytes.size(); ++at) {
      const char before = bytes[at];
      if (kind == 0) bytes[at] = static_cast<char>(before ^ (1 << random() % 8));
      if (kind == 1) bytes[at] = static_cast<char>(random());
      if (kind == 2) bytes[at] = '\0';
      if (bytes[at] == before) continue;
      hit.insert(static_cast<std::uint64_t>(
          std::upper_bound(file.offsets.begin(), file.offsets.end(), begin + at) -
          file.offsets.begin() - 1));
    }
    stream.seekp(static_cast<std::streamoff>(begin));
    stream.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  }
  return hit;
}

TEST(RecordDamage, a_hundred_damages_lose_only_the_records_that_were_hit) {
  test::SeededRandom random;
  const TemporaryFolder folder;
  const WrittenFile file = write_file(folder);
  const auto hit = damage(file, random);
  std::set<std::uint64_t> lost;
  for (std::uint64_t i = 0; i + 1 < file.offsets.size(); ++i) lost.insert(lost.end(), i);

  RecordReader reader(file.name, {.damage = DamagePolicy::skip_and_resynchronise});
  Record record;
  while (reader.next(record)) {
    // Numbers behind damage are only estimates; the offset identifies the record.
    const auto found =
        std::lower_bound(file.offsets.begin(), file.offsets.end(), record.offset().value() - 12);
    ASSERT_EQ(*found, record.offset().value() - 12) << "a record from where none was written";
    const auto number = static_cast<std::uint64_t>(found - file.offsets.begin());
    ASSERT_EQ(record.bytes(), payload_of(number)) << "record " << number;
    ASSERT_EQ(lost.erase(number), 1U) << "record " << number << " came twice";
  }
  EXPECT_EQ(lost, hit);

  std::uint64_t lost_bytes = 0;
  for (const DamagedRange& range : reader.damaged()) lost_bytes += range.end - range.begin;
  for (const std::uint64_t number : hit) {
    lost_bytes -= file.offsets[number + 1] - file.offsets[number];
  }
  EXPECT_EQ(lost_bytes, 0U) << "the ranges are exactly the damaged records";
}

}  // namespace
}  // namespace infeed
