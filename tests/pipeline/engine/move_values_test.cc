#include "engine/move_values.h"

#include <array>
#include <cstddef>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include <infeed/pipeline/chunk.h>
#include <infeed/pipeline/type_info.h>

#include "engine/copy_values.h"
#include "matchers.h"

// Moves and copies of elements whose type nobody knows.
namespace infeed::test {
namespace {

template <class T>
std::size_t size_known_for() {
  return detail::with_size(type_info<T>(), [](auto size) -> std::size_t { return size; });
}

template <std::size_t kSize>
void expect_moved(std::size_t known_size) {
  SCOPED_TRACE(kSize);
  using Bytes = std::array<char, kSize>;
  EXPECT_EQ(size_known_for<Bytes>(), known_size);
  std::vector<Bytes> from(7);
  for (std::size_t i = 0; i < from.size(); ++i) {
    for (std::size_t k = 0; k < kSize; ++k) from[i][k] = static_cast<char>(19 * i + k);
  }
  std::vector<Bytes> to(3);
  const TypeInfo& type = type_info<Bytes>();
  detail::move_strided(type, to.data(), from.data(), 1, 3, 2);
  detail::with_size(
      type, [&](auto size) { detail::move_one<decltype(size)::value>(type, &to[2], &from[6]); });
  EXPECT_THAT(to, ElementsAre(from[1], from[4], from[6]));
}

TEST(MoveValues, OfAnySizeKeepTheirBytes) {
  expect_moved<1>(0);
  expect_moved<4>(4);
  expect_moved<5>(0);
  expect_moved<8>(8);
  expect_moved<9>(0);
  expect_moved<16>(16);
  expect_moved<17>(0);
  expect_moved<24>(24);
  expect_moved<25>(0);
  expect_moved<32>(32);
  expect_moved<33>(0);
  expect_moved<64>(64);
  expect_moved<65>(0);
  EXPECT_EQ(size_known_for<std::string>(), 0U) << "it may point to itself";
}

TEST(MoveValues, ThatArePassedOverAreDestroyed) {
  using Counted = std::shared_ptr<int>;
  const Counted number = std::make_shared<int>(1);
  alignas(Counted) std::array<std::byte, 5 * sizeof(Counted)> from{};
  alignas(Counted) std::array<std::byte, 2 * sizeof(Counted)> to{};
  const TypeInfo& type = type_info<Counted>();
  for (std::size_t i = 0; i < 5; ++i) type.copy_run(&from[i * sizeof(Counted)], &number, 1);
  EXPECT_EQ(number.use_count(), 6);
  detail::move_strided(type, to.data(), from.data(), 1, 3, 2);
  EXPECT_EQ(number.use_count(), 3);
  type.destroy(to.data(), 2);
  EXPECT_EQ(number.use_count(), 1);
}

/// A copy of 3 fails.
struct FragileCopy {
  explicit FragileCopy(int own) : number(own) {}
  FragileCopy(const FragileCopy& other) : number(other.number) {
    if (number == 3) throw std::runtime_error("3 can't be copied");
  }
  FragileCopy(FragileCopy&&) noexcept = default;
  FragileCopy& operator=(const FragileCopy&) = delete;
  FragileCopy& operator=(FragileCopy&&) = delete;
  ~FragileCopy() = default;

  int number;
};

std::vector<int> numbers_of(const Chunk& chunk) {
  std::vector<int> numbers;
  for (std::size_t i = 0; i < chunk.size(); ++i) {
    numbers.push_back(static_cast<const FragileCopy*>(chunk.value(i))->number);
  }
  return numbers;
}

TEST(CopyValues, ACopyThatFailsIsAnErrorInItsPlace) {
  std::vector<FragileCopy> from;
  for (const int number : {0, 1, 2, 3, 4, 5}) from.emplace_back(number);
  Chunk out(type_info<FragileCopy>(), 10);
  EXPECT_EQ(detail::append_copies(out, from.data(), 3), 3U);
  EXPECT_EQ(out.size(), 3U);
  EXPECT_FALSE(out.has_error());
  EXPECT_EQ(detail::append_copies(out, &from[1], 5), 3U) << "1, 2 and the failure";
  EXPECT_THAT(numbers_of(out), ElementsAre(0, 1, 2, 1, 2));
  ASSERT_TRUE(out.has_error());
  EXPECT_EQ(out.take_error()->message(), "3 can't be copied");
  EXPECT_EQ(detail::append_copies(out, &from[4], 2), 2U);
  EXPECT_THAT(numbers_of(out), ElementsAre(0, 1, 2, 1, 2, 4, 5));
}

}  // namespace
}  // namespace infeed::test
