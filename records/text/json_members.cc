#include "infeed/records/detail/json_members.h"

#include <algorithm>
#include <fmt/format.h>

#include "infeed/error.h"
#include "infeed/records/detail/json_depth.h"
#include "infeed/records/detail/row_scan.h"
#include "infeed/records/limits.h"
#include "text/json_text.h"
#include "text/text_plan.h"

namespace infeed::detail {

/// Walks through one line.
class JsonLineWalk {
 public:
  JsonLineWalk(JsonMembers& out, const char* line) : out_(out), cursor_(line) {}

  bool walk() {
    if (cursor_.peek() != '{') return cursor_.fail_expected("an object");
    if (!read_object(1)) return false;
    return cursor_.peek() == '\n' || cursor_.fail_expected("the line's end");
  }
  const JsonProblem& problem() const { return cursor_.problem(); }

 private:
  static constexpr std::uint64_t kUnknown = ~std::uint64_t{0};

  bool read_object(int depth);
  bool read_member(int depth);
  bool read_list(int depth, std::size_t level);
  bool read_item(int depth, std::size_t level);
  bool read_scalar();
  bool add_item(TextValue value, std::string_view written);
  JsonMember& add_member();
  void finish_list();

  JsonMembers& out_;
  JsonCursor cursor_;
  std::string name_;  ///< with the names of the objects around it
  std::size_t names_bytes_ = 0;
  std::vector<std::uint64_t> lengths_;  ///< lengths of the lists on each level of the member
  std::size_t leaf_level_ = 0;          ///< level of the lists that hold values; 0: none yet
};

bool JsonLineWalk::read_object(int depth) {
  if (!cursor_.enter(depth)) return false;
  cursor_.take();
  const std::size_t prefix = name_.size();
  if (cursor_.peek() == '}') {
    cursor_.take();
    return true;
  }
  while (true) {
    JsonString key;
    if (cursor_.peek() != '"') return cursor_.fail_expected("a member's name");
    if (!cursor_.read_string(key)) return false;
    if (cursor_.peek() != ':') return cursor_.fail_expected("':'");
    cursor_.take();
    if (key.has_escapes) {
      name_ += unescaped_json(key);
    } else {
      name_ += key.view();
    }
    if (!read_member(depth)) return false;
    name_.resize(prefix);
    const char next = cursor_.peek();
    if (next != ',' && next != '}') return cursor_.fail_expected("',' or '}'");
    cursor_.take();
    if (next == '}') return true;
  }
}

bool JsonLineWalk::read_member(int depth) {
  switch (cursor_.peek()) {
    case '{':
      name_ += '.';
      return read_object(depth + 1);
    case '[':
      add_member().is_list = true;
      lengths_.clear();
      leaf_level_ = 0;
      if (!read_list(depth + 1, 1)) return false;
      finish_list();
      return true;
    case 'n':
      add_member().is_null = true;
      return cursor_.read_word("null");
    default:
      add_member();
      return read_scalar();
  }
}

JsonMember& JsonLineWalk::add_member() {
  names_bytes_ += name_.size();
  const std::string wrong = too_many_json_columns(out_.members_.size() + 1, names_bytes_);
  if (!wrong.empty()) throw Error(ErrorCode::resource_exhausted, wrong);
  JsonMember& member = out_.members_.emplace_back();
  member.name = name_;
  member.first = out_.items_.size();
  return member;
}

/// Reads a list on `level`, the outermost of which is 1.
bool JsonLineWalk::read_list(int depth, std::size_t level) {
  if (!cursor_.enter(depth)) return false;
  cursor_.take();
  if (lengths_.size() < level) lengths_.push_back(kUnknown);
  std::uint64_t length = 0;
  char next = cursor_.peek();
  while (next != ']') {
    if (!read_item(depth, level)) return false;
    ++length;
    next = cursor_.peek();
    if (next == ']') break;
    if (next != ',') return cursor_.fail_expected("',' or ']'");
    cursor_.take();
    next = cursor_.peek();
    if (next == ']') return cursor_.fail_expected("a value");
  }
  cursor_.take();
  std::uint64_t& known = lengths_[level - 1];
  if (known == kUnknown) known = length;
  if (known != length) out_.members_.back().is_uneven = true;
  return true;
}

bool JsonLineWalk::read_item(int depth, std::size_t level) {
  JsonMember& member = out_.members_.back();
  switch (cursor_.peek()) {
    case '[':
      return read_list(depth + 1, level + 1);
    case '{':
      member.has_objects = true;
      return cursor_.skip_value(depth);
    case 'n':
      member.has_null_items = true;
      return cursor_.read_word("null");
    default:
      break;
  }
  if (leaf_level_ == 0) leaf_level_ = level;
  if (leaf_level_ != level) member.is_uneven = true;
  return read_scalar();
}

void JsonLineWalk::finish_list() {
  JsonMember& member = out_.members_.back();
  if (lengths_.size() == 1) return;
  if (leaf_level_ != 0 && leaf_level_ != lengths_.size()) member.is_uneven = true;
  if (!member.is_uneven) member.shape = lengths_;
}

bool JsonLineWalk::read_scalar() {
  const char* const begin = cursor_.at();
  switch (*begin) {
    case '"': {
      JsonString text;
      if (!cursor_.read_string(text)) return false;
      if (!text.has_escapes) return add_item({}, text.view());
      const std::size_t at = out_.unescaped_.size();
      out_.unescaped_.resize(at + text.view().size());
      out_.unescaped_.resize(at + unescape_json(text, out_.unescaped_.data() + at));
      return add_item({}, std::string_view(out_.unescaped_).substr(at));
    }
    case 't':
      return cursor_.read_word("true") && add_item({ValueForm::boolean, 1, 1}, "true");
    case 'f':
      return cursor_.read_word("false") && add_item({ValueForm::boolean, 0, 0}, "false");
    default: {
      JsonNumber number;
      if (!cursor_.read_number(number)) return false;
      const std::string_view written(number.begin,
                                     static_cast<std::size_t>(number.end - number.begin));
      return add_item(value_of_json_number(written), written);
    }
  }
}

bool JsonLineWalk::add_item(TextValue value, std::string_view written) {
  if (out_.items_.size() == limits::json_line_values) {
    return cursor_.fail(
        fmt::format("it has more than {} values, which is the limit", limits::json_line_values));
  }
  out_.items_.push_back({value, written});
  ++out_.members_.back().count;
  return true;
}

std::span<const JsonMember> JsonMembers::read(std::string_view line) {
  if (line.ends_with('\n')) line.remove_suffix(1);
  text_.assign(line);
  text_ += '\n';
  text_.append(kTextPaddingBytes, '\0');
  unescaped_.clear();
  unescaped_.reserve(line.size());  // keeps views into it valid
  members_.clear();
  items_.clear();
  JsonLineWalk walk(*this, text_.data());
  if (walk.walk()) return members_;
  const JsonProblem& problem = walk.problem();
  const auto byte = static_cast<std::size_t>(problem.at - text_.data());
  const std::string_view rest = line.substr(std::min(byte, line.size()));
  const bool is_special =
      rest.starts_with("NaN") || rest.starts_with("Infinity") || rest.starts_with("-Infinity");
  throw Error(
      ErrorCode::data_loss,
      fmt::format(
          "the line is no JSON object: {}, from byte {} on{}", quoted_text(line), byte + 1,
          is_special ? std::string(" (JSON has no NaN and no Infinity)") : ": " + problem.what));
}

}  // namespace infeed::detail
