#include "codec/deflater.h"

#include <gtest/gtest.h>
#include <list>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "records/temporary_files.h"

namespace infeed::detail {
namespace {

// ISA-L itself doesn't guarantee this: deflater.cc explains how it depends on an address. Each
// segment repeats its first bytes at the end, where the difference shows, at level 1 in one of
// 8,000 segments.
TEST(Deflater, gives_the_same_bytes_wherever_its_state_lies) {
  const auto seed = test::test_seed();
  SCOPED_TRACE("INFEED_TEST_SEED=" + std::to_string(seed));
  std::mt19937_64 random(seed);
  const auto letters = [&random](std::size_t count) {
    std::string text(count, '\0');
    for (char& letter : text) letter = static_cast<char>('a' + random() % 16);
    return text;
  };
  std::vector<std::string> segments;
  for (int i = 0; i < 300; ++i) {
    const std::string head = letters(12);
    segments.push_back(head + letters(300) + head);
  }
  for (int level = 0; level <= 3; ++level) {
    std::string first;
    std::list<std::unique_ptr<Deflater>> all;  // kept, so that each has its own address
    for (int i = 0; i < 150; ++i) {
      std::string bytes;
      Deflater& deflater = *all.emplace_back(
          make_deflater(Compression::gzip, level, [&](std::string_view made) { bytes += made; }));
      for (const std::string& segment : segments) {
        deflater.write(segment);
        deflater.flush_point();
      }
      deflater.finish();
      if (i == 0) first = bytes;
      ASSERT_TRUE(bytes == first) << "level " << level << ", state number " << i;
    }
  }
}

}  // namespace
}  // namespace infeed::detail
