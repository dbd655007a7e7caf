#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <infeed/records/column_schema.h>
#include <infeed/records/example.h>

/// The values that a column's rows must hold: the reference for ColumnParser. A View is a
/// FeatureView, or has those of its members that are used here.
namespace infeed::test {

/// A row in another form: its items one by one, as bytes, and the ends of inner sequences.
struct PlainRow {
  std::vector<std::string> items;
  std::vector<std::size_t> ends;

  bool operator==(const PlainRow&) const = default;
};

template <class T>
std::string bytes_of_value(T value) {
  std::string bytes(sizeof(T), '\0');
  std::memcpy(bytes.data(), &value, sizeof(T));
  return bytes;
}

/// Converts a value; nothing if the type can't hold it.
inline std::optional<std::string> integer_as(DType dtype, std::int64_t value) {
  const auto narrow = [value]<class T>(T) -> std::optional<std::string> {
    if (!std::in_range<T>(value)) return std::nullopt;
    return bytes_of_value(static_cast<T>(value));
  };
  switch (dtype) {
    case DType::boolean:
      return value == 0 || value == 1 ? std::optional(std::string(1, static_cast<char>(value)))
                                      : std::nullopt;
    case DType::int8:
      return narrow(std::int8_t{});
    case DType::int16:
      return narrow(std::int16_t{});
    case DType::int32:
      return narrow(std::int32_t{});
    case DType::int64:
      return narrow(std::int64_t{});
    case DType::uint8:
      return narrow(std::uint8_t{});
    case DType::uint16:
      return narrow(std::uint16_t{});
    case DType::uint32:
      return narrow(std::uint32_t{});
    default:
      return narrow(std::uint64_t{});
  }
}

inline std::string float_as(DType dtype, float value) {
  switch (dtype) {
    case DType::float16:
      return bytes_of_value(float16(value));
    case DType::bfloat16:
      return bytes_of_value(bfloat16(value));
    case DType::float32:
      return bytes_of_value(value);
    default:
      return bytes_of_value(static_cast<double>(value));
  }
}

/// Returns the feature's values in the column's type; nothing if it can't hold them.
template <class View>
std::optional<std::vector<std::string>> plain_values(const ColumnType& type, const View& view) {
  std::vector<std::string> values;
  if (!view.is_present()) return values;
  // For items with a shape, an empty list of any kind makes no items, like a vector of arrays.
  const bool may_be_any_kind = type.kind != Column::Kind::dense && type.shape.rank() != 0 &&
                               (type.dtype != DType::uint8 || view.kind() == FeatureKind::integers);
  if (may_be_any_kind && view.count() == 0) return values;
  if (type.dtype == DType::bytes ||
      (type.dtype == DType::uint8 && type.kind != Column::Kind::dense) ||
      (type.dtype == DType::uint8 && type.shape.rank() != 0)) {
    if (view.kind() == FeatureKind::bytes) {
      std::vector<std::string_view> texts;
      view.append_bytes(texts);
      if (type.dtype == DType::bytes) return std::vector<std::string>(texts.begin(), texts.end());
      if (texts.size() != 1) return std::nullopt;
      for (const char c : texts[0]) values.emplace_back(1, c);
      return values;
    }
    if (type.dtype == DType::bytes) return std::nullopt;
  }
  if (is_float(type.dtype)) {
    if (view.kind() != FeatureKind::floats) return std::nullopt;
    std::vector<float> floats;
    view.append_floats(floats);
    for (const float value : floats) values.push_back(float_as(type.dtype, value));
    return values;
  }
  if (view.kind() != FeatureKind::integers) return std::nullopt;
  std::vector<std::int64_t> integers;
  view.append_integers(integers);
  for (const std::int64_t value : integers) {
    const auto bytes = integer_as(type.dtype, value);
    if (!bytes) return std::nullopt;
    values.push_back(*bytes);
  }
  return values;
}

/// Returns the ends of the inner sequences of `items` items that `partition` cuts; nothing if it
/// can't.
template <class View>
std::optional<std::vector<std::size_t>> plain_ends(const View& partition, bool has_splits,
                                                   std::size_t items) {
  std::vector<std::int64_t> cuts;
  if (partition.is_present()) {
    if (partition.kind() != FeatureKind::integers) return std::nullopt;
    partition.append_integers(cuts);
  }
  std::vector<std::size_t> ends;
  std::int64_t end = 0;
  for (std::size_t i = 0; i < cuts.size(); ++i) {
    if (cuts[i] < 0 || cuts[i] > static_cast<std::int64_t>(items)) return std::nullopt;
    const std::int64_t next = has_splits ? cuts[i] : end + cuts[i];
    if (has_splits && i == 0) {
      if (next != 0) return std::nullopt;
      continue;
    }
    if (next < end || next > static_cast<std::int64_t>(items)) return std::nullopt;
    end = next;
    ends.push_back(static_cast<std::size_t>(end));
  }
  if (end != static_cast<std::int64_t>(items)) return std::nullopt;
  return ends;
}

/// True if there are no values, and `partition` isn't there or asks for some.
template <class View>
bool is_cut_row_missing(const View& view, const View& partition) {
  if (view.is_present() || !partition.is_present()) return !view.is_present();
  std::vector<std::int64_t> cuts;
  if (partition.kind() == FeatureKind::integers) partition.append_integers(cuts);
  return std::any_of(cuts.begin(), cuts.end(), [](std::int64_t cut) { return cut != 0; });
}

/// Returns the default of a missing row.
inline std::vector<std::string> plain_default(const ColumnType& type) {
  std::vector<std::string> values;
  std::visit(
      [&]<class Value>(const std::vector<Value>& list) {
        for (const Value& value : list) {
          if constexpr (std::is_same_v<Value, std::string>) {
            values.push_back(value);
          } else if (is_float(type.dtype)) {
            values.push_back(float_as(type.dtype, static_cast<float>(value)));
          } else {
            values.push_back(*integer_as(type.dtype, static_cast<std::int64_t>(value)));
          }
        }
      },
      *type.missing);
  if (type.kind == Column::Kind::dense && values.size() == 1) {
    values.resize(static_cast<std::size_t>(type.shape.items()), values[0]);
  }
  return values;
}

/// Returns the expected row; nothing if it must be refused. `partition` is the feature that cuts
/// the values, or null.
template <class View>
std::optional<PlainRow> plain_row(const ColumnType& type, const View& view,
                                  const View* partition = nullptr) {
  const bool is_uint8_sequence =
      type.dtype == DType::uint8 && type.kind != Column::Kind::dense && partition == nullptr;
  const bool is_required =
      type.kind == Column::Kind::dense || type.kind == Column::Kind::bytes || is_uint8_sequence;
  const bool is_missing = partition == nullptr ? !view.is_present() || view.count() == 0
                                               : is_cut_row_missing(view, *partition);
  const bool takes_default = type.missing && is_missing;
  std::vector<std::string> values;
  if (takes_default) {
    values = plain_default(type);
  } else {
    if (is_required && !view.is_present()) return std::nullopt;
    const auto found = plain_values(type, view);
    if (!found) return std::nullopt;
    values = *found;
  }
  if (type.kind == Column::Kind::bytes && values.size() != 1) return std::nullopt;
  const auto item_values = static_cast<std::size_t>(type.shape.items());
  if (type.kind == Column::Kind::dense) {
    if (values.size() != item_values) return std::nullopt;
    PlainRow row;
    row.items.emplace_back();
    for (const std::string& value : values) row.items[0] += value;
    return row;
  }
  if (values.size() % item_values != 0) return std::nullopt;
  if (type.width && values.size() / item_values > static_cast<std::size_t>(*type.width)) {
    return std::nullopt;
  }
  PlainRow row;
  for (std::size_t i = 0; i < values.size(); i += item_values) {
    std::string& item = row.items.emplace_back();
    for (std::size_t k = 0; k < item_values; ++k) item += values[i + k];
  }
  if (partition == nullptr) return row;
  if (takes_default) {
    if (!row.items.empty()) row.ends = {row.items.size()};
    return row;
  }
  const bool has_splits = std::holds_alternative<RowSplits>(*type.partition);
  const auto ends = plain_ends(*partition, has_splits, row.items.size());
  if (!ends) return std::nullopt;
  row.ends = *ends;
  return row;
}

/// The same for a column from a feature list: `steps` are its Views, or nothing if it is missing.
template <class View>
std::optional<PlainRow> plain_row_of_steps(const ColumnType& type,
                                           const std::optional<std::vector<View>>& steps) {
  const bool is_dense = type.kind == Column::Kind::dense;
  const bool has_two_levels = type.ragged_levels == 2;
  if (type.missing && (!steps || steps->empty())) {
    ColumnType of_features = type;
    of_features.ragged_levels = 1;
    auto row = plain_row(of_features, View());
    if (has_two_levels && !row->items.empty()) row->ends = {row->items.size()};
    return row;
  }
  if (!steps) return has_two_levels ? std::optional(PlainRow()) : std::nullopt;
  ColumnType of_step{.name = type.name, .dtype = type.dtype};
  of_step.shape = is_dense ? type.shape.without_first() : type.shape;
  const bool is_bytes = type.dtype == DType::bytes;
  if (has_two_levels) {
    of_step.kind = is_bytes ? Column::Kind::ragged_bytes : Column::Kind::ragged;
  } else if (is_bytes) {
    of_step.kind = Column::Kind::bytes;
  }
  PlainRow row;
  for (const View& step : *steps) {
    const auto items = plain_row(of_step, step);
    if (!items) return std::nullopt;
    row.items.insert(row.items.end(), items->items.begin(), items->items.end());
    if (has_two_levels) row.ends.push_back(row.items.size());
  }
  if (type.width && steps->size() > static_cast<std::size_t>(*type.width)) return std::nullopt;
  if (!is_dense) return row;
  if (steps->size() != static_cast<std::size_t>(type.shape[0])) return std::nullopt;
  PlainRow joined;
  joined.items.emplace_back();
  for (const std::string& item : row.items) joined.items[0] += item;
  return joined;
}

/// Returns row `row` of the parsed column. Padding is checked and left out; wrong padding becomes
/// one more item.
inline PlainRow row_of_column(const ColumnType& type, const Column& column, std::int64_t row) {
  PlainRow plain;
  std::int64_t begin = row;
  std::int64_t end = row + 1;
  bool is_padded_well = true;
  if (column.kind() == Column::Kind::padded) {
    begin = row * column.width();
    end = begin + column.lengths()[row];
    std::string expected(item_bytes(type.dtype), '\0');
    if (type.padding != 0) {
      expected = is_float(type.dtype)
                     ? float_as(type.dtype, static_cast<float>(type.padding))
                     : *integer_as(type.dtype, static_cast<std::int64_t>(type.padding));
    }
    const std::size_t size = expected.size();
    const std::size_t first = static_cast<std::size_t>(end * type.shape.items());
    const std::size_t last =
        static_cast<std::size_t>((row + 1) * column.width() * type.shape.items());
    for (std::size_t i = first; i < last; ++i) {
      const std::byte* const at = column.values().data() + i * size;
      is_padded_well = is_padded_well && std::memcmp(at, expected.data(), size) == 0;
    }
  } else if (column.is_ragged()) {
    begin = column.row_splits()[row];
    end = column.row_splits()[row + 1];
    if (column.levels() == 2) {
      const auto inner = column.row_splits(1);
      for (std::int64_t i = begin; i < end; ++i) {
        plain.ends.push_back(static_cast<std::size_t>(inner[i + 1] - inner[begin]));
      }
      begin = inner[begin];
      end = inner[end];
    }
  }
  for (std::int64_t i = begin; i < end; ++i) {
    if (column.dtype() == DType::bytes) {
      plain.items.emplace_back(column.bytes(i));
    } else {
      const std::size_t size =
          static_cast<std::size_t>(type.shape.items()) * item_bytes(type.dtype);
      plain.items.emplace_back(reinterpret_cast<const char*>(column.values().data()) + i * size,
                               size);
    }
  }
  if (!is_padded_well) plain.items.emplace_back("another padding");
  return plain;
}

}  // namespace infeed::test
