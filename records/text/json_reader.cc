#include <algorithm>
#include <fmt/format.h>
#include <limits>
#include <unordered_map>
#include <utility>

#include "infeed/records/detail/json_depth.h"
#include "infeed/records/detail/json_members.h"
#include "infeed/records/json_lines.h"
#include "text/number_guess.h"
#include "text/text_plan.h"
#include "text/text_reader.h"

namespace infeed {
namespace {

/// Guesses a member's type from the values that it has seen.
class JsonMemberGuess {
 public:
  explicit JsonMemberGuess(std::string name) : name_(std::move(name)) {}

  /// Counts a line that has the member. Lines are numbered from 1.
  void see_line(std::size_t line) {
    if (line == last_line_) return;  // a key that comes twice is one value
    last_line_ = line;
    ++lines_;
  }
  void see_list(std::size_t line) {
    see_line(line);
    is_list_ = true;
    if (line == last_list_) return;
    last_list_ = line;
    ++lists_;
  }
  void see_value(const detail::JsonItem& item) {
    switch (item.value.form) {
      case detail::ValueForm::text:
        has_text_ = true;
        return;
      case detail::ValueForm::boolean:
        has_bool_ = true;
        return;
      default:
        numbers_.see(item.value, item.written);
    }
  }
  void see_other() { has_others_ = true; }

  void add_to(ColumnSchema& schema, std::size_t lines) const {
    const bool has_gaps = lines_ < lines;
    require_one_kind();
    if (lines_ == 0) return;  // only nulls
    const DType dtype = has_bool_                ? DType::boolean
                        : numbers_.has_numbers() ? dtype_of_numbers(!is_list_ && has_gaps)
                                                 : DType::int64;
    if (is_list_) {
      (has_text_ ? schema.ragged_bytes(name_) : schema.ragged(name_, dtype)).guessed();
      return;
    }
    (has_text_ ? schema.bytes(name_) : schema.column(name_, dtype)).guessed();
    if (!has_gaps) return;
    if (has_text_) {
      schema.if_missing(std::vector<std::string>{""});
    } else if (has_bool_) {
      schema.if_missing(std::vector<std::int64_t>{0});
    } else {
      schema.if_missing(std::vector<double>{std::numeric_limits<double>::quiet_NaN()});
    }
  }

 private:
  void require_one_kind() const {
    const int kinds = int{has_text_} + int{has_bool_} + int{numbers_.has_numbers()};
    if ((!is_list_ || lists_ == lines_) && !has_others_ && kinds <= 1) return;
    throw Error(ErrorCode::invalid_argument,
                fmt::format("the values of '{}' are of several kinds, or arrays of more than "
                            "values; say in a schema which columns are wanted",
                            name_));
  }

  DType dtype_of_numbers(bool has_gaps) const {
    if (const auto dtype = numbers_.dtype(has_gaps)) return *dtype;
    // Without gaps it is beyond uint64, or beyond int64 beside a negative number.
    const bool fits = numbers_.dtype(false).has_value();
    throw Error(ErrorCode::invalid_argument,
                fmt::format("column '{}' has {}, which float64 would change{}", name_,
                            detail::quoted_text(numbers_.first_lost()),
                            fits ? ", and no value in some lines; give a schema with int64 (or "
                                   "uint64) and a default (if_missing), or write the values as "
                                   "texts, in quotes"
                                 : "; write the column's values as texts, in quotes, or give a "
                                   "schema with float64"));
  }

  std::string name_;
  std::size_t last_line_ = 0;
  std::size_t last_list_ = 0;
  std::size_t lines_ = 0;
  std::size_t lists_ = 0;
  bool is_list_ = false;
  bool has_text_ = false;
  bool has_bool_ = false;
  bool has_others_ = false;
  detail::NumberGuess numbers_;
};

/// The guesses for all members, in the order in which they came first.
class JsonGuesses {
 public:
  void see_line(detail::JsonMembers& parsed, std::string_view text) {
    const auto members = parsed.read(text);
    ++lines_;
    for (const detail::JsonMember& member : members) {
      JsonMemberGuess& guess = guess_of(member.name);
      if (member.is_null) continue;
      member.is_list ? guess.see_list(lines_) : guess.see_line(lines_);
      if (member.has_inner_lists() || member.has_null_items || member.has_objects) {
        guess.see_other();
      }
      for (const detail::JsonItem& item : parsed.values(member)) guess.see_value(item);
    }
  }

  ColumnSchema schema() const {
    ColumnSchema schema;
    for (const JsonMemberGuess& guess : guesses_) guess.add_to(schema, lines_);
    return schema;
  }

 private:
  JsonMemberGuess& guess_of(const std::string& name) {
    if (const auto known = places_.find(name); known != places_.end()) {
      return guesses_[known->second];
    }
    names_bytes_ += name.size();
    const std::string wrong = detail::too_many_json_columns(guesses_.size() + 1, names_bytes_);
    if (!wrong.empty()) throw Error(ErrorCode::resource_exhausted, wrong);
    places_.emplace(name, guesses_.size());
    return guesses_.emplace_back(name);
  }

  std::vector<JsonMemberGuess> guesses_;
  std::unordered_map<std::string, std::size_t> places_;
  std::size_t names_bytes_ = 0;
  std::size_t lines_ = 0;
};

}  // namespace

class JsonLinesReader::State : public detail::TextReader {
 public:
  using TextReader::TextReader;
};

JsonLinesReader::JsonLinesReader(std::vector<std::string> files, ColumnSchema schema,
                                 JsonLinesOptions options)
    : state_(std::make_unique<State>(
          std::move(files),
          detail::make_json_lines_parser(std::move(schema), std::move(options)))) {}
JsonLinesReader::JsonLinesReader(JsonLinesReader&&) noexcept = default;
JsonLinesReader& JsonLinesReader::operator=(JsonLinesReader&&) noexcept = default;
JsonLinesReader::~JsonLinesReader() = default;

std::unique_ptr<ColumnBatch> JsonLinesReader::read(std::size_t rows_max) {
  return state_->read(rows_max);
}

ColumnSchema infer_json_lines_schema(const std::string& file, const JsonLinesOptions& options,
                                     std::size_t rows_max) {
  const auto files = std::make_shared<const std::vector<std::string>>(1, file);
  detail::TextFeed feed(files, {.row_bytes_max = options.row_bytes_max,
                                .compression = options.compression,
                                .url = options.url});
  detail::TextRows rows;
  feed.read(std::max<std::size_t>(1, rows_max), rows);
  JsonGuesses guesses;
  detail::JsonMembers members;
  try {
    for (const detail::TextPiece& piece : rows.pieces) {
      std::string_view left = piece.text.bytes();
      while (!left.empty()) {
        const std::string_view line = left.substr(0, left.find('\n'));
        left.remove_prefix(line.size() + 1);
        try {
          guesses.see_line(members, line);
        } catch (const Error& error) {
          if (error.code() != ErrorCode::data_loss) throw;
          continue;  // reading the file reports it
        }
      }
    }
    return guesses.schema();
  } catch (const Error& error) {
    throw error.reworded(error.code(), error.message()).at_file(file);
  }
}

}  // namespace infeed
