#include <algorithm>
#include <cstring>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <utility>
#include <vector>

#include "columns/rows_of_batch.h"
#include "infeed/error.h"
#include "infeed/records/column_batch.h"
#include "infeed/records/detail/rows_to_join.h"

namespace infeed {
namespace {

[[noreturn]] void refuse_to_join(std::string message) {
  throw Error(ErrorCode::invalid_argument, "join_rows: " + std::move(message));
}

Tensor unset_tensor(DType dtype, Shape shape, const TensorPool* pool) {
  return pool == nullptr ? Tensor(dtype, std::move(shape)) : Tensor(dtype, std::move(shape), *pool);
}

using Part = detail::RowsToJoin::Part;

/// The same column of each whole batch.
using ColumnOfWholes = std::span<const Column* const>;

/// Copies single values of a size that the compiler knows: a call of memcpy for each costs more than
/// the copy.
template <std::size_t kBytes>
void copy_single_rows(std::span<const Part> parts, std::span<const std::byte* const> values,
                      std::byte* to) {
  for (const Part& part : parts) {
    std::memcpy(to, values[part.whole] + static_cast<std::size_t>(part.first) * kBytes, kBytes);
    to += kBytes;
  }
}

void copy_rows(std::span<const Part> parts, std::span<const std::byte* const> values,
               std::size_t row_bytes, std::byte* to) {
  for (const Part& part : parts) {
    const std::size_t bytes = static_cast<std::size_t>(part.rows) * row_bytes;
    std::memcpy(to, values[part.whole] + static_cast<std::size_t>(part.first) * row_bytes, bytes);
    to += bytes;
  }
}

/// Joins the values of the parts, one behind the other along axis 0.
Tensor joined_values(ColumnOfWholes columns, std::span<const Part> parts, const TensorPool* pool) {
  const Tensor& first = columns.front()->values();
  std::vector<const std::byte*> values(columns.size());
  std::ranges::transform(columns, values.begin(),
                         [](const Column* column) { return column->values().data(); });
  std::int64_t rows = 0;
  bool are_single = true;
  for (const Part& part : parts) {
    rows += part.rows;
    are_single = are_single && part.rows == 1;
  }
  const Shape row_shape = first.shape().without_first();
  const std::size_t row_bytes =
      static_cast<std::size_t>(row_shape.items()) * item_bytes(first.dtype());
  Tensor result = unset_tensor(first.dtype(), Shape(rows, row_shape), pool);
  std::byte* const to = result.writable_bytes().data();
  if (are_single && row_bytes == 4) {
    copy_single_rows<4>(parts, values, to);
  } else if (are_single && row_bytes == 8) {
    copy_single_rows<8>(parts, values, to);
  } else {
    copy_rows(parts, values, row_bytes, to);
  }
  return result;
}

Tensor joined_lengths(ColumnOfWholes columns, std::span<const Part> parts, const TensorPool* pool) {
  std::int64_t rows = 0;
  for (const Part& part : parts) rows += part.rows;
  Tensor result = unset_tensor(DType::int64, {rows}, pool);
  std::int64_t* to = result.writable<std::int64_t>().data();
  for (const Part& part : parts)
    to = std::copy_n(columns[part.whole]->lengths().data() + part.first, part.rows, to);
  return result;
}

/// Joins splits or offsets, which begin with 0. Makes each part the items that its rows have.
Tensor joined_splits(ColumnOfWholes columns, std::span<Part> parts, std::size_t level,
                     const TensorPool* pool) {
  std::int64_t entries = 1;
  for (const Part& part : parts) entries += part.rows;
  Tensor result = unset_tensor(DType::int64, {entries}, pool);
  std::int64_t* to = result.writable<std::int64_t>().data();
  std::int64_t end = 0;
  *to++ = end;
  for (auto& [whole, first, rows] : parts) {
    const auto all = columns[whole]->partitions()[level].values<std::int64_t>();
    const auto splits =
        all.subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(rows) + 1);
    for (const std::int64_t split : splits.subspan(1)) *to++ = end + (split - splits.front());
    first = splits.front();
    rows = splits.back() - splits.front();
    end += rows;
  }
  return result;
}

Column joined_column(ColumnOfWholes columns, std::vector<Part> parts, const TensorPool* pool) {
  const Column& first = *columns.front();
  std::vector<Tensor> partitions;
  partitions.reserve(first.partitions().size());
  if (first.kind() == Column::Kind::padded) {
    partitions.push_back(joined_lengths(columns, parts, pool));
  } else {
    for (std::size_t i = 0; i < first.partitions().size(); ++i)
      partitions.push_back(joined_splits(columns, parts, i, pool));
  }
  return Column::of_parts(first.kind(), joined_values(columns, parts, pool), std::move(partitions));
}

bool are_alike(const Column& a, const Column& b) {
  const Shape& shape = a.values().shape();
  const Shape& other = b.values().shape();
  return a.kind() == b.kind() && a.values().dtype() == b.values().dtype() &&
         a.partitions().size() == b.partitions().size() &&
         std::ranges::equal(shape.extents().subspan(1), other.extents().subspan(1));
}

void require_alike(const Column& a, const Column& b, std::string_view name) {
  if (are_alike(a, b)) return;
  const auto shape_of = [](const Column& column) {
    return column.values().shape().without_first();
  };
  refuse_to_join(
      fmt::format("column '{}' is {} of {} {} in one batch and {} of {} {} in another; all must be "
                  "alike",
                  name, to_string(a.kind()), to_string(a.dtype()), shape_of(a).to_string(),
                  to_string(b.kind()), to_string(b.dtype()), shape_of(b).to_string()));
}

/// Returns where the batch has the column that is `index`th in another one, whose name it is.
/// Batches that were made together share their names; others mostly have them in the same order.
std::size_t place_of(const ColumnBatch& batch, std::size_t index, const std::string& name) {
  const std::vector<std::string>& names = batch.names();
  if (index < names.size() && names[index] == name) return index;
  return static_cast<std::size_t>(std::ranges::find(names, name) - names.begin());
}

void require_same_names(const ColumnBatch& a, const ColumnBatch& b) {
  if (&a.names() == &b.names()) return;
  bool are_same = a.names().size() == b.names().size();
  for (std::size_t i = 0; i < a.names().size() && are_same; ++i) {
    are_same = place_of(b, i, a.names()[i]) < b.names().size();
  }
  if (are_same) return;
  refuse_to_join(fmt::format("one batch has the columns [{}], another [{}]",
                             fmt::join(a.names(), ", "), fmt::join(b.names(), ", ")));
}

}  // namespace

const Column& detail::RowsToJoin::Whole::column(std::size_t index, const std::string& name) const {
  return columns[shares_names ? index : place_of(part, index, name)];
}

void detail::RowsToJoin::append(const ColumnBatch& batch) {
  const RowsOfBatch rows = rows_of_batch(batch);
  auto place = places_.find(rows.columns.data());
  if (place == places_.end()) {
    const ColumnBatch& first = wholes_.empty() ? batch : wholes_.front().part;
    const std::vector<std::string>& names = first.names();
    require_same_names(first, batch);
    Whole whole{batch, rows.columns, &batch.names() == &names};
    for (std::size_t i = 0; i < names.size() && !wholes_.empty(); ++i)
      require_alike(wholes_.front().columns[i], whole.column(i, names[i]), names[i]);
    place = places_.emplace(rows.columns.data(), wholes_.size()).first;
    wholes_.push_back(std::move(whole));
  }
  held_bytes_ += batch.held_bytes();
  // Rows that lie behind each other, as where nothing shuffles them, are copied at once.
  if (!parts_.empty() && rows.rows > 0) {
    Part& last = parts_.back();
    if (last.whole == place->second && last.first + last.rows == rows.first) {
      last.rows += rows.rows;
      return;
    }
  }
  parts_.push_back({place->second, rows.first, rows.rows});
}

ColumnBatch detail::RowsToJoin::join(const TensorPool* pool) {
  const RowsToJoin all = std::exchange(*this, {});
  if (all.parts_.empty()) return {};
  const ColumnBatch& first = all.wholes_.front().part;
  if (all.parts_.size() == 1 && all.parts_.front().rows == first.rows()) return first;
  const std::vector<std::string>& names = first.names();
  std::vector<Column> joined;
  joined.reserve(names.size());
  std::vector<const Column*> columns(all.wholes_.size());
  for (std::size_t i = 0; i < names.size(); ++i) {
    for (std::size_t whole = 0; whole < columns.size(); ++whole)
      columns[whole] = &all.wholes_[whole].column(i, names[i]);
    joined.push_back(joined_column(columns, all.parts_, pool));
  }
  return first.with_columns(std::move(joined));
}

namespace {

ColumnBatch join(std::span<const ColumnBatch> batches, const TensorPool* pool) {
  if (batches.size() == 1) return batches.front();  // a table's row is asked for in this way
  detail::RowsToJoin rows;
  for (const ColumnBatch& batch : batches) rows.append(batch);
  return rows.join(pool);
}

}  // namespace

ColumnBatch join_rows(std::span<const ColumnBatch> batches) { return join(batches, nullptr); }

ColumnBatch join_rows(std::span<const ColumnBatch> batches, const TensorPool& pool) {
  return join(batches, &pool);
}

}  // namespace infeed
