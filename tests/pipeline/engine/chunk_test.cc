#include "infeed/pipeline/chunk.h"

#include <array>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include <infeed/error.h>
#include <infeed/pipeline/detail/held_bytes.h>
#include <infeed/pipeline/memory_account.h>

#include "engine/work/elements_in_hand.h"
#include "matchers.h"

// The values, the error and the memory that a chunk owns.
namespace infeed::test {
namespace {

using detail::ElementsInHand;
using detail::HeldBytes;

using Shared = std::shared_ptr<int>;

ErrorPointer broken() { return std::make_shared<const Error>(ErrorCode::data_loss, "broken"); }

bool is_aligned(const void* at, std::uintptr_t bytes) {
  return reinterpret_cast<std::uintptr_t>(at) % bytes == 0;
}

TEST(Chunk, HoldsSixteenKibibytesOr1024ElementsButAtLeastOne) {
  EXPECT_EQ(Chunk(type_info<char>()).capacity(), 1024U);
  EXPECT_EQ((Chunk(type_info<std::array<char, 16>>()).capacity()), 1024U);
  EXPECT_EQ((Chunk(type_info<std::array<char, 32>>()).capacity()), 512U);
  EXPECT_EQ((Chunk(type_info<std::array<char, 20'000>>()).capacity()), 1U);
}

TEST(Chunk, BeginsAtACacheLineOrAsItsTypeAsks) {
  struct alignas(256) Wide {
    std::uint8_t number;
  };
  std::vector<Chunk> chunks;  // all at once, or each would get the memory of the one before
  for (std::size_t capacity = 1; capacity < 20; ++capacity) {
    chunks.emplace_back(type_info<char>(), capacity);
    EXPECT_TRUE(is_aligned(chunks.back().front(), 64)) << capacity;
    chunks.emplace_back(type_info<Wide>(), capacity);
    EXPECT_TRUE(is_aligned(chunks.back().front(), 256)) << capacity;
  }
}

TEST(Chunk, DestroysItsValues) {
  const auto number = std::make_shared<int>(1);
  {
    Chunk chunk(type_info<Shared>(), 3);
    chunk.append(number);
    chunk.append(number);
    chunk.set_error(broken());
    EXPECT_EQ(number.use_count(), 3);
    EXPECT_EQ(chunk.slots(), 3U);
    EXPECT_EQ(chunk.room(), 1U);
    chunk.clear();
    EXPECT_EQ(number.use_count(), 1);
    EXPECT_TRUE(chunk.empty());
    EXPECT_EQ(chunk.room(), 3U);
    chunk.append(number);
  }
  EXPECT_EQ(number.use_count(), 1);
}

TEST(Chunk, AppendsWhatThereIsRoomFor) {
  Chunk from(type_info<int>(), 10);
  for (int i = 0; i < 6; ++i) from.append(i);
  Chunk to(type_info<int>(), 4);
  EXPECT_EQ(to.append_from(from, 0), 0U);
  EXPECT_EQ(to.append_from(from, 2), 2U);
  EXPECT_EQ(to.append_from(from, 9), 2U);
  EXPECT_THAT(to.values<int>(), ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(from.values<int>(), ElementsAre(4, 5));
  EXPECT_EQ(to.append_from(from, 1), 0U) << "it is full";
  to.clear();
  EXPECT_EQ(to.append_from(from, 9), 2U);
  EXPECT_THAT(to.values<int>(), ElementsAre(4, 5));
  EXPECT_EQ(from.room(), 10U) << "an empty one begins in front";
}

TEST(Chunk, IsMovedWithItsErrorAndItsMemory) {
  MemoryAccount account(0);
  const auto number = std::make_shared<int>(1);
  const auto other_number = std::make_shared<int>(2);
  Chunk chunk(type_info<Shared>(), 3);
  chunk.append(number);
  chunk.append(number);
  chunk.held().set(account, 100);
  chunk.set_error(broken());
  Chunk moved(std::move(chunk));
  EXPECT_TRUE(chunk.empty());  // NOLINT(bugprone-use-after-move): that is what is tested
  EXPECT_EQ(moved.size(), 2U);
  EXPECT_EQ(moved.capacity(), 3U);
  EXPECT_TRUE(moved.has_error());
  EXPECT_EQ(moved.held().bytes(), 100U);
  EXPECT_EQ(number.use_count(), 3);
  Chunk target(type_info<Shared>(), 7);
  target.append(other_number);
  target.held().set(account, 50);
  target = std::move(moved);
  EXPECT_EQ(other_number.use_count(), 1) << "its old values are gone";
  EXPECT_EQ(account.in_use_bytes(), 100U);
  EXPECT_EQ(target.capacity(), 3U);
  EXPECT_EQ(target.slots(), 3U);
  target.clear();
  EXPECT_EQ(number.use_count(), 1);
  EXPECT_EQ(account.in_use_bytes(), 0U);
}

TEST(Chunk, ExchangesAllThatItHas) {
  MemoryAccount account(0);
  Chunk numbers(type_info<int>(), 3);
  for (int i = 0; i < 3; ++i) numbers.append(i);
  numbers.drop_front(1);
  numbers.held().set(account, 100);
  Chunk letters(type_info<char>(), 5);
  letters.append('x');
  letters.set_error(broken());
  numbers.swap(letters);
  EXPECT_EQ(&numbers.type(), &type_info<char>());
  EXPECT_EQ(numbers.capacity(), 5U);
  EXPECT_TRUE(numbers.has_error());
  EXPECT_EQ(numbers.held().bytes(), 0U);
  EXPECT_THAT(numbers.values<char>(), ElementsAre('x'));
  EXPECT_FALSE(letters.has_error());
  EXPECT_EQ(letters.held().bytes(), 100U);
  EXPECT_EQ(letters.room(), 0U);
  EXPECT_THAT(letters.values<int>(), ElementsAre(1, 2));
}

TEST(Chunk, GivesItsMemoryBackWithTheLastValue) {
  MemoryAccount account(0);
  Chunk chunk(type_info<int>(), 3);
  chunk.append(1);
  chunk.append(2);
  chunk.held().set(account, 8);
  chunk.drop_back(1);
  EXPECT_EQ(account.in_use_bytes(), 8U);
  chunk.drop_back(1);
  EXPECT_EQ(account.in_use_bytes(), 0U);
}

TEST(HeldBytes, AreMovedInParts) {
  MemoryAccount account(400);  // 100 for best effort
  HeldBytes first;
  EXPECT_TRUE(first.try_grow_to(account, 60));
  EXPECT_TRUE(first.try_grow_to(account, 20)) << "it never shrinks by that";
  EXPECT_EQ(first.bytes(), 60U);
  EXPECT_FALSE(first.try_grow_to(account, 101));
  EXPECT_EQ(first.bytes(), 60U);
  HeldBytes second;
  second.take_from(first, 25);
  EXPECT_EQ(first.bytes(), 35U);
  EXPECT_EQ(second.bytes(), 25U);
  second.take_from(first);
  EXPECT_EQ(first.bytes(), 0U);
  EXPECT_EQ(second.bytes(), 60U);
  EXPECT_EQ(account.in_use_bytes(), 60U);
  second.set(account, 200);
  EXPECT_EQ(account.in_use_bytes(), 200U) << "it is in use already";
  second.set(account, 10);
  EXPECT_EQ(account.in_use_bytes(), 10U);
  second.release();
  second.release();
  EXPECT_EQ(account.in_use_bytes(), 0U);
}

/// The expectation grows at once, and sinks by a sixteenth each time.
TEST(ElementsInHand, AreExpectedToBeAsLargeAsRecentOnes) {
  MemoryAccount account(1200);  // 300 for best effort
  ElementsInHand in_hand(account, 10);
  EXPECT_TRUE(in_hand.try_expect(3));
  EXPECT_EQ(in_hand.held().bytes(), 30U);
  Chunk chunk(type_info<int>(), 3);
  chunk.append(1);
  chunk.append(2);
  in_hand.hold(chunk, 320);
  EXPECT_EQ(in_hand.held().bytes(), 320U);
  EXPECT_EQ(in_hand.bytes_each(), 160U);
  in_hand.hold(chunk, 20);
  EXPECT_EQ(in_hand.bytes_each(), 150U);
  EXPECT_EQ(account.in_use_bytes(), 20U);
  EXPECT_FALSE(in_hand.try_expect(3));
  EXPECT_TRUE(in_hand.try_expect(2));
  EXPECT_EQ(in_hand.held().bytes(), 300U);
}

/// A batch of 200 KB was expected 1024 times, so any limit seemed to be reached.
TEST(ElementsInHand, AreExpectedAsFarAsAPullGivesThem) {
  MemoryAccount account(1'000'000);  // 250,000 for best effort
  ElementsInHand large(account, 16);
  Chunk chunk(type_info<int>(), 3);
  chunk.append(1);
  large.hold(chunk, 200'000);
  large.held().release();
  EXPECT_TRUE(large.try_expect(1024));
  EXPECT_EQ(account.in_use_bytes(), 200'000U) << "one";
  EXPECT_EQ(account.refusals(), 0U);
  large.held().release();
  ElementsInHand small(account, 100);
  EXPECT_TRUE(small.try_expect(10));
  EXPECT_EQ(account.in_use_bytes(), 1000U);
  EXPECT_TRUE(small.try_expect(1024));
  EXPECT_EQ(account.in_use_bytes(), 80U * 1024) << "the chunk's own, and what they own elsewhere";
}

TEST(ElementsInHand, TakeOverWhatTheirMakerHasCounted) {
  MemoryAccount account(0);
  ElementsInHand in_hand(account, 10);
  EXPECT_TRUE(in_hand.try_expect(1));
  Chunk chunk(type_info<int>(), 3);
  chunk.append(1);
  chunk.held().set(account, 500);
  in_hand.hold(chunk, 480);
  EXPECT_EQ(chunk.held().bytes(), 0U);
  EXPECT_EQ(account.in_use_bytes(), 480U) << "once";
  EXPECT_TRUE(in_hand.try_expect(1));
  EXPECT_EQ(account.in_use_bytes(), 0U) << "the next ones' maker counts them, too";
}

}  // namespace
}  // namespace infeed::test
