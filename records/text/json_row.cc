#include "text/json_row.h"

#include <fmt/format.h>

#include "infeed/records/detail/text_value.h"
#include "io/little_endian.h"
#include "text/json_values.h"
#include "text/text_plan.h"

namespace infeed::detail {
namespace {

/// Loads eight bytes, the first one lowest.
std::uint64_t load_word(const char* at) { return load_little<std::uint64_t>(at); }

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
    if (float64_rounds(text)) {
      return cursor.fail_at(number,
                            fmt::format("{} would be rounded as float64", quoted_text(text)));
    }
    if (at != cursor.at()) ++at;
  }
  return true;
}

}  // namespace

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

JsonRowParser::JsonRowParser(PlannedColumns columns) : planned_(columns) {
  objects_.push_back("");
  for (std::size_t i = 0; i < columns.size(); ++i) {
    const ColumnType& type = columns[i]->type;
    const bool is_number = type.kind == Column::Kind::dense && type.shape.rank() == 0;
    scans_.push_back(is_number ? number_scan(type.dtype, NumberForm::json) : nullptr);
    const std::string& name = type.name;
    uses_[name].column = i;
    for (std::size_t dot = name.find('.'); dot != name.npos; dot = name.find('.', dot + 1)) {
      MemberUse& use = uses_[name.substr(0, dot)];
      if (use.object != kNoMember) continue;
      use.object = objects_.size();
      objects_.push_back(name.substr(0, dot + 1));
    }
  }
}

bool JsonRowParser::KnownMember::is_at(const char* text) const {
  std::size_t i = 0;
  for (; i + 8 <= size; i += 8) {
    if (load_word(text + i) != load_word(written.data() + i)) return false;
  }
  const std::uint64_t differing = load_word(text + i) ^ load_word(written.data() + i);
  return (differing & ((std::uint64_t{1} << (8 * (size - i))) - 1)) == 0;
}

JsonRowParser::KnownMember* JsonRowParser::known_member(Row& row) const {
  std::vector<KnownMember>& known = row.state.known_;
  const std::size_t place = row.members++;
  if (place < known.size()) [[likely]] {
    return &known[place];
  }
  return place < known_members_max() ? &known.emplace_back() : nullptr;
}

/// Goes to the next member's value, or to the closing brace where there is no further member.
JsonRowParser::Next JsonRowParser::read_name(Row& row, std::size_t object, bool is_first,
                                             MemberUse& use) const {
  JsonCursor& cursor = row.cursor;
  const char* const begin = cursor.at();
  KnownMember* const known = known_member(row);
  if (known != nullptr && known->object == object && known->is_first == is_first &&
      known->is_at(begin)) [[likely]] {
    cursor.go_to(begin + known->size);
    use = known->use;
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
  use = found == uses_.end() ? MemberUse{} : found->second;
  const auto size = static_cast<std::size_t>(cursor.at() - begin);
  if (known == nullptr || size > kKnownBytesMax) return Next::member;
  known->written.assign(begin, size).append(8, ' ');
  known->size = size;
  known->object = object;
  known->is_first = is_first;
  known->use = use;
  return Next::member;
}

bool JsonRowParser::parse_column(Row& row, std::size_t column) const {
  State& state = row.state;
  state.column_ = column;
  if (state.seen_[column] == state.number_) {
    return row.cursor.fail("the member comes twice in the line");
  }
  state.seen_[column] = state.number_;
  const char first = row.cursor.peek();
  const char* const begin = row.cursor.at();
  const PlannedColumn& planned = *planned_[column];
  GrowingColumn& out = row.out[column];
  const char* const end =
      scan_json_number(scans_[column], row.cursor.at(), out.values.data(), row.row);
  if (end != nullptr) {
    row.cursor.go_to(end);
  } else if (first == 'n') {
    if (!row.cursor.read_word("null")) return false;
    if (!planned.type.missing) {
      return row.cursor.fail(
          fmt::format("null is no value, but {} is expected; a default "
                      "(if_missing) would stand in for it",
                      expected_value(planned.type.dtype)));
    }
    append_default(planned, out, row.row, row.pool);
  } else if (!read_json_column(row.cursor, planned, out, row.row, row.pool)) {
    return false;
  }
  const bool may_be_rounded = planned.type.is_guess && planned.type.dtype == DType::float64 &&
                              row.cursor.at() - begin > kDigitsOfFloat64;
  if (may_be_rounded && !keeps_numbers(row.cursor, begin)) return false;
  ++row.columns;
  state.column_ = kNoMember;
  return true;
}

bool JsonRowParser::parse_members(Row& row, std::size_t object, int depth) const {
  JsonCursor& cursor = row.cursor;
  if (!cursor.enter(depth)) return false;
  cursor.take();
  for (bool is_first = true;; is_first = false) {
    MemberUse use;
    const Next next = read_name(row, object, is_first, use);
    if (next == Next::problem) return false;
    if (next == Next::end) {
      cursor.take();
      return true;
    }
    const bool is_object = use.object != kNoMember && cursor.peek() == '{';
    const bool is_good = is_object                 ? parse_members(row, use.object, depth + 1)
                         : use.column != kNoMember ? parse_column(row, use.column)
                                                   : cursor.skip_value(depth);
    if (!is_good) return false;
  }
}

bool JsonRowParser::fill_absent(Row& row) const {
  for (std::size_t i = 0; i < planned_.size(); ++i) {
    if (row.state.seen_[i] == row.state.number_) continue;
    const PlannedColumn& planned = *planned_[i];
    if (!planned.type.missing) {
      row.state.column_ = i;
      return row.cursor.fail(
          fmt::format("the line has no such member, but {} is expected; a "
                      "default (if_missing) would stand in for it",
                      expected_value(planned.type.dtype)));
    }
    append_default(planned, row.out[i], row.row, row.pool);
  }
  return true;
}

bool JsonRowParser::parse(JsonCursor& cursor, std::size_t row_number, std::span<GrowingColumn> out,
                          const TensorPool& pool, State& state) const {
  ++state.number_;
  state.column_ = kNoMember;
  state.seen_.resize(planned_.size());
  Row row{cursor, row_number, out, pool, state};
  if (cursor.peek() != '{') return cursor.fail_expected("an object");
  if (!parse_members(row, 0, 1)) return false;
  if (cursor.peek() != '\n') return cursor.fail_expected("the line's end");
  return row.columns == planned_.size() || fill_absent(row);
}

std::string JsonRowParser::problem_column(const State& state) const {
  return state.column_ == kNoMember ? "" : planned_[state.column_]->type.name;
}

}  // namespace infeed::detail
