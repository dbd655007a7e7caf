#include "infeed/records/column_schema.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <limits>
#include <type_traits>

#include "columns/column_values.h"
#include "columns/nearest_half.h"
#include "infeed/error.h"

namespace infeed {

namespace detail {
namespace {

[[noreturn]] void refuse_type(const ColumnType& type, std::string_view why) {
  throw Error(ErrorCode::invalid_argument, fmt::format("column '{}' {}", type.name, why));
}

template <class T>
constexpr bool kIsFloatItem = is_float(dtype_of<T>());

/// Returns the range of a type of whole numbers, "int8 (-128 to 127)"; of another only its name.
std::string range_text(DType dtype) {
  return with_dtype(dtype, [&]<class T>(T) {
    std::string text(to_string(dtype));
    if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
      using Limits = std::numeric_limits<T>;
      text += fmt::format(" ({} to {})", Limits::min(), Limits::max());
    }
    return text;
  });
}

/// Stores `numbers` in the type. Throws for a number that the type can't hold.
template <class Number>
void store_default(const ColumnType& type, const std::vector<Number>& numbers, std::byte* out) {
  for (const Number number : numbers) {
    if (!store_number(number, type.dtype, out)) {
      refuse_type(
          type, fmt::format("has the default {}, which is no {}", number, range_text(type.dtype)));
    }
    out += item_bytes(type.dtype);
  }
}

}  // namespace

bool store_number(double number, DType dtype, void* out) {
  return with_dtype(dtype, [&]<class T>(T) {
    if constexpr (std::is_same_v<T, double>) {
      *static_cast<T*>(out) = number;
      return true;
    } else if constexpr (kIsFloatItem<T>) {
      T value{};
      if constexpr (sizeof(T) == 2) {
        value = nearest_half<T>(number);
      } else {
        value = static_cast<T>(number);
      }
      *static_cast<T*>(out) = value;
      return !std::isinf(static_cast<float>(value)) || std::isinf(number);
    } else {
      // Both limits are powers of two, which a double holds exactly.
      if (!(number >= -0x1p63 && number < 0x1p63) || number != std::trunc(number)) return false;
      return store_number(static_cast<std::int64_t>(number), dtype, out);
    }
  });
}

bool store_number(std::int64_t number, DType dtype, void* out) {
  return with_dtype(dtype, [&]<class T>(T) {
    if constexpr (std::is_same_v<T, bool>) {
      if (number != 0 && number != 1) return false;
      *static_cast<bool*>(out) = number == 1;
      return true;
    } else if constexpr (kIsFloatItem<T>) {
      return store_number(static_cast<double>(number), dtype, out);
    } else {
      if (!std::in_range<T>(number)) return false;
      *static_cast<T*>(out) = static_cast<T>(number);
      return true;
    }
  });
}

namespace {

/// Returns the default's numbers as they were given, checked.
Tensor given_numbers(const ColumnType& type) {
  if (std::holds_alternative<std::vector<std::string>>(*type.missing) &&
      !std::get<std::vector<std::string>>(*type.missing).empty()) {
    refuse_type(type, fmt::format("is of {}, but its default is text", to_string(type.dtype)));
  }
  const auto count = static_cast<std::int64_t>(
      std::visit([](const auto& list) { return list.size(); }, *type.missing));
  Tensor given(type.dtype, {count});
  std::visit(
      [&]<class Value>(const std::vector<Value>& list) {
        if constexpr (!std::is_same_v<Value, std::string>) {
          store_default(type, list, given.writable_bytes().data());
        }
      },
      *type.missing);
  const std::int64_t items = type.shape.items();
  if (type.kind != Column::Kind::dense) {
    if (items == 0 ? count != 0 : count % items != 0) {
      refuse_type(type, fmt::format("has items of shape {}, but its default has {} values",
                                    type.shape.to_string(), count));
    }
    if (type.width && count > *type.width * items) {
      refuse_type(
          type, fmt::format("is padded to {}, but its default has {} values", *type.width, count));
    }
    return given;
  }
  if (count != items && count != 1) {
    refuse_type(type, fmt::format("has rows of shape {}, but its default has {} values",
                                  type.shape.to_string(), count));
  }
  return given;
}

void check_default(const ColumnType& type) {
  if (type.dtype != DType::bytes) {
    given_numbers(type);
    return;
  }
  const auto* const texts = std::get_if<std::vector<std::string>>(&*type.missing);
  const bool is_empty_list =
      std::visit([](const auto& list) { return list.empty(); }, *type.missing);
  if (texts == nullptr && !is_empty_list) {
    refuse_type(type, "is of bytes, but its default is a number");
  }
  if (type.kind == Column::Kind::bytes && (texts == nullptr || texts->size() != 1)) {
    refuse_type(type, fmt::format("has one value a row, but its default has {}",
                                  texts == nullptr ? 0 : texts->size()));
  }
}

}  // namespace

Tensor default_numbers(const ColumnType& type) {
  Tensor given = given_numbers(type);
  const std::int64_t items = type.shape.items();
  if (type.kind != Column::Kind::dense || given.shape()[0] == items) return given;
  Tensor repeated(type.dtype, {items});
  const std::size_t item = item_bytes(type.dtype);
  const std::span<std::byte> bytes = repeated.writable_bytes();
  for (std::size_t at = 0; at < bytes.size(); at += item) {
    std::copy_n(given.data(), item, bytes.data() + at);
  }
  return repeated;
}

void check_column_type(const ColumnType& type) {
  const bool is_bytes = type.kind == Column::Kind::bytes || type.kind == Column::Kind::ragged_bytes;
  const bool is_ragged =
      type.kind == Column::Kind::ragged || type.kind == Column::Kind::ragged_bytes;
  if (is_bytes != (type.dtype == DType::bytes)) {
    refuse_type(type, fmt::format("is {}, but its dtype is {}", to_string(type.kind),
                                  to_string(type.dtype)));
  }
  if (is_bytes && type.shape.rank() != 0) {
    refuse_type(type, fmt::format("is {}, which has no shape, but {} is given",
                                  to_string(type.kind), type.shape.to_string()));
  }
  if (type.kind != Column::Kind::dense && type.shape.items() == 0) {
    refuse_type(type,
                fmt::format("has items of shape {}, which hold nothing", type.shape.to_string()));
  }
  if (type.ragged_levels < 1 || (type.ragged_levels > 1 && !is_ragged)) {
    refuse_type(type, fmt::format("is {} and can't have {} ragged levels", to_string(type.kind),
                                  type.ragged_levels));
  }
  if (type.partition && type.ragged_levels != 2) {
    refuse_type(type, fmt::format("has a feature that cuts its values, which makes two ragged "
                                  "levels, but it has {}",
                                  type.ragged_levels));
  }
  if (type.kind != Column::Kind::padded && (type.width || type.padding != 0)) {
    refuse_type(type, fmt::format("is {}; only one that is padded has a width and a padding",
                                  to_string(type.kind)));
  }
  if (type.width && *type.width < 0) {
    refuse_type(type, fmt::format("has the width {}", *type.width));
  }
  if (type.kind == Column::Kind::padded) {
    Tensor place(type.dtype, {1});
    if (!store_number(type.padding, type.dtype, place.writable_bytes().data())) {
      refuse_type(type, fmt::format("has the padding {}, which is no {}", type.padding,
                                    range_text(type.dtype)));
    }
  }
  if (type.missing) check_default(type);
}

}  // namespace detail

namespace {

/// Gives all empty defaults one type, since an empty list doesn't say which it has.
void normalise(ColumnType& type) {
  const bool is_empty =
      type.missing && std::visit([](const auto& list) { return list.empty(); }, *type.missing);
  if (is_empty) type.missing = std::vector<std::int64_t>();
}

bool is_same_number(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

bool is_same_default(const std::optional<ColumnDefault>& a, const std::optional<ColumnDefault>& b) {
  if (!a || !b || a->index() != b->index()) return a.has_value() == b.has_value() && a == b;
  const auto* const numbers = std::get_if<std::vector<double>>(&*a);
  if (numbers == nullptr) return a == b;
  const auto& others = std::get<std::vector<double>>(*b);
  return std::equal(numbers->begin(), numbers->end(), others.begin(), others.end(),
                    &is_same_number);
}

DType dtype_of_kind(std::optional<FeatureKind> kind) {
  if (kind == FeatureKind::bytes) return DType::bytes;
  return kind == FeatureKind::floats ? DType::float32 : DType::int64;
}

/// Returns a type with an item a step or, where steps have different numbers of values, an inner
/// sequence.
ColumnType type_of_steps(const InferredFeatureList& list) {
  const InferredFeature& steps = list.steps;
  ColumnType type;
  type.dtype = dtype_of_kind(steps.kind);
  type.source = ColumnSource::feature_list;
  const bool is_bytes = type.dtype == DType::bytes;
  type.kind = is_bytes ? Column::Kind::ragged_bytes : Column::Kind::ragged;
  const bool is_fixed =
      steps.value_count.is_one_value() && steps.value_count.min != 0 && list.empty_steps == 0;
  if (!is_fixed || (is_bytes && steps.value_count.min != 1)) {
    type.ragged_levels = 2;
  } else if (steps.value_count.min != 1) {
    type.shape = {static_cast<std::int64_t>(steps.value_count.min)};
  }
  return type;
}

}  // namespace

bool ColumnType::operator==(const ColumnType& other) const {
  const auto partition_of = [](const ColumnType& type) {
    if (!type.partition) return std::pair(-1, std::string());
    return std::pair(static_cast<int>(type.partition->index()),
                     std::visit([](const auto& by) { return by.feature; }, *type.partition));
  };
  return name == other.name && dtype == other.dtype && shape == other.shape && kind == other.kind &&
         ragged_levels == other.ragged_levels && width == other.width &&
         is_same_number(padding, other.padding) && is_same_default(missing, other.missing) &&
         partition_of(*this) == partition_of(other) && source == other.source &&
         is_guess == other.is_guess;
}

ColumnSchema& ColumnSchema::add(ColumnType type) {
  detail::check_column_type(type);
  names_.add(type.name, "column");
  columns_.push_back(std::move(type));
  normalise(columns_.back());
  return *this;
}

ColumnSchema& ColumnSchema::column(std::string name, DType dtype, Shape shape) {
  return add({.name = std::move(name), .dtype = dtype, .shape = std::move(shape)});
}

ColumnSchema& ColumnSchema::ragged(std::string name, DType dtype, Shape shape) {
  return add({.name = std::move(name),
              .dtype = dtype,
              .shape = std::move(shape),
              .kind = Column::Kind::ragged});
}

ColumnSchema& ColumnSchema::padded(std::string name, DType dtype, std::optional<std::int64_t> width,
                                   double padding) {
  return add({.name = std::move(name),
              .dtype = dtype,
              .kind = Column::Kind::padded,
              .width = width,
              .padding = padding});
}

ColumnSchema& ColumnSchema::bytes(std::string name) {
  return add({.name = std::move(name), .dtype = DType::bytes, .kind = Column::Kind::bytes});
}

ColumnSchema& ColumnSchema::ragged_bytes(std::string name) {
  return add({.name = std::move(name), .dtype = DType::bytes, .kind = Column::Kind::ragged_bytes});
}

ColumnSchema& ColumnSchema::if_missing(ColumnDefault value) {
  if (columns_.empty()) {
    throw Error(ErrorCode::invalid_argument,
                "if_missing() belongs to the column before it, but there is none");
  }
  ColumnType type = columns_.back();
  type.missing = std::move(value);
  detail::check_column_type(type);
  columns_.back() = std::move(type);
  normalise(columns_.back());
  return *this;
}

ColumnSchema& ColumnSchema::from_feature_list() {
  if (columns_.empty()) {
    throw Error(ErrorCode::invalid_argument,
                "from_feature_list() belongs to the column before it, but there is none");
  }
  columns_.back().source = ColumnSource::feature_list;
  return *this;
}

ColumnSchema& ColumnSchema::guessed() {
  if (columns_.empty()) {
    throw Error(ErrorCode::invalid_argument,
                "guessed() belongs to the column before it, but there is none");
  }
  columns_.back().is_guess = true;
  return *this;
}

ColumnSchema ColumnSchema::from(const InferredSchema& inferred) {
  const std::uint64_t records = inferred.records - inferred.opaque_records;
  ColumnSchema schema;
  for (const InferredFeature& feature : inferred.features) {
    const bool is_bytes = feature.kind == FeatureKind::bytes;
    ColumnType type{.name = feature.name, .dtype = dtype_of_kind(feature.kind)};
    const bool is_everywhere = feature.examples == records;
    const bool is_fixed =
        is_everywhere && feature.value_count.is_one_value() && feature.value_count.min != 0;
    if (is_bytes) {
      type.kind = is_fixed && feature.value_count.min == 1 ? Column::Kind::bytes
                                                           : Column::Kind::ragged_bytes;
    } else if (!is_fixed) {
      type.kind = Column::Kind::ragged;
    } else if (feature.value_count.min != 1) {
      type.shape = {static_cast<std::int64_t>(feature.value_count.min)};
    }
    if (!is_everywhere) type.missing = std::vector<std::int64_t>();
    schema.add(std::move(type));
  }
  for (const InferredFeatureList& list : inferred.lists) {
    ColumnType type = type_of_steps(list);
    type.name = list.name;
    if (list.examples != records) type.missing = std::vector<std::int64_t>();
    schema.add(std::move(type));
  }
  return schema;
}

}  // namespace infeed
