#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <utility>
#include <vector>

#include <infeed/records/tensor.h>
#include <infeed/records/tensor_pool.h>

#include "counting_memory.h"
#include "records/columns/failing_memory.h"
#include "thrown_error.h"

/// Memory behind tensors: who may write it, and when a pool lets go of it.
namespace infeed::test {
namespace {

TEST(TensorMemory, ThatWasAdoptedIsNeverWritten) {
  auto pixels = std::make_shared<std::vector<float>>(4, 0.5F);
  const float* const place = pixels->data();
  Tensor tensor(DType::float64, {3});
  tensor = Tensor::adopt(DType::float32, {2, 2}, place, std::move(pixels));
  EXPECT_FALSE(tensor.is_writable()) << "though nobody else has it";
  Tensor row = tensor.slice(1, 1);
  tensor = Tensor();
  EXPECT_THAT(row.values<float>(), ElementsAre(0.5F, 0.5F));
  EXPECT_FALSE(row.is_writable());
  row = Tensor(DType::int8, {2});
  EXPECT_TRUE(row.is_writable());
  Tensor part = row.slice(0, 1);
  EXPECT_FALSE(part.is_writable());
  row = Tensor();
  EXPECT_TRUE(part.is_writable()) << "the other one is gone";
}

TEST(TensorMemory, OfAByteAndOfNone) {
  EXPECT_THAT(Tensor::copy_of<std::uint8_t>({1}, {7}).values<std::uint8_t>(), ElementsAre(7));
  const Tensor none(DType::int32, {0, 3});
  EXPECT_EQ(none.slice(0, 0).shape(), Shape({0, 3}));
  EXPECT_EQ(error_of([&] { none.slice(0, 1); }).message(),
            "1 rows from 0 on are wanted of a tensor of shape [0, 3]");
  const Tensor scalar(DType::int8, {});
  EXPECT_EQ(error_of([&] { scalar.slice(0, 0); }).message(),
            "0 rows from 0 on are wanted of a tensor of shape []");
  const Tensor row(DType::int32, {1, 3});
  EXPECT_EQ(row.slice(1, 0).shape(), Shape({0, 3}));
}

TEST(TensorPool, frees_the_block_that_came_back_first_whatever_its_size) {
  const auto free_bytes = [](bool is_small_first) {
    const TensorPool pool({.free_bytes_max = 128});
    TensorPool::Block small = pool.take(64);
    TensorPool::Block large = pool.take(128);
    TensorPool::Block& first = is_small_first ? small : large;
    TensorPool::Block& last = is_small_first ? large : small;
    first = {};
    last = {};
    return pool.free_bytes();
  };
  EXPECT_EQ(free_bytes(true), 128U);
  EXPECT_EQ(free_bytes(false), 64U);
}

TEST(TensorPool, frees_what_comes_back_when_it_is_gone) {
  const auto memory = std::make_shared<CountingMemory>();
  std::optional<TensorPool> pool(std::in_place, TensorPoolOptions{.memory = memory});
  TensorPool::Block early = pool->take(64);
  TensorPool::Block late = pool->take(64);
  early = {};
  EXPECT_EQ(memory->held_bytes(), 128U) << "one lies free";
  pool.reset();
  EXPECT_EQ(memory->held_bytes(), 64U);
  late = {};
  EXPECT_EQ(memory->held_bytes(), 0U);
}

TEST(TensorPool, a_block_whose_memory_fails_in_another_way_is_not_in_use) {
  constexpr std::size_t kHuge = std::size_t{1} << 40;
  const TensorPool pool({.memory = std::make_shared<FailingMemory>([](std::size_t bytes) {
                           if (bytes >= kHuge) throw std::runtime_error("no");
                         })});
  EXPECT_THROW((void)pool.take(kHuge), std::runtime_error);
  { const TensorPool::Block small = pool.take(1 << 16); }
  const TensorPool::Block larger = pool.take(1 << 17);
  EXPECT_EQ(pool.free_bytes(), std::size_t{1} << 16);
}

}  // namespace
}  // namespace infeed::test
