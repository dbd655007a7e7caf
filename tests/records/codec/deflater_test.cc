#include "codec/deflater.h"

#include <algorithm>
#include <list>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include <infeed/records/byte_stream.h>

#include "records/temporary_files.h"
#include "seeded_random.h"
#include "thrown_error.h"

namespace infeed::detail {
namespace {

// ISA-L itself doesn't guarantee this: deflater.cc explains how it depends on an address. Each
// segment repeats its first bytes at the end, where the difference shows, at level 1 in one of
// 8,000 segments.
TEST(Deflater, gives_the_same_bytes_wherever_its_state_lies) {
  test::SeededRandom random;
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

/// Returns what Deflater makes of 100 texts with a flush point behind each.
std::string deflated(Compression compression, int level, const std::vector<std::string>& texts) {
  std::string bytes;
  const auto deflater =
      make_deflater(compression, level, [&](std::string_view made) { bytes += made; });
  for (const std::string& text : texts) {
    deflater->write(text);
    deflater->flush_point();
  }
  deflater->finish();
  return bytes;
}

TEST(Deflater, writes_both_formats_at_all_levels) {
  std::mt19937_64 random(7);
  std::vector<std::string> texts;
  for (int i = 0; i < 100; ++i) {
    texts.push_back("some words and " + test::random_bytes(random, static_cast<std::size_t>(i)) +
                    " words and words");
  }
  texts.emplace_back(
      test::random_bytes(random, std::size_t{1} << 20));  // more than is given out at once
  std::string plain;
  for (const std::string& text : texts) plain += text;
  const TemporaryFolder folder;
  for (const Compression compression : {Compression::gzip, Compression::zlib}) {
    for (int level = 0; level <= 9; ++level) {
      ByteStream in(folder.write("f", deflated(compression, level, texts)), compression);
      std::string back(plain.size() + 1, '\0');
      EXPECT_EQ(in.read(back), plain.size()) << level;
      back.pop_back();
      EXPECT_TRUE(back == plain) << level;
    }
  }
}

TEST(Deflater, has_levels_from_0_to_9) {
  for (const int level : {-1, 10}) {
    const Error error = error_of([&] { make_deflater(Compression::gzip, level, {}); });
    EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
    EXPECT_EQ(error.message(), "compression_level is " + std::to_string(level) +
                                   ", it goes from 0 (fastest) to 9 (smallest)");
  }
}

TEST(Deflater, a_higher_level_makes_less) {
  std::string text;
  for (int i = 0; i < 20'000; ++i)
    text += std::to_string(i * i) + " squared is " + std::to_string(i);
  std::vector<std::size_t> sizes;
  for (const int level : {0, 2, 6, 9}) {
    sizes.push_back(deflated(Compression::gzip, level, {text}).size());
  }
  EXPECT_TRUE(std::is_sorted(sizes.rbegin(), sizes.rend())) << sizes[0] << ' ' << sizes[3];
  EXPECT_LT(sizes[1], sizes[0]);
  EXPECT_LT(sizes[3], sizes[1]);
}

}  // namespace
}  // namespace infeed::detail
