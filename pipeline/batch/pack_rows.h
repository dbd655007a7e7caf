#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <vector>

#include <infeed/pipeline/pack.h>
#include <infeed/records/column_batch.h>
#include <infeed/records/tensor_pool.h>

namespace infeed::detail {

/// A column as it is packed, with all that was left open filled in.
struct PackColumnPlan {
  DType dtype = DType::uint8;
  std::size_t item_bytes = 1;
  std::size_t length = 0;
  std::uint64_t padding = 0;  ///< the item's bytes, the first one lowest
};

/// Of a batch, with its segment ids and positions.
std::uint64_t packed_batch_bytes(std::span<const PackColumnPlan> columns, std::size_t rows);

/// Why: rows that documents are packed into, first fit. They lie in the batches that they will be
/// part of from the start, so that an item is copied once.
///
/// Invariants: row r is row r % rows of batch r / rows. The rows from first_open() on, `window` of
/// them at most, may still take documents; those before are filled up and never change.
class PackRows {
 public:
  PackRows(std::vector<PackColumnPlan> columns, std::shared_ptr<const ColumnNames> names,
           std::size_t rows, std::size_t window);

  /// Into the first row that has room, or a new one; no column has more items than its rows.
  void place(std::span<const PackValues> document);
  /// No row takes documents any more.
  void close_all();

  /// Whether the next batch is whole.
  bool has_batch() const { return first_open_ >= (first_batch_ + 1) * rows_; }
  ColumnBatch take_batch();
  /// Rows of a last batch that isn't; behind close_all().
  std::size_t rows_left() const { return static_cast<std::size_t>(next_ - first_batch_ * rows_); }

  std::size_t batches() const { return batches_.size(); }

  /// Of rows that take no documents any more: items that they have room for, and that they hold.
  std::uint64_t room_items() const { return room_items_; }
  std::uint64_t held_items() const { return held_items_; }

 private:
  struct PackedTensor {
    Tensor values;
    Tensor segment_ids;
    Tensor positions;
    // What they show, to be written.
    std::byte* items = nullptr;
    std::int32_t* ids = nullptr;
    std::int32_t* places = nullptr;
  };
  using Making = std::vector<PackedTensor>;  ///< a batch; one a column

  bool has_room(std::size_t slot, std::span<const PackValues> document) const;
  std::uint64_t row_for(std::span<const PackValues> document);
  std::uint64_t begin_row();
  void close_first();
  Making new_batch() const;
  Tensor new_tensor(DType dtype, std::size_t length) const;
  std::size_t slot_of(std::uint64_t row) const { return static_cast<std::size_t>(row % window_); }

  const std::vector<PackColumnPlan> columns_;
  const std::shared_ptr<const ColumnNames> names_;
  const std::size_t rows_;
  const std::size_t window_;
  const TensorPool pool_;
  std::deque<Making> batches_;
  std::uint64_t first_batch_ = 0;  ///< the number of batches_.front()
  std::uint64_t first_open_ = 0;
  std::uint64_t next_ = 0;              ///< row to be begun
  std::vector<std::size_t> free_;       ///< items, of each open row's columns
  std::vector<std::int32_t> segments_;  ///< of each open row
  std::uint64_t room_items_ = 0;
  std::uint64_t held_items_ = 0;
};

}  // namespace infeed::detail
