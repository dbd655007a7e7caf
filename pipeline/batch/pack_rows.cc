#include "batch/pack_rows.h"

#include <algorithm>
#include <cstring>

#include "engine/buffer_bytes.h"
#include "engine/number_series.h"

namespace infeed::detail {
namespace {

template <class Item>
void fill_items(std::byte* at, std::size_t count, std::uint64_t value) {
  const auto item = static_cast<Item>(value);
  for (std::size_t i = 0; i < count; ++i) std::memcpy(at + i * sizeof(Item), &item, sizeof(Item));
}

void fill_up(std::byte* at, std::size_t count, const PackColumnPlan& column) {
  switch (column.item_bytes) {
    case 1:
      return fill_items<std::uint8_t>(at, count, column.padding);
    case 2:
      return fill_items<std::uint16_t>(at, count, column.padding);
    case 4:
      return fill_items<std::uint32_t>(at, count, column.padding);
    default:
      return fill_items<std::uint64_t>(at, count, column.padding);
  }
}

}  // namespace

std::uint64_t packed_batch_bytes(std::span<const PackColumnPlan> columns, std::size_t rows) {
  std::uint64_t row_bytes = 0;
  for (const PackColumnPlan& column : columns) {
    row_bytes += bytes_of_elements(column.length, column.item_bytes + 2 * sizeof(std::int32_t));
  }
  return bytes_of_elements(row_bytes, rows);
}

PackRows::PackRows(std::vector<PackColumnPlan> columns, std::shared_ptr<const ColumnNames> names,
                   std::size_t rows, std::size_t window, BatchMemory memory)
    : columns_(std::move(columns)),
      names_(std::move(names)),
      rows_(rows),
      window_(window),
      pool_({.memory = std::move(memory)}),
      free_(window * columns_.size()),
      segments_(window) {}

bool PackRows::has_room(std::size_t slot, std::span<const PackValues> document) const {
  const std::size_t* const room = free_.data() + slot * columns_.size();
  for (std::size_t c = 0; c < document.size(); ++c) {
    if (document[c].count > room[c]) return false;
  }
  return true;
}

std::uint64_t PackRows::row_for(std::span<const PackValues> document) {
  std::size_t slot = slot_of(first_open_);
  for (std::uint64_t row = first_open_; row < next_; ++row) {
    if (has_room(slot, document)) return row;
    if (++slot == window_) slot = 0;
  }
  return begin_row();
}

std::uint64_t PackRows::begin_row() {
  if (next_ % rows_ == 0) begins_.push_back(room_of_open_rows());
  if (next_ - first_open_ == window_) close_first();
  if (next_ % rows_ == 0) batches_.push_back(new_batch());
  const std::size_t slot = slot_of(next_);
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    free_[slot * columns_.size() + c] = columns_[c].length;
  }
  segments_[slot] = 0;
  return next_++;
}

void PackRows::place(std::span<const PackValues> document) {
  const std::uint64_t row = row_for(document);
  const std::size_t slot = slot_of(row);
  const auto segment = static_cast<std::uint32_t>(++segments_[slot]);
  if (is_given(row)) {
    for (std::size_t c = 0; c < columns_.size(); ++c) {
      free_[slot * columns_.size() + c] -= document[c].count;
    }
    return;
  }
  Making& batch = batches_[static_cast<std::size_t>(row / rows_ - first_batch_)];
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    const PackColumnPlan& column = columns_[c];
    const PackValues& values = document[c];
    if (values.count == 0) continue;
    std::size_t& room = free_[slot * columns_.size() + c];
    const std::size_t at =
        static_cast<std::size_t>(row % rows_) * column.length + column.length - room;
    std::memcpy(batch[c].items + at * column.item_bytes, values.data,
                values.count * column.item_bytes);
    write_series(segment, 0U, batch[c].ids + at, values.count);
    write_series(0U, 1U, batch[c].places + at, values.count);
    room -= values.count;
  }
}

void PackRows::close_first() {
  if (is_given(first_open_)) {
    ++first_open_;
    return;
  }
  const std::size_t slot = slot_of(first_open_);
  Making& batch = batches_[static_cast<std::size_t>(first_open_ / rows_ - first_batch_)];
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    const PackColumnPlan& column = columns_[c];
    const std::size_t room = free_[slot * columns_.size() + c];
    const std::size_t at = static_cast<std::size_t>(first_open_ % rows_ + 1) * column.length - room;
    fill_up(batch[c].items + at * column.item_bytes, room, column);
    std::fill_n(batch[c].ids + at, room, 0);
    std::fill_n(batch[c].places + at, room, 0);
    filled_.room_items += column.length;
    filled_.held_items += column.length - room;
  }
  ++first_open_;
}

void PackRows::close_all() {
  while (first_open_ < next_) close_first();
}

ColumnBatch PackRows::take_batch() {
  const auto rows = static_cast<std::int64_t>(std::min<std::uint64_t>(rows_, rows_left()));
  std::vector<Column> columns;
  for (PackedTensor& column : batches_.front()) {
    for (Tensor* tensor : {&column.values, &column.segment_ids, &column.positions}) {
      columns.push_back(Column::dense(tensor->slice(0, rows)));
    }
  }
  batches_.pop_front();
  begins_.pop_front();
  ++first_batch_;
  return {names_, std::move(columns)};
}

std::vector<std::uint64_t> PackRows::room_of_open_rows() const {
  std::vector<std::uint64_t> room;
  room.reserve(static_cast<std::size_t>(next_ - first_open_) * columns_.size());
  for (std::uint64_t row = first_open_; row < next_; ++row) {
    const std::size_t* const own = free_.data() + slot_of(row) * columns_.size();
    room.insert(room.end(), own, own + columns_.size());
  }
  return room;
}

bool PackRows::begin_with_room(std::span<const std::uint64_t> room) {
  const std::size_t columns = columns_.size();
  const std::size_t open = columns == 0 ? 0 : room.size() / columns;
  if (columns == 0 || room.size() % columns != 0 || open > window_) return false;
  for (std::size_t i = 0; i < room.size(); ++i) {
    if (room[i] > columns_[i % columns].length) return false;
  }
  // The rows' numbers only tell batches apart, so the first open one may have any.
  first_batch_ = (open + rows_ - 1) / rows_;
  next_ = first_batch_ * rows_;
  first_open_ = next_ - open;
  for (std::size_t i = 0; i < open; ++i) {
    for (std::size_t c = 0; c < columns; ++c) {
      free_[slot_of(first_open_ + i) * columns + c] =
          static_cast<std::size_t>(room[i * columns + c]);
    }
  }
  return true;
}

Tensor PackRows::new_tensor(DType dtype, std::size_t length) const {
  return Tensor(dtype, {static_cast<std::int64_t>(rows_), static_cast<std::int64_t>(length)},
                pool_);
}

PackRows::Making PackRows::new_batch() const {
  Making batch;
  for (const PackColumnPlan& plan : columns_) {
    PackedTensor& column = batch.emplace_back();
    column.values = new_tensor(plan.dtype, plan.length);
    column.segment_ids = new_tensor(DType::int32, plan.length);
    column.positions = new_tensor(DType::int32, plan.length);
    column.items = column.values.writable_bytes().data();
    column.ids = column.segment_ids.writable<std::int32_t>().data();
    column.places = column.positions.writable<std::int32_t>().data();
  }
  return batch;
}

}  // namespace infeed::detail
