#include "infeed/records/detail/usual_form.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <gtest/gtest.h>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "records/example/wire_writer.h"

namespace infeed::detail {
namespace {

using test::bytes_field;
using test::packed_integers;
using test::varint;

/// Returns the size of the content of field 1; -1 where there is none.
std::ptrdiff_t content_size(const std::string& bytes, std::ptrdiff_t* rest = nullptr) {
  const char* at = bytes.data();
  const char* const end = at + bytes.size();
  std::size_t size = 0;
  const char* const content = usual_content(at, end, 0x0a, size);
  if (content == nullptr) return -1;
  EXPECT_EQ(at, content + size);
  if (rest != nullptr) *rest = end - at;
  return static_cast<std::ptrdiff_t>(size);
}

TEST(UsualForm, LengthsHaveUpToThreeBytes) {
  for (const std::size_t size : {0, 1, 127, 128, 16383, 16384, 2097151}) {
    const std::string field = bytes_field(1, std::string(size, 'x'));
    std::ptrdiff_t rest = 0;
    EXPECT_EQ(content_size(field, &rest), static_cast<std::ptrdiff_t>(size));
    EXPECT_EQ(rest, 0);
    EXPECT_EQ(content_size(field + "yz", &rest), static_cast<std::ptrdiff_t>(size));
    EXPECT_EQ(rest, 2);
    EXPECT_EQ(content_size(field.substr(0, field.size() - 1)), -1) << "cut: " << size;
    std::size_t whole = 0;
    EXPECT_EQ(usual_whole(field, 0x0a, whole) != nullptr, true);
    EXPECT_EQ(whole, size);
    EXPECT_EQ(usual_whole(field + "y", 0x0a, whole), nullptr) << "something follows";
  }
  EXPECT_EQ(content_size(bytes_field(1, std::string(2097152, 'x'))), -1);
  EXPECT_EQ(content_size(bytes_field(2, "x")), -1) << "of another field";
  EXPECT_EQ(content_size(""), -1);
  EXPECT_EQ(content_size("\x0a"), -1);
  EXPECT_EQ(content_size(std::string("\x0a\x80\x00", 3)), -1) << "too little to look at";
  EXPECT_EQ(content_size(std::string("\x0a\x80\x00x", 4)), 0);
}

TEST(UsualForm, OneIntegerIsPackedOrNot) {
  const auto read = [](std::string_view list) -> std::optional<std::int64_t> {
    std::int64_t value = 0;
    if (!read_usual_integers(list, std::span<std::int64_t>(&value, 1))) return std::nullopt;
    return value;
  };
  constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min();
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  for (const std::int64_t value :
       {std::int64_t{0}, std::int64_t{5}, std::int64_t{127}, std::int64_t{128}, std::int64_t{300},
        std::int64_t{16384}, std::int64_t{1} << 62, kMost, kLeast, std::int64_t{-1}}) {
    const std::string bytes = varint(static_cast<std::uint64_t>(value));
    EXPECT_EQ(read(bytes_field(1, bytes)), value);
    EXPECT_EQ(read("\x08" + bytes), value) << "not packed";
  }
  EXPECT_EQ(read(""), std::nullopt);
  EXPECT_EQ(read(packed_integers({})), std::nullopt);
  EXPECT_EQ(read(packed_integers({1, 2})), std::nullopt);
  EXPECT_EQ(read("\x08"), std::nullopt);
  EXPECT_EQ(read("\x08\x05\x08\x06"), std::nullopt) << "two that are not packed";
  EXPECT_EQ(read("\x10\x05"), std::nullopt) << "another field";
  EXPECT_EQ(read("\x08\x80"), std::nullopt) << "cut";
  EXPECT_EQ(read("\x08" + std::string(10, '\x80') + '\x01'), std::nullopt) << "eleven bytes";
}

template <class I>
bool takes(std::int64_t value) {
  I one{};
  std::vector<I> two(2);
  const bool is_taken = read_usual_integers(packed_integers({value}), std::span<I>(&one, 1));
  EXPECT_EQ(read_usual_integers(packed_integers({1, value}), std::span<I>(two)), is_taken);
  if (!is_taken) return false;
  EXPECT_EQ(static_cast<std::int64_t>(one), value);
  EXPECT_EQ(static_cast<std::int64_t>(two[0]), 1);
  EXPECT_EQ(static_cast<std::int64_t>(two[1]), value);
  return true;
}

template <class I>
void expect_range(std::int64_t first, std::int64_t last) {
  EXPECT_TRUE(takes<I>(first));
  EXPECT_TRUE(takes<I>(last));
  EXPECT_FALSE(takes<I>(first - 1));
  EXPECT_FALSE(takes<I>(last + 1));
}

TEST(UsualForm, IntegersFitTheirType) {
  expect_range<std::int8_t>(-128, 127);
  expect_range<std::int16_t>(-32768, 32767);
  expect_range<std::int32_t>(-2147483648, 2147483647);
  expect_range<std::uint8_t>(0, 255);
  expect_range<std::uint16_t>(0, 65535);
  expect_range<std::uint32_t>(0, 4294967295);
  EXPECT_TRUE(takes<std::uint64_t>(std::numeric_limits<std::int64_t>::max()));
  EXPECT_FALSE(takes<std::uint64_t>(-1));
}

TEST(UsualForm, RunsOfAnyLengthAreUnpacked) {
  for (std::size_t size = 1; size < 200; ++size) {
    std::vector<std::int64_t> values;
    for (std::size_t i = 0; i < size; ++i) {
      values.push_back(static_cast<std::int64_t>(i % 7 == 0 ? i : i * 97 % 30'000));
    }
    const std::string list = packed_integers(values);
    std::vector<std::int64_t> wide(usual_integers_room(list));
    ASSERT_EQ(unpack_usual_integers<std::int64_t>(list, wide), size);
    ASSERT_TRUE(std::equal(values.begin(), values.end(), wide.begin()));
    std::vector<std::int16_t> narrow(usual_integers_room(list));
    ASSERT_EQ(unpack_usual_integers<std::int16_t>(list, narrow), size);
    ASSERT_TRUE(std::equal(values.begin(), values.end(), narrow.begin()));
    values[size * 2 / 3] = 32768;
    ASSERT_EQ(unpack_usual_integers<std::int16_t>(packed_integers(values), narrow), 0U) << size;
    std::string cut = list;
    cut.back() = static_cast<char>(cut.back() | 0x80);
    ASSERT_EQ(unpack_usual_integers<std::int64_t>(cut, wide), 0U);
    ASSERT_EQ(unpack_usual_integers<std::int64_t>(list + "\x08\x01", wide), 0U);
  }
  std::vector<std::int64_t> place(100);
  EXPECT_EQ(unpack_usual_integers<std::int64_t>(packed_integers({}), place), 0U);
  EXPECT_EQ(unpack_usual_integers<std::int64_t>("\x08\x05", place), 0U);
  EXPECT_EQ(
      unpack_usual_integers<std::int64_t>(bytes_field(1, std::string(10, '\x80') + '\x01'), place),
      0U)
      << "eleven bytes";
}

TEST(UsualForm, AppendedIntegersLeaveNothingBehindWhereTheyAreNone) {
  AlignedArray<std::int8_t> out;
  EXPECT_TRUE(append_usual_integers(packed_integers({1, 2}), out));
  EXPECT_FALSE(append_usual_integers(packed_integers({3, 200}), out));
  EXPECT_FALSE(append_usual_integers(packed_integers({}), out));
  EXPECT_TRUE(append_usual_integers(packed_integers({-4}), out));
  const std::array<std::int8_t, 3> expected = {1, 2, -4};
  EXPECT_TRUE(std::ranges::equal(out.values(), expected));
}

TEST(UsualForm, FloatsAndBytes) {
  const std::string bytes("\x00\x00\x80\x3f\x00\x00\x00\x40\x00\x00\x40\x40", 12);  // 1, 2, 3
  const auto front = [&](std::size_t size) { return bytes.substr(0, size); };
  float one = 0;
  EXPECT_TRUE(read_usual_float(bytes_field(1, front(4)), one));
  EXPECT_EQ(one, 1);
  EXPECT_TRUE(read_usual_float("\x0d" + bytes.substr(4, 4), one)) << "not packed";
  EXPECT_EQ(one, 2);
  for (const std::string& list :
       {std::string(), front(4), "\x0d" + front(3), "\x0d" + front(5), "\x0e" + front(4),
        bytes_field(1, front(3)), bytes_field(1, front(8)), bytes_field(2, front(4)),
        "\x0a\x05" + front(4)}) {
    EXPECT_FALSE(read_usual_float(list, one));
  }
  std::array<float, 2> two{};
  EXPECT_TRUE(read_usual_floats(bytes_field(1, front(8)), two));
  EXPECT_EQ(two[0], 1);
  EXPECT_EQ(two[1], 2);
  EXPECT_FALSE(read_usual_floats(bytes_field(1, front(4)), two));
  EXPECT_FALSE(read_usual_floats(bytes_field(1, front(12)), two));
  EXPECT_FALSE(read_usual_floats(bytes_field(1, front(8)) + "x", two));
  EXPECT_FALSE(read_usual_floats(bytes_field(1, ""), std::span<float>()));
  std::string_view text;
  EXPECT_TRUE(read_usual_bytes(bytes_field(1, "abc"), text));
  EXPECT_TRUE(read_usual_bytes(bytes_field(1, ""), text));
  EXPECT_FALSE(read_usual_bytes("", text));
  EXPECT_FALSE(read_usual_bytes(bytes_field(1, "a") + bytes_field(1, "b"), text));
}

}  // namespace
}  // namespace infeed::detail
