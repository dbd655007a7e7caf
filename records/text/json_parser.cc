#include <algorithm>
#include <cstring>
#include <fmt/format.h>
#include <unordered_map>

#include "columns/column_values.h"
#include "infeed/records/detail/row_scan.h"
#include "infeed/records/detail/text_parser.h"
#include "infeed/records/detail/text_value.h"
#include "io/little_endian.h"
#include "text/json_values.h"
#include "text/number_scan.h"
#include "text/text_masks.h"
#include "text/text_plan.h"

namespace infeed::detail {
namespace {

constexpr std::size_t kNoMember = ~std::size_t{0};

/// Loads eight bytes, the first one lowest.
std::uint64_t load_word(const char* at) { return load_little<std::uint64_t>(at); }

/// The column of a member, and the object of columns that it is; perhaps both, perhaps neither.
struct MemberUse {
  std::size_t column = kNoMember;
  std::size_t object = kNoMember;
};

/// Gives ragged and padded columns without a default an empty row where a line lacks them.
ColumnSchema with_empty_rows(const ColumnSchema& schema) {
  ColumnSchema changed;
  for (ColumnType type : schema.columns()) {
    const bool is_list = type.kind != Column::Kind::dense && type.kind != Column::Kind::bytes;
    if (is_list && (type.ragged_levels != 1 || type.partition)) {
      throw Error(ErrorCode::invalid_argument,
                  fmt::format("json_lines: column '{}' has several ragged levels, but a value is a "
                              "flat array at most",
                              type.name));
    }
    if (is_list && !type.missing) {
      if (type.dtype == DType::bytes) {
        type.missing = std::vector<std::string>();
      } else {
        type.missing = std::vector<std::int64_t>();
      }
    }
    changed.add(std::move(type));
  }
  return changed;
}

class JsonLinesParser final : public TextParser {
 public:
  JsonLinesParser(const ColumnSchema& schema, JsonLinesOptions options)
      : TextParser(with_empty_rows(schema), options.bad_rows), options_(std::move(options)) {
    options_.row_bytes_max.of("json_lines", "row_bytes_max");
    objects_.push_back("");
    for (std::size_t i = 0; i < plan().columns.size(); ++i) {
      const std::string& name = plan().columns[i]->type.name;
      uses_[name].column = i;
      for (std::size_t dot = name.find('.'); dot != name.npos; dot = name.find('.', dot + 1)) {
        MemberUse& use = uses_[name.substr(0, dot)];
        if (use.object != kNoMember) continue;
        use.object = objects_.size();
        objects_.push_back(name.substr(0, dot + 1));
      }
    }
  }

  TextFeedOptions feed_options() const override {
    return {.row_bytes_max = options_.row_bytes_max,
            .compression = options_.compression,
            .url = options_.url};
  }

 protected:
  void parse_piece(const TextPiece& piece, Rows& rows) const override;

 private:
  /// A member seen in the line before. A line mostly has the same members in the same order,
  /// written in the same way.
  struct KnownMember {
    /// Text between the value before (or the brace) and the member's own value, filled up to whole
    /// words.
    std::string written;
    std::size_t size = 0;
    std::size_t object = kNoMember;  ///< the object that it lies in
    bool is_first = false;           ///< it is the first of its object
    MemberUse use;

    bool is_at(const char* text) const {
      std::size_t i = 0;
      for (; i + 8 <= size; i += 8) {
        if (load_word(text + i) != load_word(written.data() + i)) return false;
      }
      const std::uint64_t differing = load_word(text + i) ^ load_word(written.data() + i);
      return (differing & ((std::uint64_t{1} << (8 * (size - i))) - 1)) == 0;
    }
  };
  struct ColumnTarget {
    ScanNumber scan = nullptr;    ///< for one number a line; null: there is no quick way
    std::byte* values = nullptr;  ///< numbers, whose places don't move
    std::size_t seen = 0;         ///< number of the last line that had the member
  };
  struct Line {
    JsonCursor& cursor;
    Rows& rows;
    std::vector<KnownMember>& known;
    std::vector<ColumnTarget>& targets;
    std::size_t number = 0;
    std::size_t members = 0;
    std::size_t columns = 0;
    std::size_t column = kNoMember;  ///< the column that a problem belongs to
  };

  bool parse_line(Line& line) const;
  bool parse_members(Line& line, std::size_t object, int depth) const;
  enum class Next : std::uint8_t { member, end, problem };
  Next read_name(Line& line, std::size_t object, bool is_first, MemberUse& use) const;
  bool parse_column(Line& line, std::size_t column) const;
  bool fill_absent(Line& line) const;

  JsonLinesOptions options_;
  std::vector<std::string> objects_;  ///< "", "meta.", ...
  std::unordered_map<std::string, MemberUse> uses_;
};

/// Goes to the next member's value, or to the closing brace where there is no further member.
JsonLinesParser::Next JsonLinesParser::read_name(Line& line, std::size_t object, bool is_first,
                                                 MemberUse& use) const {
  JsonCursor& cursor = line.cursor;
  const char* const begin = cursor.at();
  const std::size_t place = line.members++;
  if (place == line.known.size()) line.known.emplace_back();
  KnownMember& known = line.known[place];
  if (known.object == object && known.is_first == is_first && known.is_at(begin)) [[likely]] {
    cursor.go_to(begin + known.size);
    use = known.use;
    return Next::member;
  }
  const auto fail_expected = [&cursor](std::string_view expected) {
    cursor.fail_expected(expected);
    return Next::problem;
  };
  const char next = cursor.peek();
  if (next == '}') return Next::end;
  if (!is_first) {
    if (next != ',') return fail_expected("',' or '}'");
    cursor.take();
  }
  JsonString name;
  if (cursor.peek() != '"') return fail_expected("a member's name");
  if (!cursor.read_string(name)) return Next::problem;
  if (cursor.peek() != ':') return fail_expected("':'");
  cursor.take();
  cursor.peek();
  const auto found = uses_.find(objects_[object] + unescaped_json(name));
  known.size = static_cast<std::size_t>(cursor.at() - begin);
  known.written.assign(begin, known.size).append(8, ' ');
  known.object = object;
  known.is_first = is_first;
  known.use = found == uses_.end() ? MemberUse{} : found->second;
  use = known.use;
  return Next::member;
}

/// Returns false, with the cursor's problem set, if float64 rounds a whole number among those from
/// `begin` to the cursor: one value, or an array.
bool keeps_numbers(JsonCursor& cursor, const char* begin) {
  const auto is_between = [](char c) {
    return c == ',' || c == ' ' || c == '[' || c == ']' || c == '\t' || c == '\r';
  };
  for (const char* at = begin; at < cursor.at();) {
    const char* const number = at;
    while (at != cursor.at() && !is_between(*at)) ++at;
    const std::string_view text(number, static_cast<std::size_t>(at - number));
    if (at - number > kDigitsOfFloat64 && float64_rounds(text)) {
      return cursor.fail_at(number,
                            fmt::format("{} would be rounded as float64", quoted_text(text)));
    }
    if (at != cursor.at()) ++at;
  }
  return true;
}

bool JsonLinesParser::parse_column(Line& line, std::size_t column) const {
  line.column = column;
  ColumnTarget& target = line.targets[column];
  if (target.seen == line.number) return line.cursor.fail("the member comes twice in the line");
  target.seen = line.number;
  const char first = line.cursor.peek();
  const char* const begin = line.cursor.at();
  const PlannedColumn& planned = *plan().columns[column];
  const char* const end =
      scan_json_number(target.scan, line.cursor.at(), target.values, line.rows.count());
  if (end != nullptr) {
    line.cursor.go_to(end);
  } else if (first == 'n') {
    if (!line.cursor.read_word("null")) return false;
    if (!planned.type.missing) {
      return line.cursor.fail(
          fmt::format("null is no value, but {} is expected; a default "
                      "(if_missing) would stand in for it",
                      expected_value(planned.type.dtype)));
    }
    append_default(planned, line.rows.column(column), line.rows.count(), plan().pool);
  } else if (!read_json_column(line.cursor, planned, line.rows.column(column), line.rows.count(),
                               plan().pool)) {
    return false;
  }
  const bool may_be_rounded = planned.type.is_guess && planned.type.dtype == DType::float64 &&
                              line.cursor.at() - begin > kDigitsOfFloat64;
  if (may_be_rounded && !keeps_numbers(line.cursor, begin)) return false;
  ++line.columns;
  line.column = kNoMember;
  return true;
}

bool JsonLinesParser::parse_members(Line& line, std::size_t object, int depth) const {
  JsonCursor& cursor = line.cursor;
  if (!cursor.enter(depth)) return false;
  cursor.take();
  for (bool is_first = true;; is_first = false) {
    MemberUse use;
    const Next next = read_name(line, object, is_first, use);
    if (next == Next::problem) return false;
    if (next == Next::end) {
      cursor.take();
      return true;
    }
    const bool is_object = use.object != kNoMember && cursor.peek() == '{';
    const bool is_good = is_object                 ? parse_members(line, use.object, depth + 1)
                         : use.column != kNoMember ? parse_column(line, use.column)
                                                   : cursor.skip_value(depth);
    if (!is_good) return false;
  }
}

bool JsonLinesParser::fill_absent(Line& line) const {
  for (std::size_t i = 0; i < plan().columns.size(); ++i) {
    if (line.targets[i].seen == line.number) continue;
    const PlannedColumn& planned = *plan().columns[i];
    if (!planned.type.missing) {
      line.column = i;
      return line.cursor.fail(
          fmt::format("the line has no such member, but {} is expected; a "
                      "default (if_missing) would stand in for it",
                      expected_value(planned.type.dtype)));
    }
    append_default(planned, line.rows.column(i), line.rows.count(), plan().pool);
  }
  return true;
}

bool JsonLinesParser::parse_line(Line& line) const {
  if (line.cursor.peek() != '{') return line.cursor.fail_expected("an object");
  if (!parse_members(line, 0, 1)) return false;
  if (line.cursor.peek() != '\n') return line.cursor.fail_expected("the line's end");
  return line.columns == plan().columns.size() || fill_absent(line);
}

void JsonLinesParser::parse_piece(const TextPiece& piece, Rows& rows) const {
  const char* at = piece.text.bytes().data();
  const char* const end = at + piece.text.size();
  std::vector<KnownMember> known;
  std::vector<ColumnTarget> targets(plan().columns.size());
  for (std::size_t i = 0; i < targets.size(); ++i) {
    const ColumnType& type = plan().columns[i]->type;
    if (type.kind != Column::Kind::dense || type.shape.rank() != 0) continue;
    targets[i] = {number_scan(type.dtype, NumberForm::json), rows.column(i).values.data()};
  }
  std::size_t number = 0;
  while (at != end) {
    if (*at == '\n' || (*at == '\r' && at[1] == '\n')) {
      at += *at == '\r' ? 2 : 1;
      continue;
    }
    JsonCursor cursor(at);
    Line line{cursor, rows, known, targets, ++number};
    if (parse_line(line)) [[likely]] {
      rows.end_row();
      at = cursor.at() + 1;
      continue;
    }
    const JsonProblem& problem = cursor.problem();
    const std::string column =
        line.column == kNoMember ? "" : plan().columns[line.column]->type.name;
    rows.refuse(
        piece, at,
        {column, fmt::format("{} (byte {} of the line)", problem.what, problem.at - at + 1)});
    at = find_char(at, end, '\n') + 1;
  }
}

}  // namespace

std::shared_ptr<const TextParser> make_json_lines_parser(ColumnSchema schema,
                                                         JsonLinesOptions options) {
  return std::make_shared<JsonLinesParser>(schema, std::move(options));
}

}  // namespace infeed::detail
