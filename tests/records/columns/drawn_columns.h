#pragma once

#include <cstdint>
#include <cstring>
#include <fmt/format.h>
#include <initializer_list>
#include <random>
#include <string>
#include <vector>

#include <infeed/records/column.h>

/// Columns made at random, and their content in another form.
namespace infeed::test {

inline Tensor int64s(std::initializer_list<std::int64_t> values) {
  return Tensor::copy_of({static_cast<std::int64_t>(values.size())}, values);
}

inline Tensor draw_tensor(std::mt19937_64& random, DType dtype, Shape shape) {
  Tensor tensor(dtype, Shape(std::span<const std::int64_t>(shape.extents())));
  std::vector<char> bytes(tensor.bytes());
  for (char& byte : bytes)
    byte = static_cast<char>(dtype == DType::boolean ? random() % 2 : random());
  Tensor raw(DType::uint8, {static_cast<std::int64_t>(bytes.size())});
  if (!bytes.empty()) {
    std::memcpy(raw.writable<std::uint8_t>().data(), bytes.data(), bytes.size());
  }
  return Tensor::adopt(dtype, std::move(shape), raw.data(), raw.owner());
}

inline DType draw_dtype(std::mt19937_64& random) {
  return static_cast<DType>(random() % static_cast<std::uint64_t>(DType::bytes));
}

inline Shape draw_row_shape(std::mt19937_64& random) {
  std::vector<std::int64_t> extents;
  for (std::uint64_t rank = random() % 3; rank > 0; --rank) {
    extents.push_back(static_cast<std::int64_t>(random() % 4));
  }
  return Shape(std::span<const std::int64_t>(extents));
}

/// Draws splits of `rows` rows; the last one is the number of items.
inline Tensor draw_splits(std::mt19937_64& random, std::int64_t rows) {
  Tensor splits(DType::int64, {rows + 1});
  std::int64_t end = 0;
  for (std::int64_t& split : splits.writable<std::int64_t>()) {
    split = end;
    end += static_cast<std::int64_t>(random() % 4);
  }
  return splits;
}

inline Column draw_column(std::mt19937_64& random, std::int64_t rows) {
  const auto kind = static_cast<Column::Kind>(random() % 5);
  if (kind == Column::Kind::dense) {
    return Column::dense(
        draw_tensor(random, draw_dtype(random), Shape(rows, draw_row_shape(random))));
  }
  if (kind == Column::Kind::padded) {
    const auto width = static_cast<std::int64_t>(random() % 4);
    Tensor lengths(DType::int64, {rows});
    for (std::int64_t& length : lengths.writable<std::int64_t>()) {
      length = static_cast<std::int64_t>(random() % (width + 1));
    }
    return Column::padded(
        draw_tensor(random, draw_dtype(random), Shape(rows, Shape(width, draw_row_shape(random)))),
        std::move(lengths));
  }
  std::vector<Tensor> splits;
  const std::uint64_t levels = kind == Column::Kind::bytes          ? 1
                               : kind == Column::Kind::ragged_bytes ? 2 + random() % 2
                                                                    : 1 + random() % 3;
  std::int64_t items = rows;
  for (std::uint64_t i = 0; i < levels; ++i) {
    splits.push_back(draw_splits(random, items));
    items = splits.back().values<std::int64_t>().back();
  }
  if (kind == Column::Kind::ragged) {
    return Column::ragged(
        draw_tensor(random, draw_dtype(random), Shape(items, draw_row_shape(random))),
        std::move(splits));
  }
  Tensor data = draw_tensor(random, DType::uint8, {items});
  Tensor offsets = std::move(splits.back());
  splits.pop_back();
  if (kind == Column::Kind::bytes) return Column::bytes(std::move(offsets), std::move(data));
  return Column::ragged_bytes(std::move(splits), std::move(offsets), std::move(data));
}

inline Tensor deep_copy(const Tensor& tensor) {
  Tensor raw(DType::uint8, {static_cast<std::int64_t>(tensor.bytes())});
  std::memcpy(raw.writable<std::uint8_t>().data(), tensor.data(), tensor.bytes());
  return Tensor::adopt(tensor.dtype(), tensor.shape(), raw.data(), raw.owner());
}

inline Column deep_copy(const Column& column) {
  std::vector<Tensor> partitions;
  for (const Tensor& partition : column.partitions()) partitions.push_back(deep_copy(partition));
  Tensor values = deep_copy(column.values());
  switch (column.kind()) {
    case Column::Kind::dense:
      return Column::dense(std::move(values));
    case Column::Kind::ragged:
      return Column::ragged(std::move(values), std::move(partitions));
    case Column::Kind::padded:
      return Column::padded(std::move(values), std::move(partitions[0]));
    case Column::Kind::bytes:
      return Column::bytes(std::move(partitions[0]), std::move(values));
    case Column::Kind::ragged_bytes:
      break;
  }
  Tensor offsets = std::move(partitions.back());
  partitions.pop_back();
  return Column::ragged_bytes(std::move(partitions), std::move(offsets), std::move(values));
}

/// Returns row i as text: brackets for rows of splits, hexadecimal for the bytes of an item.
inline std::string row_text(const Column& column, std::int64_t row) {
  std::vector<std::span<const std::int64_t>> splits;
  for (std::size_t level = 0; level < column.levels(); ++level) {
    splits.push_back(column.row_splits(level));
  }
  if (column.dtype() == DType::bytes) splits.push_back(column.offsets());
  const std::int64_t items = column.values().shape()[0];
  const std::size_t item_size = items == 0 ? 0 : column.values().bytes() / items;
  const auto visit = [&](const auto& self, std::size_t level, std::int64_t i) -> std::string {
    if (level == splits.size()) {
      std::string text;
      for (std::size_t k = 0; k < item_size; ++k) {
        text +=
            fmt::format("{:02x}", static_cast<unsigned>(column.values().data()[i * item_size + k]));
      }
      return text;
    }
    std::string text = "[";
    for (std::int64_t k = splits[level][i]; k < splits[level][i + 1]; ++k) {
      text += self(self, level + 1, k) + ",";
    }
    return text + "]";
  };
  std::string text = visit(visit, 0, row);
  if (column.kind() == Column::Kind::padded) text += fmt::format(" {}", column.lengths()[row]);
  return text;
}

}  // namespace infeed::test
