#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include <infeed/pipeline/pack.h>
#include <infeed/records/column_batch.h>
#include <infeed/records/tensor_pool.h>

namespace infeed::detail {

/// A packed column with all options filled in.
struct PackColumnPlan {
  DType dtype = DType::uint8;
  std::size_t item_bytes = 1;
  std::size_t length = 0;
  std::uint64_t padding = 0;  ///< the item's bytes, lowest first
};

/// Returns the bytes of a batch, with its segment ids and positions.
std::uint64_t packed_batch_bytes(std::span<const PackColumnPlan> columns, std::size_t rows);

/// Counts of rows that take no more documents.
struct FilledRows {
  std::uint64_t room_items = 0;  ///< items that they have room for
  std::uint64_t held_items = 0;
};

/// Why: rows that take documents, first fit. They lie in their final batches from the start, so an
/// item is copied once.
///
/// Invariants: row r is row r % rows of batch r / rows. The rows from first_open() on, at most
/// `window`, may still take documents. The rows before are filled up and never change.
class PackRows {
 public:
  PackRows(std::vector<PackColumnPlan> columns, std::shared_ptr<const ColumnNames> names,
           std::size_t rows, std::size_t window, BatchMemory memory);

  /// Puts the document into the first row that has room, or into a new one. No column of it may
  /// have more items than a row.
  void place(std::span<const PackValues> document);
  /// Closes all rows for documents.
  void close_all();

  /// Returns true if the next batch is complete.
  bool has_batch() const { return first_open_ >= (first_batch_ + 1) * rows_; }
  ColumnBatch take_batch();
  /// Returns the rows of an incomplete last batch. Only after close_all().
  std::size_t rows_left() const { return static_cast<std::size_t>(next_ - first_batch_ * rows_); }

  std::size_t batches() const { return batches_.size(); }

  /// Returns the room that the open rows had, in items of each column, when the next batch's first
  /// row began; as it is now, if that row hasn't begun. What the next batches get depends on
  /// nothing else.
  std::vector<std::uint64_t> room_before_next_batch() const {
    return begins_.empty() ? room_of_open_rows() : begins_.front();
  }
  /// Goes on, before the first document, from such room. Returns false if it is impossible.
  bool begin_with_room(std::span<const std::uint64_t> room);

  /// Returns the counts of the rows that were closed since the last call.
  FilledRows take_filled() { return std::exchange(filled_, {}); }

 private:
  struct PackedTensor {
    Tensor values;
    Tensor segment_ids;
    Tensor positions;
    // The memory of the tensors, to be written.
    std::byte* items = nullptr;
    std::int32_t* ids = nullptr;
    std::int32_t* places = nullptr;
  };
  using Making = std::vector<PackedTensor>;  ///< a batch; one per column

  std::vector<std::uint64_t> room_of_open_rows() const;
  /// Returns true for a row of a batch that was handed over before begin_with_room().
  bool is_given(std::uint64_t row) const { return row < first_batch_ * rows_; }

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
  std::deque<std::vector<std::uint64_t>> begins_;  ///< room_before_next_batch() of each
  std::uint64_t first_batch_ = 0;                  ///< the number of batches_.front()
  std::uint64_t first_open_ = 0;
  std::uint64_t next_ = 0;              ///< number of the next row to begin
  std::vector<std::size_t> free_;       ///< room in items, for each column of each open row
  std::vector<std::int32_t> segments_;  ///< documents in each open row
  FilledRows filled_;
};

}  // namespace infeed::detail
