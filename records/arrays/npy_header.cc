#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <fmt/format.h>
#include <optional>

#include "infeed/detail/parse_whole.h"
#include "infeed/error.h"
#include "infeed/records/limits.h"
#include "infeed/records/npy.h"

namespace infeed {
namespace {

constexpr std::string_view kNpyMagic = "\x93NUMPY";
constexpr std::size_t kRankMax = 64;  // NumPy's own limit

/// Quotes bytes, which may not be text, for a message.
std::string quoted_header(std::string_view text) {
  constexpr std::size_t kShownMax = 60;
  std::string shown;
  for (const char c : text.substr(0, kShownMax)) {
    const bool is_plain = std::isprint(static_cast<unsigned char>(c)) != 0;
    shown += is_plain ? std::string(1, c) : fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
  }
  return shown + (text.size() > kShownMax ? "..." : "");
}

struct KnownType {
  std::string_view name;
  DType dtype;
};
constexpr std::array<KnownType, 13> kKnownTypes = {{{"b1", DType::boolean},
                                                    {"u1", DType::uint8},
                                                    {"u2", DType::uint16},
                                                    {"u4", DType::uint32},
                                                    {"u8", DType::uint64},
                                                    {"i1", DType::int8},
                                                    {"i2", DType::int16},
                                                    {"i4", DType::int32},
                                                    {"i8", DType::int64},
                                                    {"f2", DType::float16},
                                                    {"f4", DType::float32},
                                                    {"f8", DType::float64},
                                                    {"V2", DType::bfloat16}}};

/// Parses Python's literal with the three keys, from left to right.
class HeaderParser {
 public:
  explicit HeaderParser(std::string_view header) : header_(header), left_(header) {}

  NpyLayout parse() {
    take_spaces();
    if (!take('{')) fail_as_damaged("no '{'");
    while (take_spaces(), !take('}')) {
      if (!take_entry()) break;
    }
    for (const auto& [key, is_there] :
         {std::pair("descr", has_type_), std::pair("fortran_order", is_fortran_.has_value()),
          std::pair("shape", has_shape_)}) {
      if (!is_there) fail_as_damaged(fmt::format("no '{}'", key));
    }
    set_shape();
    return std::move(layout_);
  }

 private:
  [[noreturn]] void fail_as_damaged(const std::string& what) const {
    throw Error(ErrorCode::data_loss,
                fmt::format("its header has {}, so it is damaged or wasn't written by numpy.save: "
                            "{}",
                            what, quoted_header(header_)));
  }

  void take_spaces() {
    left_.remove_prefix(std::min(left_.find_first_not_of(" \n"), left_.size()));
  }
  bool take(char c) {
    if (!left_.starts_with(c)) return false;
    left_.remove_prefix(1);
    return true;
  }
  bool take(std::string_view word) {
    if (!left_.starts_with(word)) return false;
    left_.remove_prefix(word.size());
    return true;
  }
  std::optional<std::string_view> take_string() {
    if (left_.empty() || (left_.front() != '\'' && left_.front() != '"')) return std::nullopt;
    const std::size_t end = left_.find(left_.front(), 1);
    if (end == std::string_view::npos) return std::nullopt;
    const std::string_view text = left_.substr(1, end - 1);
    left_.remove_prefix(end + 1);
    return text;
  }

  /// Returns false if none of the three keys follows.
  bool take_entry() {
    const auto key = take_string();
    take_spaces();
    if (!key || !take(':')) return false;
    take_spaces();
    if (*key == "descr") {
      take_type();
    } else if (*key == "fortran_order") {
      take_order();
    } else if (*key == "shape") {
      take_shape();
    } else {
      return false;
    }
    take_spaces();
    if (!take(',') && !left_.starts_with('}')) fail_as_damaged("no ',' behind a value");
    return true;
  }

  void take_order() {
    if (take("True")) {
      is_fortran_ = true;
    } else if (take("False")) {
      is_fortran_ = false;
    } else {
      fail_as_damaged("no whole fortran_order");
    }
  }

  void take_type() {
    if (left_.starts_with('[')) {
      throw Error(ErrorCode::invalid_argument,
                  "its elements have fields (a structured array); save each field as an array of "
                  "its own with numpy.savez");
    }
    const auto type = take_string();
    if (!type) fail_as_damaged("no whole type of the elements");
    const std::string_view name = type->empty() ? "" : type->substr(1);
    const bool has_order = type->find_first_of("<>|=") == 0;
    const auto known = std::find_if(kKnownTypes.begin(), kKnownTypes.end(),
                                    [&](const KnownType& one) { return one.name == name; });
    if (has_order && known != kKnownTypes.end()) {
      layout_.dtype = known->dtype;
      layout_.item_bytes = item_bytes(known->dtype);
      layout_.is_swapped = type->starts_with('>') && layout_.item_bytes > 1;
    } else if (!has_order || !take_text_type(name)) {
      std::string names;
      for (const KnownType& one : kKnownTypes) names += std::string(one.name) + ", ";
      throw Error(ErrorCode::invalid_argument,
                  fmt::format("elements of type '{}' can't be read; save array.astype(...) of one "
                              "of {}S",
                              quoted_header(*type), names));
    }
    has_type_ = true;
  }

  /// Takes a type such as "S12".
  bool take_text_type(std::string_view name) {
    if (!name.starts_with('S')) return false;
    std::uint32_t size = 0;
    if (!detail::parse_whole(name.substr(1), size) || size == 0 || size > INT32_MAX) return false;
    layout_.dtype = DType::bytes;
    layout_.item_bytes = size;
    return true;
  }

  void take_shape() {
    if (!take('(')) fail_as_damaged("no whole shape");
    shape_.clear();
    while (take_spaces(), !take(')')) {
      std::uint64_t size = 0;
      const char* const begin = left_.data();
      const auto read = std::from_chars(begin, begin + left_.size(), size);
      if (read.ec == std::errc::result_out_of_range || size > std::uint64_t{INT64_MAX}) {
        refuse_shape();
      }
      if (read.ec != std::errc() || shape_.size() == kRankMax) fail_as_damaged("no whole shape");
      left_.remove_prefix(static_cast<std::size_t>(read.ptr - begin));
      (void)take('L');  // Python 2 wrote sizes so
      shape_.push_back(static_cast<std::int64_t>(size));
      take_spaces();
      if (!take(',') && !left_.starts_with(')')) fail_as_damaged("no whole shape");
    }
    has_shape_ = true;
  }

  [[noreturn]] void refuse_shape() const {
    fail_as_damaged("a shape of more elements than any memory holds");
  }

  void set_shape() {
    if (shape_.empty()) {
      throw Error(ErrorCode::invalid_argument,
                  "it is a single value; the first dimension must number the rows");
    }
    // A zero doesn't make up for a size that is too large: such rows can't be numbered.
    std::uint64_t bytes = layout_.item_bytes;
    std::size_t wide = 0;
    for (const std::int64_t size : shape_) {
      const auto extent = static_cast<std::uint64_t>(std::max<std::int64_t>(1, size));
      if (bytes > std::uint64_t{INT64_MAX} / extent) refuse_shape();
      bytes *= extent;
      if (size > 1) ++wide;
    }
    if (shape_.front() > limits::npy_empty_rows && std::ranges::count(shape_, 0) != 0) {
      fail_as_damaged(fmt::format("{} rows without values, of which {} can be read", shape_.front(),
                                  limits::npy_empty_rows));
    }
    layout_.rows = shape_.front();
    layout_.row_shape = Shape(std::span<const std::int64_t>(shape_).subspan(1));
    if (*is_fortran_ && wide > 1) {
      throw Error(ErrorCode::invalid_argument,
                  "its elements lie column by column (fortran_order); save "
                  "numpy.ascontiguousarray(array)");
    }
  }

  const std::string_view header_;
  std::string_view left_;
  NpyLayout layout_;
  std::vector<std::int64_t> shape_;
  std::optional<bool> is_fortran_;
  bool has_type_ = false;
  bool has_shape_ = false;
};

}  // namespace

NpyLayout parse_npy_header(std::string_view front, std::uint64_t bytes) {
  if (front.size() < 12 || !front.starts_with(kNpyMagic)) {
    throw Error(ErrorCode::data_loss, "this is no NPY file: it doesn't begin with \\x93NUMPY");
  }
  const bool is_long = front[6] > 1;
  std::uint32_t header_bytes = 0;
  std::memcpy(&header_bytes, front.data() + 8, is_long ? 4 : 2);
  const std::uint64_t begin = is_long ? 12 : 10;
  if (begin + header_bytes > std::min<std::uint64_t>(bytes, kNpyFrontBytes)) {
    throw Error(ErrorCode::data_loss,
                fmt::format("its header of {} bytes ends behind the {} bytes that there are, or "
                            "makes no sense; the file is cut or damaged",
                            header_bytes, bytes));
  }
  if (begin + header_bytes > front.size()) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("parse_npy_header: {} bytes of the array were given, but its header "
                            "alone has {}",
                            front.size(), begin + header_bytes));
  }
  NpyLayout layout = HeaderParser(front.substr(begin, header_bytes)).parse();
  layout.data_begin = begin + header_bytes;
  __extension__ using Wide = unsigned __int128;
  const auto rows = static_cast<std::uint64_t>(layout.rows);
  if (Wide{rows} * layout.row_bytes() + layout.data_begin != bytes) {
    throw Error(
        ErrorCode::data_loss,
        fmt::format("{} rows of {} values of {} bytes don't make the {} bytes behind the "
                    "header; the file is cut or not an array",
                    rows, layout.row_shape.items(), layout.item_bytes, bytes - layout.data_begin));
  }
  return layout;
}

}  // namespace infeed
