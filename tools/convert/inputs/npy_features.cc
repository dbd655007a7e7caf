#include "convert/inputs/npy_features.h"

#include <cmath>
#include <cstring>
#include <fmt/format.h>
#include <optional>
#include <string_view>
#include <vector>

#include <infeed/error.h>

namespace infeed::tools {
namespace {

[[noreturn]] void fail(const NpyArray& array, ErrorCode code, const std::string& message) {
  throw Error(code, fmt::format("array '{}': {}", array.name(), message)).at_file(array.file());
}

template <class T>
T value_at(const char* at) {
  T value;
  std::memcpy(&value, at, sizeof(T));
  return value;
}

/// Returns the nearest float32; nothing for a finite number beyond it, as of text.
std::optional<float> float_at(DType dtype, const char* at) {
  switch (dtype) {
    case DType::float16:
      return static_cast<float>(value_at<float16>(at));
    case DType::bfloat16:
      return static_cast<float>(value_at<bfloat16>(at));
    case DType::float32:
      return value_at<float>(at);
    default:
      break;
  }
  const auto value = value_at<double>(at);
  const auto nearest = static_cast<float>(value);
  if (std::isinf(nearest) && std::isfinite(value)) return std::nullopt;
  return nearest;
}

float required_float_at(const NpyArray& array, std::uint64_t row, const char* at) {
  const auto value = float_at(array.layout().dtype, at);
  if (value) return *value;
  fail(array, ErrorCode::invalid_argument,
       fmt::format(
           "row {} has {}, which is beyond float32 (3.4e38), which an Example holds; correct "
           "it, or save the array in another unit",
           row, value_at<double>(at)));
}

/// True for values of which a row has several, as images have pixels. A row of one, as of shape
/// (N, 1), is a number.
bool has_pixels(const NpyLayout& layout) {
  return layout.dtype == DType::uint8 && layout.row_shape.rank() > 0 &&
         layout.row_shape.items() != 1;
}

bool is_signed(DType dtype) { return dtype >= DType::int8 && dtype <= DType::int64; }

}  // namespace

void require_rows_that_fit(const NpyArray& array) {
  constexpr std::uint64_t kRowBytesMax = std::uint64_t{1} << 31;
  if (array.layout().row_bytes() <= kRowBytesMax) return;
  fail(array, ErrorCode::data_loss, "a row would have more than 2 GiB");
}

std::string npy_note(const NpyArray& array) {
  const DType dtype = array.layout().dtype;
  if (!is_float(dtype) || dtype == DType::float32) return {};
  return fmt::format("array '{}': {} is {} float32, which an Example holds", array.name(),
                     to_string(dtype),
                     item_bytes(dtype) < sizeof(float) ? "widened to" : "narrowed to");
}

void add_npy_row(const NpyArray& array, std::uint64_t row, std::string& bytes,
                 ExampleBuilder& builder) {
  const NpyLayout& layout = array.layout();
  const std::size_t step = layout.item_bytes;
  bytes.resize(layout.row_bytes());
  array.read_bytes(static_cast<std::int64_t>(row), 1, bytes);
  if (layout.dtype == DType::bytes) {
    std::vector<std::string_view> texts;
    for (std::size_t at = 0; at < bytes.size(); at += step) {
      std::string_view text = std::string_view(bytes).substr(at, step);
      while (text.ends_with('\0')) text.remove_suffix(1);
      texts.push_back(text);
    }
    builder.bytes(array.name(), texts);
    return;
  }
  if (is_float(layout.dtype)) {
    std::vector<float> values;
    for (std::size_t at = 0; at < bytes.size(); at += step) {
      values.push_back(required_float_at(array, row, bytes.data() + at));
    }
    builder.floats(array.name(), values);
    return;
  }
  if (has_pixels(layout)) {
    builder.bytes(array.name(), bytes);
    return;
  }
  std::vector<std::int64_t> values;
  for (std::size_t at = 0; at < bytes.size(); at += step) {
    std::uint64_t value = 0;
    std::memcpy(&value, bytes.data() + at, step);
    const auto unused_bits = static_cast<unsigned>(64 - 8 * step);
    if (is_signed(layout.dtype)) {
      values.push_back(static_cast<std::int64_t>(value << unused_bits) >> unused_bits);
    } else if (value <= std::uint64_t{INT64_MAX}) {
      values.push_back(static_cast<std::int64_t>(value));
    } else {
      fail(array, ErrorCode::invalid_argument,
           fmt::format("row {} has {}, which is larger than a feature's integers (2^63 - 1); save "
                       "the array as texts (astype('S20'))",
                       row, value));
    }
  }
  builder.integers(array.name(), values);
}

}  // namespace infeed::tools
