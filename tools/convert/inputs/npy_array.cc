#include "convert/inputs/npy_array.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cctype>
#include <charconv>
#include <cmath>
#include <cstring>
#include <fmt/format.h>
#include <limits>
#include <span>
#include <utility>

namespace infeed::tools {
namespace {

static_assert(std::endian::native == std::endian::little, "elements are taken as they are");

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr std::size_t kHeaderBytesMax = 1 << 20;
constexpr std::uint64_t kRowBytesMax = std::uint64_t{1} << 31;

/// What stands behind `'name':` in the header.
std::string_view value_of(std::string_view header, std::string_view name) {
  const std::size_t key = header.find(fmt::format("'{}'", name));
  const std::size_t colon = key == std::string_view::npos ? key : header.find(':', key);
  if (colon == std::string_view::npos) return {};
  const std::size_t begin = header.find_first_not_of(' ', colon + 1);
  return begin == std::string_view::npos ? std::string_view() : header.substr(begin);
}

/// The half-precision format of IEEE 754; every value of it is a float.
float widen_half(std::uint16_t half) {
  const bool is_negative = (half & 0x8000U) != 0;
  const int exponent = (half >> 10) & 0x1F;
  const auto fraction = static_cast<float>(half & 0x3FFU);
  float value = 0;
  if (exponent == 0x1F) {
    value = fraction == 0 ? std::numeric_limits<float>::infinity()
                          : std::numeric_limits<float>::quiet_NaN();
  } else if (exponent == 0) {
    value = std::ldexp(fraction, -24);
  } else {
    value = std::ldexp(fraction + 1024, exponent - 25);
  }
  return is_negative ? -value : value;
}

/// For a message, of bytes that can't be trusted to be text.
std::string quoted(std::string_view text) {
  constexpr std::size_t kShownMax = 60;
  std::string shown;
  for (const char c : text.substr(0, kShownMax)) {
    const bool is_plain = std::isprint(static_cast<unsigned char>(c)) != 0;
    shown += is_plain ? std::string(1, c) : fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
  }
  return shown + (text.size() > kShownMax ? "..." : "");
}

template <class T>
T value_at(const char* at) {
  T value;
  std::memcpy(&value, at, sizeof(T));
  return value;
}

}  // namespace

NpyColumn::NpyColumn(std::string name, FilePart array)
    : array_(std::move(array)), name_(std::move(name)) {
  read_header();
  check_size();
}

std::string NpyColumn::note() const {
  if (kind_ != 'f' || value_bytes_ == sizeof(float)) return {};
  return fmt::format("array '{}': float{} is {} float32, which an Example holds", name_,
                     8 * value_bytes_, value_bytes_ < sizeof(float) ? "widened to" : "narrowed to");
}

void NpyColumn::add_row(std::uint64_t row, std::string& bytes, ExampleBuilder& builder) const {
  bytes.resize(row_values_ * value_bytes_);
  array_.file->read_exactly(array_.begin + data_begin_ + row * bytes.size(), bytes);
  if (is_swapped_) swap_bytes(bytes);
  switch (kind_) {
    case 'S':
      add_texts(bytes, builder);
      break;
    case 'f':
      add_floats(bytes, builder);
      break;
    default:
      add_integers(bytes, builder);
  }
}

void NpyColumn::fail(ErrorCode code, const std::string& message) const {
  throw Error(code, fmt::format("array '{}': {}", name_, message)).at_file(file());
}

void NpyColumn::read_header() {
  std::array<char, 12> begin{};
  const std::size_t got = array_.file->read_at(
      array_.begin, std::span(begin).first(std::min<std::size_t>(begin.size(), array_.bytes)));
  if (got < 10 || !std::string_view(begin.data(), got).starts_with(kMagic)) {
    fail(ErrorCode::data_loss, "this is no NPY file: it doesn't begin with \\x93NUMPY");
  }
  const bool is_long = begin[6] > 1;
  std::uint32_t header_bytes = 0;
  std::memcpy(&header_bytes, begin.data() + 8, is_long ? 4 : 2);
  data_begin_ = (is_long ? 12U : 10U) + std::uint64_t{header_bytes};
  if (header_bytes > kHeaderBytesMax || data_begin_ > array_.bytes) {
    fail(ErrorCode::data_loss,
         fmt::format("its header of {} bytes ends behind the {} bytes that there are, or makes no "
                     "sense; the file is cut or damaged",
                     header_bytes, array_.bytes));
  }
  std::string header(header_bytes, '\0');
  array_.file->read_exactly(array_.begin + data_begin_ - header_bytes, header);
  for (const std::string_view key : {"descr", "fortran_order", "shape"}) {
    if (value_of(header, key).empty()) fail_as_damaged(fmt::format("no '{}'", key), header);
  }
  parse_type(value_of(header, "descr"), header);
  parse_shape(value_of(header, "shape"), header);
  if (value_of(header, "fortran_order").starts_with("True") && row_values_ > 1 && rows_ > 1) {
    fail(ErrorCode::invalid_argument,
         "its elements lie column by column (fortran_order); save numpy.ascontiguousarray(array)");
  }
}

void NpyColumn::fail_as_damaged(const std::string& what, std::string_view header) const {
  fail(ErrorCode::data_loss,
       fmt::format("its header has {}, so it is damaged or wasn't written by numpy.save: {}", what,
                   quoted(header)));
}

void NpyColumn::parse_type(std::string_view text, std::string_view header) {
  if (text.starts_with('[')) {
    fail(ErrorCode::invalid_argument,
         "its elements have fields (a structured array); save each field as an array of its own "
         "with numpy.savez");
  }
  const std::size_t end = text.find('\'', 1);
  if (!text.starts_with('\'') || end == std::string_view::npos) {
    fail_as_damaged("no whole type of the elements", header);
  }
  const std::string_view type = text.substr(1, end - 1);
  constexpr std::array<std::string_view, 12> kKnown{"b1", "u1", "u2", "u4", "u8", "i1",
                                                    "i2", "i4", "i8", "f2", "f4", "f8"};
  const std::string_view name = type.size() < 3 ? "" : type.substr(1);
  std::size_t size = 0;
  const char* const digits = name.empty() ? nullptr : name.data() + 1;
  const bool has_size =
      !name.empty() &&
      std::from_chars(digits, name.data() + name.size(), size).ptr == name.data() + name.size();
  const bool is_known = std::find(kKnown.begin(), kKnown.end(), name) != kKnown.end() ||
                        (name.starts_with('S') && size > 0);
  if (!has_size || !is_known) {
    fail(ErrorCode::invalid_argument,
         fmt::format("elements of type '{}' can't be converted; save array.astype(...) of one of "
                     "{} or S",
                     quoted(type), fmt::join(kKnown, ", ")));
  }
  kind_ = name.front();
  value_bytes_ = size;
  is_swapped_ = type.starts_with('>') && size > 1 && kind_ != 'S';
}

void NpyColumn::parse_shape(std::string_view text, std::string_view header) {
  std::vector<std::uint64_t>& shape = shape_;
  const std::size_t close = text.find(')');
  if (!text.starts_with('(') || close == std::string_view::npos) {
    fail_as_damaged("no whole shape", header);
  }
  const std::string_view inside = text.substr(1, close - 1);
  for (std::size_t at = 0; at < inside.size();) {
    std::uint64_t size = 0;
    const auto [end, error] =
        std::from_chars(inside.data() + at, inside.data() + inside.size(), size);
    if (error == std::errc()) {
      shape.push_back(size);
      at = static_cast<std::size_t>(end - inside.data());
    } else {
      ++at;
    }
  }
  if (shape.empty()) {
    fail(ErrorCode::invalid_argument,
         "it is a single value; the first dimension must number the examples");
  }
  rows_ = shape[0];
  for (std::size_t i = 1; i < shape.size(); ++i) {
    if (shape[i] != 0 && row_values_ > kRowBytesMax / shape[i]) {
      fail(ErrorCode::data_loss, "a row would have more than 2 GiB");
    }
    row_values_ *= shape[i];
  }
}

void NpyColumn::check_size() const {
  __extension__ using Wide = unsigned __int128;
  const Wide wanted = Wide{rows_} * row_values_ * value_bytes_ + data_begin_;
  if (wanted == array_.bytes) return;
  fail(ErrorCode::data_loss,
       fmt::format("{} rows of {} values of {} bytes don't make the {} bytes behind the header; "
                   "the file is cut or not an array",
                   rows_, row_values_, value_bytes_, array_.bytes - data_begin_));
}

void NpyColumn::add_texts(std::string_view bytes, ExampleBuilder& builder) const {
  std::vector<std::string_view> texts;
  for (std::size_t at = 0; at < bytes.size(); at += value_bytes_) {
    std::string_view text = bytes.substr(at, value_bytes_);
    while (text.ends_with('\0')) text.remove_suffix(1);
    texts.push_back(text);
  }
  builder.bytes(name_, texts);
}

void NpyColumn::swap_bytes(std::string& bytes) const {
  for (auto at = bytes.begin(); at != bytes.end(); at += std::ptrdiff_t(value_bytes_)) {
    std::reverse(at, at + std::ptrdiff_t(value_bytes_));
  }
}

float NpyColumn::float_at(const char* at) const {
  switch (value_bytes_) {
    case 2:
      return widen_half(value_at<std::uint16_t>(at));
    case 4:
      return value_at<float>(at);
    default:
      return static_cast<float>(value_at<double>(at));
  }
}

void NpyColumn::add_floats(std::string_view bytes, ExampleBuilder& builder) const {
  std::vector<float> values;
  for (std::size_t at = 0; at < bytes.size(); at += value_bytes_) {
    values.push_back(float_at(bytes.data() + at));
  }
  builder.floats(name_, values);
}

void NpyColumn::add_integers(std::string_view bytes, ExampleBuilder& builder) const {
  if (kind_ == 'u' && value_bytes_ == 1 && shape_.size() > 1) {
    builder.bytes(name_, bytes);  // pixels
    return;
  }
  std::vector<std::int64_t> values;
  for (std::size_t at = 0; at < bytes.size(); at += value_bytes_) {
    std::uint64_t value = 0;
    std::memcpy(&value, bytes.data() + at, value_bytes_);
    const auto unused_bits = static_cast<unsigned>(64 - 8 * value_bytes_);
    if (kind_ == 'i') {
      values.push_back(static_cast<std::int64_t>(value << unused_bits) >> unused_bits);
    } else if (value <= std::uint64_t{INT64_MAX}) {
      values.push_back(static_cast<std::int64_t>(value));
    } else {
      fail(ErrorCode::invalid_argument,
           fmt::format("the value {} is larger than a feature's integers (2^63 - 1)", value));
    }
  }
  builder.integers(name_, values);
}

}  // namespace infeed::tools
