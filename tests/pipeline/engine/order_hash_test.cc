#include <array>
#include <cstdint>
#include <cstring>
#include <gtest/gtest.h>
#include <initializer_list>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <infeed/pipeline/detail/order_hash.h>
#include <infeed/records/record.h>

// Checkpoints hold these hashes, and a resume goes on with them, so they stay as they are.
namespace infeed::test {
namespace {

std::uint64_t hash_of_words(std::initializer_list<std::uint64_t> words) {
  OrderHash hash;
  for (const std::uint64_t word : words) hash.add(word);
  return hash.value();
}

template <class T>
std::uint64_t hash_of_element(const T& element) {
  static_assert(detail::has_content<T>());
  OrderHash hash;
  detail::hash_content(hash, element);
  return hash.value();
}

TEST(OrderHash, GivesTheKnownAnswers) {
  EXPECT_EQ(OrderHash().value(), 0U);
  EXPECT_EQ(hash_of_words({1}), 0x38f94c439ac36242U);
  EXPECT_EQ(hash_of_words({1, 2}), 0x9896e8bf3f53eadcU);
  OrderHash resumed(0x9896e8bf3f53eadcU);
  EXPECT_EQ(resumed.value(), 0x9896e8bf3f53eadcU);
  resumed.add(0xffffffffffffffffU);
  EXPECT_EQ(resumed.value(), 0xfaab55cbb9df52feU);
}

TEST(OrderHash, TakesBytesByEightBehindTheirNumber) {
  const std::string text = "abcdefghijklmnopq";
  const auto word = [&](std::size_t first, std::size_t size) {
    std::uint64_t bytes = 0;
    std::memcpy(&bytes, text.data() + first, size);
    return bytes;
  };
  EXPECT_EQ(hash_of_element(std::string()), hash_of_words({0}));
  EXPECT_EQ(hash_of_element(text.substr(0, 1)), hash_of_words({1, word(0, 1)}));
  EXPECT_EQ(hash_of_element(text.substr(0, 7)), hash_of_words({7, word(0, 7)}));
  EXPECT_EQ(hash_of_element(text.substr(0, 8)), hash_of_words({8, word(0, 8)}));
  EXPECT_EQ(hash_of_element(text.substr(0, 9)), hash_of_words({9, word(0, 8), word(8, 1)}));
  EXPECT_EQ(hash_of_element(text.substr(0, 16)), hash_of_words({16, word(0, 8), word(8, 8)}));
  EXPECT_EQ(hash_of_element(Record(text)),
            hash_of_words({17, word(0, 8), word(8, 8), word(16, 1)}));
}

enum class HashedColour : std::uint16_t { red, green };

struct HashedRow {
  std::uint8_t number;
  std::string text;
};

TEST(OrderHash, TakesElementsByTheirContent) {
  EXPECT_EQ(hash_of_element(std::int64_t{-1}), hash_of_words({0xffffffffffffffffU}));
  EXPECT_EQ(hash_of_element(std::int8_t{-1}), hash_of_words({0xff}));
  EXPECT_EQ(hash_of_element(true), hash_of_words({1}));
  EXPECT_EQ(hash_of_element(1.0F), hash_of_words({0x3f800000}));
  EXPECT_EQ(hash_of_element(HashedColour::green), hash_of_words({1}));
  EXPECT_EQ(hash_of_element(std::vector<std::int16_t>{1, 2}), hash_of_words({4, 0x20001}));
  EXPECT_EQ(hash_of_element(std::array<std::int32_t, 2>{1, 2}), hash_of_words({8, 0x200000001}));
  EXPECT_EQ(hash_of_element(std::vector<bool>{true, false}), hash_of_words({2, 1, 0}));
  EXPECT_EQ(hash_of_element(std::vector<std::string>{"a", ""}), hash_of_words({2, 1, 'a', 0}));
  EXPECT_EQ(hash_of_element(HashedRow{7, "x"}), hash_of_words({7, 1, 'x'}));
  EXPECT_EQ(hash_of_element(std::pair<std::uint8_t, std::string>(7, "x")),
            hash_of_words({7, 1, 'x'}));
}

TEST(OrderHash, TakesRunsOfValues) {
  const std::vector<std::int16_t> numbers = {1, 2};
  OrderHash of_numbers;
  detail::hash_values(of_numbers, std::span<const std::int16_t>(numbers));
  EXPECT_EQ(of_numbers.value(), hash_of_words({4, 0x20001}));
  const std::vector<std::string> texts = {"a", ""};
  OrderHash of_texts;
  detail::hash_values(of_texts, std::span<const std::string>(texts));
  EXPECT_EQ(of_texts.value(), hash_of_words({2, 1, 'a', 0}));
}

}  // namespace
}  // namespace infeed::test
