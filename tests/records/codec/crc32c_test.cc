#include <gtest/gtest.h>
#include <random>
#include <string>

#include <infeed/records/crc32c.h>

#include "codec/copying_crc32c.h"
#include "codec/crc32c_fused.h"
#include "records/temporary_files.h"
#include "seeded_random.h"

namespace infeed {
namespace {

// RFC 3720, appendix B.4, and the check value of the catalogue of CRCs.
TEST(Crc32c, golden_vectors) {
  EXPECT_EQ(crc32c(""), 0U);
  EXPECT_EQ(crc32c("123456789"), 0xe3069283U);
  EXPECT_EQ(crc32c(std::string(32, '\0')), 0x8a9136aaU);
  EXPECT_EQ(crc32c(std::string(32, '\xff')), 0x62a8ab43U);
  std::string ascending;
  for (int i = 0; i < 32; ++i) ascending.push_back(static_cast<char>(i));
  EXPECT_EQ(crc32c(ascending), 0x46dd794eU);
}

// An empty record is 0000000000000000 29039807 d8ea82a2: little-endian words.
TEST(Crc32c, masked_as_in_a_record) {
  EXPECT_EQ(mask_crc32c(crc32c(std::string(8, '\0'))), 0x07980329U);
  EXPECT_EQ(mask_crc32c(crc32c("")), 0xa282ead8U);
  EXPECT_EQ(mask_crc32c(crc32c(std::string("\x09\0\0\0\0\0\0\0", 8))), 0x3971f937U);
  EXPECT_EQ(mask_crc32c(crc32c("123456789")), 0xc78ab0e5U);
}

TEST(Crc32c, unmask_is_the_inverse_of_mask) {
  for (std::uint32_t crc : {0U, 1U, 0xffffffffU, 0xdeadbeefU, 0x80000000U}) {
    EXPECT_EQ(unmask_crc32c(mask_crc32c(crc)), crc);
  }
}

// A slow, obvious model: one bit at a time.
std::uint32_t crc32c_by_bits(const std::string& bytes) {
  std::uint32_t crc = 0xffffffffU;
  for (const char c : bytes) {
    crc ^= static_cast<unsigned char>(c);
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1U) != 0 ? 0x82f63b78U : 0U);
  }
  return ~crc;
}

TEST(Crc32c, agrees_with_the_bitwise_model_at_every_length_and_alignment) {
  std::string bytes;
  for (int i = 0; i < 1100; ++i) bytes.push_back(static_cast<char>(i * 131 + i / 7));
  for (std::size_t size = 0; size < 1024; size += size < 600 ? 1 : 97) {
    for (std::size_t begin : {0, 1, 7, 13}) {
      const std::string piece = bytes.substr(begin, size);
      const std::string_view view = std::string_view(bytes).substr(begin, size);
      ASSERT_EQ(crc32c(view), crc32c_by_bits(piece)) << "size " << size << " begin " << begin;
    }
  }
}

// Long ones go by chunks, in another way.
TEST(Crc32c, agrees_with_the_bitwise_model_around_whole_chunks) {
  test::SeededRandom random;
  constexpr std::size_t kChunk = detail::kFusedCrcChunkBytes;
  for (const std::size_t size : {kChunk - 1, kChunk, kChunk + 1, 2 * kChunk, 5 * kChunk + 4321}) {
    const std::string bytes = test::random_bytes(random, size);
    for (const std::size_t begin : {0, 1, 13}) {
      const std::string piece = bytes.substr(begin);
      ASSERT_EQ(crc32c(std::string_view(bytes).substr(begin)), crc32c_by_bits(piece)) << size;
    }
    const std::size_t cut = random() % size;
    ASSERT_EQ(extend_crc32c(crc32c(bytes.substr(0, cut)), bytes.substr(cut)), crc32c(bytes));
  }
}

// A CPU takes one way alone; the others must give the same, if it can take them at all.
TEST(Crc32c, every_way_agrees_with_the_bitwise_model) {
  std::mt19937_64 random(11);
  constexpr std::size_t kChunk = detail::kFusedCrcChunkBytes;
  for (const std::size_t size : {std::size_t{0}, std::size_t{77}, kChunk, 2 * kChunk + 5}) {
    const std::string bytes = test::random_bytes(random, size);
    EXPECT_EQ(~detail::shifted_crc32c(~0U, bytes), crc32c_by_bits(bytes)) << size;
  }
#if defined(__x86_64__)
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("pclmul") ||
      !__builtin_cpu_supports("vpclmulqdq") || !__builtin_cpu_supports("sse4.2")) {
    return;
  }
  for (std::size_t chunks = 0; chunks < 4; ++chunks) {
    const std::string bytes = test::random_bytes(random, chunks * kChunk);
    EXPECT_EQ(~detail::fused_crc32c(~0U, bytes.data(), chunks), crc32c_by_bits(bytes)) << chunks;
  }
  for (std::size_t at = 0; at < kChunk; at += 31) {
    std::string bytes(kChunk, '\0');
    bytes[at] = static_cast<char>(1 << at % 8);
    ASSERT_EQ(~detail::fused_crc32c(~0U, bytes.data(), 1), crc32c_by_bits(bytes)) << "byte " << at;
  }
#endif
}

// A wrong factor for one part would show only in the bits of that part.
TEST(Crc32c, every_bit_of_a_chunk_counts) {
  const std::string zeros(detail::kFusedCrcChunkBytes, '\0');
  for (std::size_t at = 0; at < zeros.size(); at += 31) {
    std::string bytes = zeros;
    bytes[at] = static_cast<char>(1 << at % 8);
    ASSERT_EQ(crc32c(bytes), crc32c_by_bits(bytes)) << "byte " << at;
  }
}

// A part of the bytes, at any place, goes to any place.
TEST(Crc32c, copies_what_it_goes_over) {
  test::SeededRandom random;
  constexpr std::size_t kLarge = detail::kLargeValueBytes;
  for (int round = 0; round < 3000; ++round) {
    const bool is_large = round % 50 == 0;
    const std::size_t size =
        detail::LateCopy::kBytesMin + (is_large ? kLarge - 300 + random() % 600 : random() % 3000);
    const std::size_t before = random() % 300;
    const std::string bytes = test::random_bytes(random, before + size + random() % 700);
    const std::size_t to = random() % 100;
    std::string place(to + size + 100, '.');
    detail::LateCopy late;
    late.copy(place.data() + to, bytes.data() + before, size);
    ASSERT_EQ(late.bytes(), size);
    ASSERT_EQ(detail::crc32c_copying(bytes, late), crc32c(bytes)) << before << " " << size;
    ASSERT_EQ(late.bytes(), 0U);
    ASSERT_EQ(place, std::string(to, '.') + bytes.substr(before, size) + std::string(100, '.'));
    ASSERT_EQ(detail::crc32c_copying(bytes, late), crc32c(bytes));  // nothing is left
  }
}

TEST(LateCopy, leaves_the_largest) {
  const std::string small(100, 's');
  const std::string middle(1000, 'm');
  const std::string large(2000, 'l');
  std::string a(100, '.');
  std::string b(1000, '.');
  std::string c(2000, '.');
  detail::LateCopy late;
  late.copy(b.data(), middle.data(), middle.size());
  late.copy(a.data(), small.data(), small.size());
  EXPECT_EQ(a, small);
  EXPECT_EQ(b, std::string(1000, '.'));
  late.copy(c.data(), large.data(), large.size());
  EXPECT_EQ(b, middle);
  EXPECT_EQ(c, std::string(2000, '.'));
  late.run();
  EXPECT_EQ(c, large);
  EXPECT_EQ(late.bytes(), 0U);
}

TEST(Crc32c, extends) {
  const std::string bytes = "the quick brown fox jumps over the lazy dog";
  for (std::size_t cut = 0; cut <= bytes.size(); ++cut) {
    EXPECT_EQ(extend_crc32c(crc32c(bytes.substr(0, cut)), bytes.substr(cut)), crc32c(bytes));
  }
}

}  // namespace
}  // namespace infeed
