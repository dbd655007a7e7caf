#include "io/range_crcs.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <string>
#include <string_view>

#include <infeed/records/crc32c.h>

#include "records/temporary_files.h"
#include "seeded_random.h"

namespace infeed {
namespace {

TEST(RangeCrcs, are_those_of_the_bytes) {
  test::SeededRandom random;
  for (int round = 0; round < 50; ++round) {
    detail::RangeCrcs crcs;
    const std::string bytes = test::random_bytes(random, 1 + random() % 20'000);
    std::size_t offset = 0;
    for (int i = 0; i < 100; ++i) {
      offset = random() % 20 == 0 ? random() % bytes.size()
                                  : std::min(offset + random() % 200, bytes.size() - 1);
      const std::string_view range =
          std::string_view(bytes).substr(offset, random() % (bytes.size() - offset + 1));
      ASSERT_EQ(crcs.crc32c_of(range, 1'000'000 + offset), crc32c(range));
    }
  }
}

TEST(RangeCrcs, hash_the_middle_of_overlapping_ranges_once) {
  const std::string bytes(1 << 20, 'x');
  detail::RangeCrcs crcs;
  std::uint64_t ranges = 0;
  for (std::size_t offset = 0; offset < 100'000; offset += 100, ++ranges) {
    crcs.crc32c_of(std::string_view(bytes).substr(offset), offset);
  }
  EXPECT_LE(crcs.bytes_hashed(), bytes.size() + 127 * ranges);
}

/// Each range hashes its two ends and what no range before it had; the counts are those of the bytes.
TEST(RangeCrcs, know_the_stream_up_to_the_last_whole_step) {
  test::SeededRandom random;
  const std::string bytes = test::random_bytes(random, 1500);
  detail::RangeCrcs crcs;
  std::uint64_t hashed = 0;
  const auto expect = [&](std::size_t begin, std::size_t end, std::uint64_t newly_hashed,
                          std::uint64_t known_until) {
    const std::string_view range = std::string_view(bytes).substr(begin, end - begin);
    EXPECT_EQ(crcs.crc32c_of(range, begin), crc32c(range)) << begin;
    hashed += newly_hashed;
    EXPECT_EQ(crcs.bytes_hashed(), hashed) << begin;
    EXPECT_EQ(crcs.known_until(), known_until) << begin;
  };
  expect(0, 127, 127, 0);  // shorter than two steps
  expect(0, 128, 128, 128);
  expect(500, 1500, 1000, 1460);  // begins behind what is known
  expect(510, 1500, 54 + 40, 1460);
  expect(600, 1500, 28 + 40, 1460);
  expect(564, 1500, 40, 1460);
  expect(563, 1500, 937, 1459);  // before what is kept, so it begins anew
}

}  // namespace
}  // namespace infeed
