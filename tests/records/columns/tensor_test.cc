#include "infeed/records/tensor.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <limits>
#include <memory>
#include <memory_resource>
#include <new>
#include <thread>
#include <utility>
#include <vector>

#include "records/on_core.h"
#include "thrown_error.h"

namespace infeed {
namespace {

using test::error_of;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(DType, names_go_both_ways) {
  for (std::size_t i = 0; i < kDTypes; ++i) {
    const auto dtype = static_cast<DType>(i);
    EXPECT_EQ(dtype_from(to_string(dtype)), dtype);
  }
  EXPECT_EQ(to_string(DType::boolean), "bool");
  EXPECT_EQ(to_string(DType::bfloat16), "bfloat16");
  const Error error = error_of([] { dtype_from("int31"); });
  EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
  EXPECT_EQ(error.message(),
            "there is no dtype 'int31'; the dtypes are bool, int8, int16, int32, int64, uint8, "
            "uint16, uint32, uint64, float16, bfloat16, float32, float64, bytes");
}

TEST(DType, of_types) {
  static_assert(dtype_of<bool>() == DType::boolean);
  static_assert(dtype_of<signed char>() == DType::int8);
  static_assert(dtype_of<std::byte>() == DType::uint8);
  static_assert(dtype_of<unsigned short>() == DType::uint16);
  static_assert(dtype_of<long>() == DType::int64);
  static_assert(dtype_of<long long>() == DType::int64);
  static_assert(dtype_of<unsigned long long>() == DType::uint64);
  static_assert(dtype_of<infeed::float16>() == DType::float16);
  static_assert(dtype_of<double>() == DType::float64);
  static_assert(item_bytes(DType::bfloat16) == 2 && item_bytes(DType::bytes) == 0);
  static_assert(is_float(DType::float16) && !is_float(DType::uint64) && !is_float(DType::bytes));
  static_assert(is_integer(DType::boolean) && !is_integer(DType::bytes));
}

TEST(Float16, every_pattern_survives_the_round_trip) {
  for (std::uint32_t bits = 0; bits <= 0xffff; ++bits) {
    const float16 value = float16::from_bits(static_cast<std::uint16_t>(bits));
    const auto wide = static_cast<float>(value);
    const float16 again(wide);
    if (std::isnan(wide)) {
      EXPECT_EQ(again.bits, bits | 0x200U);
    } else {
      EXPECT_EQ(again.bits, bits);
    }
  }
}

TEST(Float16, rounds_to_the_nearest_and_ties_to_even) {
  std::uint32_t checked = 0;
  for (std::uint32_t bits = 0; bits < 0x7bff; ++bits) {
    const auto low = static_cast<float>(float16::from_bits(static_cast<std::uint16_t>(bits)));
    const auto high = static_cast<float>(float16::from_bits(static_cast<std::uint16_t>(bits + 1)));
    const float middle = (low + high) / 2;  // exact in float32
    const std::uint32_t even = (bits & 1U) == 0 ? bits : bits + 1;
    ASSERT_EQ(float16(middle).bits, even) << bits;
    ASSERT_EQ(float16(std::nextafter(middle, 0.0F)).bits, bits);
    ASSERT_EQ(float16(std::nextafter(middle, 1e9F)).bits, bits + 1);
    ASSERT_EQ(float16(-middle).bits, even | 0x8000U);
    ++checked;
  }
  EXPECT_EQ(checked, 0x7bffU);
  EXPECT_EQ(float16(65519.996F).bits, 0x7bff);
  EXPECT_EQ(float16(65520.0F).bits, 0x7c00);
  EXPECT_EQ(float16(1e-30F).bits, 0);
  EXPECT_EQ(float16(-0.0F).bits, 0x8000);
  EXPECT_EQ(float16(std::numeric_limits<float>::infinity()).bits, 0x7c00);
  EXPECT_TRUE(std::isnan(static_cast<float>(float16(std::bit_cast<float>(0x7f80'0001U)))));
}

TEST(Tensor, copies_share_and_are_not_written) {
  Tensor tensor(DType::int32, {2, 3});
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(tensor.data()) % 64, 0U);
  std::int32_t next = 0;
  for (std::int32_t& value : tensor.writable<std::int32_t>()) value = next++;
  {
    const Tensor copy = tensor;
    EXPECT_EQ(copy.data(), tensor.data());
    EXPECT_FALSE(tensor.is_writable());
    const Error error = error_of([&] { tensor.writable<std::int32_t>(); });
    EXPECT_EQ(error.code(), ErrorCode::failed_precondition);
    EXPECT_EQ(error.message(),
              "the tensor of int32 of shape [2, 3] can't be written, as another one shares its "
              "memory; make a new one");
  }
  EXPECT_TRUE(tensor.is_writable());
  const Tensor row = tensor.slice(1, 1);
  EXPECT_EQ(row.shape(), Shape({1, 3}));
  EXPECT_THAT(row.values<std::int32_t>(), ElementsAre(3, 4, 5));
  EXPECT_EQ(row.data(), tensor.data() + 12);
  EXPECT_EQ(tensor.slice(2, 0).bytes(), 0U);
  EXPECT_EQ(tensor.bytes(), 24U);
  EXPECT_EQ(tensor.reshaped({3, 2}).slice(2, 1).values<std::int32_t>()[0], 4);
}

TEST(Tensor, one_that_was_moved_from_has_no_items) {
  Tensor tensor = Tensor::copy_of({2}, {1, 2});
  const Tensor moved = std::move(tensor);
  EXPECT_EQ(moved.bytes(), 8U);
  EXPECT_EQ(tensor, Tensor());  // NOLINT(bugprone-use-after-move): that is what is tested
  EXPECT_FALSE(tensor.is_writable());
}

TEST(Tensor, one_that_is_moved_over_another_brings_all_its_parts) {
  Tensor numbers = Tensor::copy_of({2}, {1, 2});
  const std::byte* const place = numbers.data();
  Tensor other(DType::float64, {3, 3});
  other = std::move(numbers);
  EXPECT_EQ(other.dtype(), DType::int32);
  EXPECT_EQ(other.shape(), Shape({2}));
  EXPECT_EQ(other.data(), place);
  EXPECT_TRUE(other.is_writable());
  EXPECT_EQ(numbers, Tensor());  // NOLINT(bugprone-use-after-move): that is what is tested
  EXPECT_EQ(numbers.data(), Tensor().data()) << "not the memory that it had";
  EXPECT_EQ(error_of([&] { numbers.writable<std::uint8_t>(); }).message(),
            "the tensor of uint8 of shape [0] can't be written, as its memory was adopted; make a "
            "new one");
  Tensor& same = other;
  other = std::move(same);
  EXPECT_EQ(other.bytes(), 8U) << "a tensor that is moved to itself stays";
  static const std::int8_t memory[2] = {3, 4};
  other = Tensor::adopt(DType::int8, {2}, memory, nullptr);
  EXPECT_THAT(other.values<std::int8_t>(), ElementsAre(3, 4));
  EXPECT_FALSE(other.is_writable());
}

TEST(Tensor, has_as_many_bytes_as_a_pointer_difference_counts) {
  alignas(8) static const char memory[8] = {};
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  const auto adopted = [](DType dtype, std::int64_t items) {
    return Tensor::adopt(dtype, {items}, memory, nullptr).bytes();
  };
  EXPECT_EQ(adopted(DType::int8, kMost), std::size_t{kMost});
  EXPECT_EQ(adopted(DType::int64, kMost / 8), std::size_t{kMost} - 7);
  EXPECT_EQ(error_of([&] { adopted(DType::int64, kMost / 8 + 1); }).message(),
            "a tensor of int64 of shape [1152921504606846976] is larger than any memory");
  const Tensor two = Tensor::copy_of({2}, {1, 2});
  EXPECT_EQ(error_of([&] { two.slice(1, -1); }).message(),
            "-1 rows from 1 on are wanted of a tensor of shape [2]");
}

TEST(Tensor, errors_name_both) {
  const Tensor tensor = Tensor::copy_of({2}, {1.5F, 2.5F});
  EXPECT_EQ(error_of([&] { tensor.values<double>(); }).message(),
            "the tensor holds float32, but float64 is wanted");
  EXPECT_EQ(error_of([&] { tensor.slice(1, 2); }).message(),
            "2 rows from 1 on are wanted of a tensor of shape [2]");
  EXPECT_EQ(error_of([&] { tensor.slice(-1, 1); }).code(), ErrorCode::invalid_argument);
  EXPECT_EQ(error_of([&] { tensor.reshaped({}).slice(0, 1); }).code(), ErrorCode::invalid_argument);
  EXPECT_EQ(error_of([&] { tensor.reshaped({3}); }).message(),
            "a tensor of shape [2] can't become one of shape [3]: they have 2 and 3 items");
  EXPECT_EQ(error_of([] { Tensor::copy_of({3}, {1.0F}); }).message(),
            "1 values are given, but a tensor of shape [3] has 3");
  EXPECT_THAT(error_of([] { Tensor(DType::bytes, {1}); }).message(), HasSubstr("Column::of_bytes"));
  const std::int64_t huge = std::int64_t{1} << 62;
  EXPECT_EQ(error_of([&] { Tensor(DType::int64, {huge}); }).code(), ErrorCode::resource_exhausted);
}

TEST(Tensor, adopts_memory_with_its_owner) {
  auto pixels = std::make_shared<std::vector<float>>(6, 0.5F);
  const std::weak_ptr<std::vector<float>> watched = pixels;
  Tensor tensor = Tensor::adopt(DType::float32, {3, 2}, pixels->data(), pixels);
  const float* const place = pixels->data();
  pixels.reset();
  EXPECT_EQ(tensor.values<float>().data(), place);
  EXPECT_EQ(error_of([&] { tensor.writable<float>(); }).message(),
            "the tensor of float32 of shape [3, 2] can't be written, as its memory was adopted; "
            "make a new one");
  Tensor last_row = tensor.slice(2, 1);
  tensor = Tensor();
  EXPECT_FALSE(watched.expired());
  EXPECT_EQ(last_row.values<float>().data(), place + 4);
  last_row = Tensor();
  EXPECT_TRUE(watched.expired());

  alignas(8) static const char memory[16] = {};
  EXPECT_THAT(error_of([] { Tensor::adopt(DType::int32, {1}, memory + 1, nullptr); }).message(),
              HasSubstr("where no int32 may lie: it needs a multiple of 4 bytes"));
  EXPECT_EQ(error_of([] { Tensor::adopt(DType::int8, {1}, nullptr, nullptr); }).message(),
            "a tensor of 1 bytes is to lie at a null pointer");
  EXPECT_NE(Tensor::adopt(DType::int8, {0}, nullptr, nullptr).data(), nullptr);
}

TEST(Tensor, is_compared_and_hashed_by_its_bytes) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const Tensor tensor = Tensor::copy_of({4}, {1.0F, nan, 0.0F, 1.0F});
  EXPECT_EQ(tensor, Tensor::copy_of({4}, {1.0F, nan, 0.0F, 1.0F}));
  EXPECT_EQ(tensor.hash(), Tensor::copy_of({4}, {1.0F, nan, 0.0F, 1.0F}).hash());
  EXPECT_NE(tensor, Tensor::copy_of({4}, {1.0F, nan, -0.0F, 1.0F}));
  EXPECT_NE(tensor, tensor.reshaped({2, 2}));
  EXPECT_NE(tensor.hash(), tensor.reshaped({2, 2}).hash());
  EXPECT_NE(Tensor::copy_of({1}, {std::int32_t{0}}).hash(), Tensor::copy_of({1}, {0.0F}).hash());
  const Tensor slice = tensor.slice(1, 2);
  EXPECT_EQ(slice.hash(), Tensor::copy_of({2}, slice.values<float>()).hash());
  EXPECT_EQ(slice, Tensor::copy_of({2}, slice.values<float>()));
}

TEST(Tensor, each_byte_changes_the_hash) {
  for (std::int64_t size = 1; size < 100; ++size) {
    Tensor tensor(DType::uint8, {size});
    for (std::uint8_t& byte : tensor.writable<std::uint8_t>()) byte = 7;
    const std::uint64_t hash = tensor.hash();
    for (std::uint8_t& byte : tensor.writable<std::uint8_t>()) {
      byte ^= 0x10;
      ASSERT_NE(tensor.hash(), hash) << size;
      byte ^= 0x10;
    }
    ASSERT_EQ(tensor.hash(), hash);
  }
}

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
  class Limited final : public std::pmr::memory_resource {
    void* do_allocate(std::size_t bytes, std::size_t alignment) override {
      if (bytes >= kHuge) throw std::bad_alloc();
      return ::operator new (bytes, std::align_val_t{alignment});
    }
    void do_deallocate(void* block, std::size_t, std::size_t alignment) override {
      ::operator delete (block, std::align_val_t{alignment});
    }
    bool do_is_equal(const memory_resource& other) const noexcept override {
      return this == &other;
    }
  };
  const TensorPool pool({.memory = std::make_shared<Limited>()});
  EXPECT_EQ(error_of([&] { (void)pool.take(kHuge); }).code(), ErrorCode::resource_exhausted);
  { const TensorPool::Block small = pool.take(1 << 16); }
  const TensorPool::Block larger = pool.take(1 << 17);
  EXPECT_EQ(pool.free_bytes(), std::size_t{1} << 16)
      << "the huge block counts among what was in use at most, but not as in use";
}

}  // namespace
}  // namespace infeed
