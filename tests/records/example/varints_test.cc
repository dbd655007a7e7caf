#include "example/varints.h"

#include <string>
#include <vector>

#include <infeed/records/detail/usual_form.h>

#include "records/example/wire_writer.h"
#include "seeded_random.h"
#include "thrown_error.h"

namespace infeed::detail {
namespace {

/// Returns values of 1 to 10 bytes, as many as fill a block and the bytes loaded behind it.
std::string draw_block(std::mt19937_64& random, std::vector<std::uint64_t>& values) {
  std::string block;
  const std::uint64_t size_bits = 1 + random() % 64;
  while (block.size() < static_cast<std::size_t>(kVarintBlockBytes) + 8) {
    const std::uint64_t value = random() >> (64 - (1 + random() % size_bits));
    values.push_back(value);
    block += test::varint(value);
  }
  return block;
}

TEST(Varints, every_form_of_this_machine_decodes_alike) {
  test::SeededRandom random;
  for (int round = 0; round < 20000; ++round) {
    std::vector<std::uint64_t> values;
    const std::string block = draw_block(random, values);
    std::ptrdiff_t whole_bytes = 0;  // bytes of the values that end in the block
    std::size_t whole = 0;
    while (true) {
      const auto next = static_cast<std::ptrdiff_t>(test::varint(values.at(whole)).size());
      if (whole_bytes + next > kVarintBlockBytes) break;
      whole_bytes += next;
      ++whole;
    }
    for (const UnpackBlock form : unpack_block_forms()) {
      std::array<std::uint64_t, kVarintBlockBytes> found;
      const char* at = block.data();
      const std::size_t count = form(at, found.data());
      ASSERT_EQ(at - block.data(), whole_bytes);
      ASSERT_EQ(count, whole);
      ASSERT_TRUE(std::equal(found.begin(), found.begin() + static_cast<std::ptrdiff_t>(count),
                             values.begin()));
    }
  }
}

TEST(Varints, a_run_of_any_length_is_read_to_its_last_value) {
  test::SeededRandom random;
  for (std::size_t size = 2; size < 300; ++size) {
    for (const int bits : {7, 14, 20, 28, 40, 63}) {
      SCOPED_TRACE(::testing::Message() << size << " values of " << bits << " bits");
      std::vector<std::int64_t> values(size);
      for (std::int64_t& value : values) value = static_cast<std::int64_t>(random() >> (64 - bits));
      std::string list = test::packed_integers(values);
      std::vector<std::int64_t> found(size);
      ASSERT_TRUE(read_usual_integers<std::int64_t>(list, found));
      ASSERT_EQ(found, values);
      std::vector<std::int64_t> fewer(size - 1), more(size + 1);
      ASSERT_FALSE(read_usual_integers<std::int64_t>(list, fewer));
      ASSERT_FALSE(read_usual_integers<std::int64_t>(list, more));
      list.back() = static_cast<char>(list.back() | 0x80);  // the last value is cut
      ASSERT_FALSE(read_usual_integers<std::int64_t>(list, found));
      if (bits > 28) continue;
      std::vector<std::int32_t> narrow(size);
      ASSERT_TRUE(read_usual_integers<std::int32_t>(test::packed_integers(values), narrow));
      ASSERT_TRUE(std::equal(narrow.begin(), narrow.end(), values.begin()));
    }
  }
}

TEST(Varints, every_form_refuses_what_has_more_than_ten_bytes) {
  const std::string too_long = std::string(20, '\x01') + std::string(10, '\xff') + '\x01';
  const std::string endless(static_cast<std::size_t>(kVarintBlockBytes) + 8, '\xff');
  for (const std::string& begin : {too_long, endless}) {
    std::string block = begin;
    block.resize(static_cast<std::size_t>(kVarintBlockBytes) + 8, '\x01');
    for (const UnpackBlock form : unpack_block_forms()) {
      const Error error = error_of([&] {
        std::array<std::uint64_t, kVarintBlockBytes> found;
        const char* at = block.data();
        form(at, found.data());
      });
      EXPECT_EQ(error.message(),
                "the record is not a valid Example: an integer has more than ten bytes");
    }
  }
}

}  // namespace
}  // namespace infeed::detail
