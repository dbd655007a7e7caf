#include <cstddef>
#include <cstdint>
#include <gtest/gtest.h>
#include <memory>
#include <vector>

#include <infeed/records/column_batch.h>
#include <infeed/records/tensor.h>
#include <infeed/records/tensor_pool.h>

#include "records/columns/drawn_columns.h"

/// Memory that tensors and batches keep, byte by byte: limits count it.
namespace infeed::test {
namespace {

using detail::held_bytes;
using detail::held_bytes_of_copy;

TEST(HeldBytes, OfATensorAreItsBlockAndWhatStandsBesideIt) {
  const TensorPool pool;
  struct Held {
    std::int64_t items;
    std::size_t allocated;
    std::size_t pooled;
  };
  for (const Held& held :
       {Held{0, 64 + 48, 64 + 80}, Held{1, 64 + 48, 64 + 80}, Held{64, 64 + 48, 64 + 80},
        Held{65, 128 + 48, 128 + 80}, Held{128, 128 + 48, 128 + 80}, Held{129, 192 + 48, 192 + 80},
        Held{600, 640 + 48, 640 + 80}, Held{1025, 1088 + 48, 1280 + 80}}) {
    const Tensor allocated(DType::uint8, {held.items});
    EXPECT_EQ(held_bytes(allocated), held.allocated) << held.items;
    const Tensor pooled(DType::uint8, {held.items}, pool);
    EXPECT_EQ(held_bytes(pooled), held.pooled) << held.items;
    EXPECT_EQ(held_bytes_of_copy(pooled.bytes()), held.allocated) << held.items;
  }
}

TEST(HeldBytes, OfPartsOfAnotherTensorAreTheirValues) {
  const TensorPool pool;
  static const std::uint8_t memory[3] = {};
  for (const Tensor& tensor : {Tensor(DType::uint8, {3}), Tensor(DType::uint8, {3}, pool),
                               Tensor::adopt(DType::uint8, {3}, memory, nullptr)}) {
    EXPECT_EQ(held_bytes(tensor.slice(1, 2)), 2U);
    EXPECT_EQ(held_bytes(tensor.slice(0, 3)), held_bytes(tensor)) << "all rows are no part";
  }
  EXPECT_EQ(held_bytes(Tensor::adopt(DType::uint8, {3}, memory, nullptr)), 3U);
}

TEST(HeldBytes, OfABatchAreThoseOfItsColumnsAndItsOwn) {
  // The parts of a batch and of a slice that are no columns, and two blocks' headers.
  const std::size_t own = 14 * sizeof(std::size_t) + 48;
  const auto names = detail::column_names({"x"});
  const Tensor byte(DType::uint8, {1, 1});
  const ColumnBatch dense(names, {Column::dense(byte)});
  EXPECT_EQ(dense.held_bytes(), own + sizeof(Column) + 112);
  const ColumnBatch padded(names, {Column::padded(byte, int64s({1}))});
  EXPECT_EQ(padded.held_bytes(), own + sizeof(Column) + 112 + (16 + sizeof(Tensor) + 112))
      << "with the lengths, in a vector of its own";
  EXPECT_EQ(padded.bytes(), 1U + 8U);
}

}  // namespace
}  // namespace infeed::test
