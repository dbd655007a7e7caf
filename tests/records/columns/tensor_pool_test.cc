#include "infeed/records/tensor_pool.h"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "counting_memory.h"
#include "infeed/records/tensor.h"
#include "records/on_core.h"
#include "thrown_error.h"

namespace infeed {
namespace {

TEST(TensorPool, memory_comes_back_with_the_last_copy) {
  const TensorPool pool;
  // As much as was in use before: the smaller block stays in the pool, and no other memory lies
  // there.
  { const Tensor room(DType::uint8, {1 << 16}, pool); }
  Tensor tensor(DType::float32, {1000}, pool);
  const std::byte* const place = tensor.data();
  Tensor copy = tensor.slice(10, 10);
  tensor = Tensor();
  EXPECT_EQ(pool.free_bytes(), 0U);
  copy = Tensor();
  EXPECT_GE(pool.free_bytes(), 4000U);
  EXPECT_LE(pool.free_bytes(), 5000U);
  EXPECT_EQ(Tensor(DType::float32, {1010}, pool).data(), place) << "a little larger, the same size";
  EXPECT_NE(Tensor(DType::float32, {4000}, pool).data(), place);
}

TEST(TensorPool, sizes_are_rounded_up_in_quarters) {
  const TensorPool pool;
  for (const auto& [bytes, rounded] :
       std::vector<std::pair<std::size_t, std::size_t>>{{0, 64},
                                                        {1, 64},
                                                        {64, 64},
                                                        {65, 128},
                                                        {128, 128},
                                                        {129, 192},
                                                        {256, 256},
                                                        {257, 320},
                                                        {512, 512},
                                                        {513, 640},
                                                        {640, 640},
                                                        {641, 768},
                                                        {1000, 1024},
                                                        {1024, 1024},
                                                        {1025, 1280},
                                                        {4097, 5120},
                                                        {8000, 8192},
                                                        {8192, 8192},
                                                        {8193, 10240}}) {
    const TensorPool::Block block = pool.take(bytes);
    EXPECT_EQ(block.bytes, rounded) << bytes;
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(block.memory.get()) % 64, 0U);
  }
}

TEST(TensorPool, a_tensor_fits_in_its_block) {
  const TensorPool pool;
  EXPECT_EQ(Tensor::of_block(DType::int64, {8}, pool.take(64)).bytes(), 64U);
  EXPECT_EQ(error_of([&] { Tensor::of_block(DType::int8, {65}, pool.take(64)); }).message(),
            "a tensor of 65 bytes is to lie in a block of 64");
}

/// An account that allows some bytes, and knows how many lie free.
struct LimitedAccount : FreeMemoryAccount {
  explicit LimitedAccount(std::size_t allowed) : bytes_max(allowed) {}
  bool try_keep(std::size_t size) noexcept override {
    if (bytes + size > bytes_max) return false;
    bytes += size;
    return true;
  }
  void let_go(std::size_t size) noexcept override { bytes -= size; }

  const std::size_t bytes_max;
  std::size_t bytes = 0;
};

TEST(TensorPool, asks_the_account_for_all_that_lies_free) {
  const auto account = std::make_shared<LimitedAccount>(128);
  {
    const TensorPool pool({.account = account});
    {
      const Tensor a(DType::uint8, {64}, pool);
      const Tensor b(DType::uint8, {64}, pool);
      const Tensor c(DType::uint8, {64}, pool);
      EXPECT_EQ(account->bytes, 0U);
    }
    EXPECT_EQ(pool.free_bytes(), 128U) << "there is no room for a third one";
    EXPECT_EQ(account->bytes, 128U);
    const Tensor again(DType::uint8, {64}, pool);
    EXPECT_EQ(pool.free_bytes(), 64U);
    EXPECT_EQ(account->bytes, 64U);
  }
  EXPECT_EQ(account->bytes, 0U) << "a pool that is gone holds nothing";
}

TEST(TensorPool, a_core_gets_what_it_had_and_else_what_the_other_had) {
  const TensorPool pool;
  std::vector<Tensor> tensors;
  const auto take = [&] { tensors.emplace_back(DType::uint8, Shape({1 << 16}), pool); };
  const auto places = [&] { return std::vector{tensors[0].data(), tensors[1].data()}; };
  const std::vector<int> cores = test::two_cores();
  for (const int core : cores) test::on_core(core, take);
  const auto expected = test::as_core_0_gets(places());
  for (Tensor& tensor : tensors) tensor = Tensor();
  tensors.clear();
  for (int i = 0; i < 2; ++i) test::on_core(cores[0], take);
  EXPECT_EQ(places(), expected);
}

TEST(TensorPool, is_bounded_and_keeps_the_newest) {
  const TensorPool pool({.free_bytes_max = 1 << 20});
  {
    std::vector<Tensor> tensors;
    for (int i = 0; i < 10; ++i) tensors.emplace_back(DType::uint8, Shape({1 << 18}), pool);
  }
  EXPECT_EQ(pool.free_bytes(), std::size_t{1} << 20);
  { const Tensor huge(DType::uint8, {1 << 22}, pool); }
  EXPECT_EQ(pool.free_bytes(), std::size_t{1} << 22) << "one block, whatever its size";
  { const Tensor small(DType::uint8, {100}, pool); }
  EXPECT_EQ(pool.free_bytes(), 128U);
}

TEST(TensorPool, holds_no_more_than_was_in_use_at_once) {
  const TensorPool pool;
  for (int i = 0; i < 50; ++i) {
    // All free blocks have another size.
    const Tensor tensor(DType::uint8, {(1 << 16) + i * 20'000}, pool);
    EXPECT_EQ(pool.free_bytes(), 0U);
  }
  EXPECT_LE(pool.free_bytes(), std::size_t{1} << 21);
  std::vector<Tensor> batches;
  for (int i = 0; i < 8; ++i) batches.emplace_back(DType::uint8, Shape({1 << 20}), pool);
  batches.resize(2);
  EXPECT_EQ(pool.free_bytes(), std::size_t{6} << 20) << "the batches of the next round find memory";
}

TEST(TensorPool, a_tensor_may_outlive_it) {
  auto pool = std::make_unique<TensorPool>();
  Tensor tensor(DType::int64, {100}, *pool);
  const TensorPool same = *pool;
  pool.reset();
  tensor.writable<std::int64_t>()[99] = 5;
  EXPECT_EQ(tensor.values<std::int64_t>()[99], 5);
  tensor = Tensor();
  EXPECT_GT(same.free_bytes(), 0U) << "a copy of a pool is the same pool";
  Tensor last;
  {
    const TensorPool gone;
    last = Tensor(DType::int64, {100}, gone);
  }
  last.writable<std::int64_t>()[0] = 1;
}

TEST(TensorPool, threads_take_and_drop) {
  const TensorPool pool({.free_bytes_max = 100'000});
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&pool, thread] {
      for (std::int64_t i = 1; i < 2000; ++i) {
        Tensor tensor(DType::uint8, {i % 97 * 64 + 1}, pool);
        std::memset(tensor.writable<std::uint8_t>().data(), thread, tensor.bytes());
        const Tensor copy = tensor;
        for (const std::uint8_t byte : copy.values<std::uint8_t>()) ASSERT_EQ(byte, thread);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_LE(pool.free_bytes(), 100'000U);
}

TEST(TensorPool, a_block_that_could_not_be_made_is_not_in_use) {
  constexpr std::size_t kHuge = std::size_t{1} << 40;
  const TensorPool pool({.memory = std::make_shared<test::CountingMemory>(kHuge - 1)});
  EXPECT_EQ(error_of([&] { (void)pool.take(kHuge); }).code(), ErrorCode::resource_exhausted);
  { const TensorPool::Block small = pool.take(1 << 16); }
  const TensorPool::Block larger = pool.take(1 << 17);
  EXPECT_EQ(pool.free_bytes(), std::size_t{1} << 16)
      << "the huge block counts among what was in use at most, but not as in use";
}

}  // namespace
}  // namespace infeed
