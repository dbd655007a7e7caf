#include "infeed/records/column.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <utility>

#include "columns/content_hash.h"
#include "infeed/error.h"

namespace infeed {
namespace {

constexpr std::array<std::string_view, 5> kColumnKindNames = {"dense", "ragged", "padded", "bytes",
                                                              "ragged_bytes"};

[[noreturn]] void refuse_column(std::string message) {
  throw Error(ErrorCode::invalid_argument, std::move(message));
}

std::int64_t length_of(const Tensor& tensor) { return tensor.shape()[0]; }

void require_int64_vector(const Tensor& tensor, std::string_view noun) {
  if (tensor.dtype() != DType::int64 || tensor.shape().rank() != 1) {
    refuse_column(
        fmt::format("{} of a column must be int64 of rank 1, but these are {} of shape {}", noun,
                    to_string(tensor.dtype()), tensor.shape().to_string()));
  }
}

/// Throws unless splits or offsets cut `items` items.
void require_splits(const Tensor& splits, std::string_view noun, std::int64_t items) {
  require_int64_vector(splits, noun);
  const auto values = splits.values<std::int64_t>();
  if (values.empty() || values.front() != 0) {
    refuse_column(values.empty()
                      ? fmt::format("{} of a column are empty; they begin with 0", noun)
                      : fmt::format("{} of a column begin with {}, not 0", noun, values.front()));
  }
  for (std::size_t i = 1; i < values.size(); ++i) {
    if (values[i] < values[i - 1]) {
      refuse_column(fmt::format("{} of a column fall from {} to {} at {}", noun, values[i - 1],
                                values[i], i));
    }
  }
  if (values.back() != items) {
    refuse_column(fmt::format("{} of a column end with {}, but they cut {} items", noun,
                              values.back(), items));
  }
}

bool is_of_bytes(Column::Kind kind) {
  return kind == Column::Kind::bytes || kind == Column::Kind::ragged_bytes;
}

/// Checks partitions from the innermost to the outermost. Returns how many rows the outermost ones
/// make.
std::int64_t check_partitions(Column::Kind kind, const Tensor& values,
                              std::span<const Tensor> partitions) {
  std::int64_t items = length_of(values);
  for (std::size_t i = partitions.size(); i-- > 0;) {
    const bool are_offsets = is_of_bytes(kind) && i + 1 == partitions.size();
    require_splits(partitions[i], are_offsets ? "offsets" : "row splits", items);
    items = length_of(partitions[i]) - 1;
  }
  return items;
}

/// Returns the splits of `count` rows from `first` on, beginning with 0. Splits that already begin
/// with 0 are shared.
Tensor cut_splits(const Tensor& splits, std::int64_t first, std::int64_t count) {
  const auto all = splits.values<std::int64_t>();
  const std::int64_t base = all[static_cast<std::size_t>(first)];
  if (base == 0) return splits.slice(first, count + 1);
  Tensor result(DType::int64, {count + 1});
  const auto from = all.subspan(static_cast<std::size_t>(first));
  const auto to = result.writable<std::int64_t>();
  for (std::size_t i = 0; i < to.size(); ++i) to[i] = from[i] - base;
  return result;
}

}  // namespace

std::string_view to_string(Column::Kind kind) {
  return kColumnKindNames.at(static_cast<std::size_t>(kind));
}

Column::Column(Column::Kind kind, Tensor values, std::vector<Tensor> partitions)
    : kind_(kind), values_(std::move(values)), partitions_(std::move(partitions)) {
  if (values_.shape().rank() == 0) {
    refuse_column("the values of a column have no axis for its rows: their shape is []");
  }
}

Column Column::dense(Tensor values) {
  Column column(Column::Kind::dense, std::move(values), {});
  column.rows_ = length_of(column.values_);
  return column;
}

Column Column::ragged(Tensor values, std::vector<Tensor> row_splits) {
  if (row_splits.empty()) refuse_column("a ragged column needs row splits; there are none");
  Column column(Column::Kind::ragged, std::move(values), std::move(row_splits));
  column.rows_ = check_partitions(column.kind_, column.values_, column.partitions_);
  return column;
}

Column Column::padded(Tensor values, Tensor lengths) {
  Column column(Column::Kind::padded, std::move(values), {});
  const Shape& shape = column.values_.shape();
  if (shape.rank() < 2) {
    refuse_column(
        fmt::format("the values of a padded column have rows and a width, but their "
                    "shape is {}",
                    shape.to_string()));
  }
  require_int64_vector(lengths, "lengths");
  if (length_of(lengths) != shape[0]) {
    refuse_column(
        fmt::format("a padded column of {} rows has {} lengths", shape[0], length_of(lengths)));
  }
  for (const std::int64_t length : lengths.values<std::int64_t>()) {
    if (length < 0 || length > shape[1]) {
      refuse_column(fmt::format("a row of a padded column has the length {}, but the width is {}",
                                length, shape[1]));
    }
  }
  column.rows_ = shape[0];
  column.partitions_.push_back(std::move(lengths));
  return column;
}

Column Column::bytes(Tensor offsets, Tensor data) {
  Column column = ragged_bytes({}, std::move(offsets), std::move(data));
  column.kind_ = Column::Kind::bytes;
  return column;
}

Column Column::ragged_bytes(std::vector<Tensor> row_splits, Tensor offsets, Tensor data) {
  if (data.dtype() != DType::uint8 || data.shape().rank() != 1) {
    refuse_column(
        fmt::format("the data of a column of bytes must be uint8 of rank 1, but it is {} "
                    "of shape {}",
                    to_string(data.dtype()), data.shape().to_string()));
  }
  row_splits.push_back(std::move(offsets));
  Column column(Column::Kind::ragged_bytes, std::move(data), std::move(row_splits));
  column.rows_ = check_partitions(column.kind_, column.values_, column.partitions_);
  return column;
}

Column Column::of_parts(Kind kind, Tensor values, std::vector<Tensor> partitions) {
  Tensor last;
  if (kind != Column::Kind::dense && kind != Column::Kind::ragged) {
    if (partitions.empty()) {
      refuse_column(fmt::format("a column that is {} lacks its {}", to_string(kind),
                                kind == Column::Kind::padded ? "lengths" : "offsets"));
    }
    last = std::move(partitions.back());
    partitions.pop_back();
  }
  if (kind != Column::Kind::ragged && kind != Column::Kind::ragged_bytes && !partitions.empty()) {
    refuse_column(fmt::format("a column that is {} has {} partitions too many", to_string(kind),
                              partitions.size()));
  }
  switch (kind) {
    case Column::Kind::dense:
      return dense(std::move(values));
    case Column::Kind::ragged:
      return ragged(std::move(values), std::move(partitions));
    case Column::Kind::padded:
      return padded(std::move(values), std::move(last));
    case Column::Kind::bytes:
      return bytes(std::move(last), std::move(values));
    case Column::Kind::ragged_bytes:
      break;
  }
  return ragged_bytes(std::move(partitions), std::move(last), std::move(values));
}

Column Column::of_bytes(std::span<const std::string_view> rows) {
  Tensor offsets(DType::int64, {static_cast<std::int64_t>(rows.size()) + 1});
  const auto ends = offsets.writable<std::int64_t>();
  ends[0] = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    ends[i + 1] = ends[i] + static_cast<std::int64_t>(rows[i].size());
  }
  Tensor data(DType::uint8, {ends.back()});
  std::uint8_t* to = data.writable<std::uint8_t>().data();
  for (const std::string_view row : rows) to = std::copy(row.begin(), row.end(), to);
  return bytes(std::move(offsets), std::move(data));
}

DType Column::dtype() const { return is_of_bytes(kind_) ? DType::bytes : values_.dtype(); }

Shape Column::row_shape() const {
  if (is_of_bytes(kind_)) return {};
  const Shape item = values_.shape().without_first();
  return kind_ == Column::Kind::padded ? item.without_first() : item;
}

std::size_t Column::levels() const {
  if (kind_ == Column::Kind::ragged) return partitions_.size();
  return kind_ == Column::Kind::ragged_bytes ? partitions_.size() - 1 : 0;
}

std::span<const std::int64_t> Column::row_splits(std::size_t level) const {
  if (level >= levels()) {
    refuse_column(fmt::format("row splits of level {} are wanted, but a column that is {} has {}",
                              level, to_string(kind_), levels()));
  }
  return partitions_[level].values<std::int64_t>();
}

const Tensor& Column::partition_of(Column::Kind kind, Column::Kind other, const char* noun) const {
  if (kind_ != kind && kind_ != other) {
    refuse_column(fmt::format("{} are wanted of a column that is {}; only one that is {} has them",
                              noun, to_string(kind_), to_string(kind)));
  }
  return partitions_.back();
}

std::span<const std::int64_t> Column::lengths() const {
  return partition_of(Column::Kind::padded, Column::Kind::padded, "lengths").values<std::int64_t>();
}

std::int64_t Column::width() const {
  partition_of(Column::Kind::padded, Column::Kind::padded, "widths");
  return values_.shape()[1];
}

std::span<const std::int64_t> Column::offsets() const {
  return partition_of(Column::Kind::bytes, Column::Kind::ragged_bytes, "offsets")
      .values<std::int64_t>();
}

std::string_view Column::bytes(std::int64_t i) const {
  const auto ends = offsets();
  if (i < 0 || i + 1 >= static_cast<std::int64_t>(ends.size())) {
    refuse_column(fmt::format("bytes {} are wanted of a column of {}", i, ends.size() - 1));
  }
  const auto at = static_cast<std::size_t>(i);
  return {reinterpret_cast<const char*>(values_.data()) + ends[at],
          static_cast<std::size_t>(ends[at + 1] - ends[at])};
}

Column Column::slice(std::int64_t first, std::int64_t rows) const {
  if (first < 0 || rows < 0 || rows > rows_ - first) {
    refuse_column(
        fmt::format("{} rows from {} on are wanted of a column of {}", rows, first, rows_));
  }
  Column result = *this;
  result.rows_ = rows;
  for (Tensor& partition : result.partitions_) {
    if (kind_ == Column::Kind::padded) {
      partition = partition.slice(first, rows);
      continue;
    }
    const auto splits = partition.values<std::int64_t>();
    const std::int64_t begin = splits[static_cast<std::size_t>(first)];
    const std::int64_t end = splits[static_cast<std::size_t>(first + rows)];
    partition = cut_splits(partition, first, rows);
    first = begin;
    rows = end - begin;
  }
  result.values_ = values_.slice(first, rows);
  return result;
}

std::size_t Column::memory_bytes() const {
  std::size_t total = values_.bytes();
  for (const Tensor& partition : partitions_) total += partition.bytes();
  return total;
}

std::uint64_t Column::hash() const {
  detail::ContentHash hash;
  hash.add(static_cast<std::uint64_t>(kind_));
  for (const Tensor& partition : partitions_) hash.add(partition.hash());
  hash.add(values_.hash());
  return hash.value();
}

}  // namespace infeed
