#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "infeed/records/detail/text_value.h"

/// Lines of JSON taken apart where no schema says what is wanted: samples, `infeed convert`. The
/// grammar is that of json_lines' parser. Not meant to be used directly.
namespace infeed::detail {

struct JsonItem {
  TextValue value;
  std::string_view written;  ///< a string's text; otherwise as it is written
};

/// A member of a line: "outer.inner" for nested objects.
struct JsonMember {
  std::string name;
  bool is_null = false;
  bool is_list = false;
  bool has_null_items = false;  ///< a list with null in it, which is none of the values
  bool has_objects = false;     ///< a list with an object in it
  /// True for lists of lists whose inner lists differ in length or depth.
  bool is_uneven = false;
  std::vector<std::uint64_t> shape = {};  ///< lengths of lists of lists that are even
  std::size_t first = 0;                  ///< place of its first value
  std::size_t count = 0;                  ///< values, of lists of lists row by row

  bool has_inner_lists() const { return is_uneven || !shape.empty(); }
};

class JsonMembers {
 public:
  /// Takes a line apart, which may end with its line break. All is valid until the next call.
  /// Throws data_loss if it is no JSON object, or has more values than limits::json_line_values;
  /// resource_exhausted for more columns than limits::json_columns, or bytes in their names.
  std::span<const JsonMember> read(std::string_view line);

  std::span<const JsonItem> values(const JsonMember& member) const {
    return std::span(items_).subspan(member.first, member.count);
  }

 private:
  friend class JsonLineWalk;

  std::string text_;       ///< a copy of the line, with the bytes behind it that searches look at
  std::string unescaped_;  ///< strings whose text isn't as they are written
  std::vector<JsonMember> members_;
  std::vector<JsonItem> items_;
};

}  // namespace infeed::detail
