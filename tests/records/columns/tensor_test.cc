#include "infeed/records/tensor.h"

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "thrown_error.h"

namespace infeed {
namespace {

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

}  // namespace
}  // namespace infeed
