#include <algorithm>
#include <fmt/format.h>
#include <limits>
#include <nlohmann/json.hpp>
#include <unordered_map>
#include <utility>

#include "infeed/records/detail/json_depth.h"
#include "infeed/records/json_lines.h"
#include "infeed/records/limits.h"
#include "text/row_scan.h"
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
  void see_text() { has_text_ = true; }
  void see_bool() { has_bool_ = true; }
  void see_number(bool is_fraction) {
    has_number_ = true;
    has_fraction_ |= is_fraction;
  }
  void see_other() { has_others_ = true; }

  void add_to(ColumnSchema& schema, std::size_t lines) const {
    const bool has_gaps = lines_ < lines;
    if ((is_list_ && lists_ != lines_) || has_others_ ||
        int{has_text_} + int{has_bool_} + int{has_number_} > 1) {
      throw Error(ErrorCode::invalid_argument,
                  fmt::format("the values of '{}' are of several kinds, or arrays of more than "
                              "values; say in a schema which columns are wanted",
                              name_));
    }
    if (lines_ == 0) return;  // only nulls
    const DType dtype = has_bool_                              ? DType::boolean
                        : has_fraction_                        ? DType::float64
                        : has_number_ && !is_list_ && has_gaps ? DType::float64
                                                               : DType::int64;
    if (is_list_) {
      has_text_ ? schema.ragged_bytes(name_) : schema.ragged(name_, dtype);
      return;
    }
    has_text_ ? schema.bytes(name_) : schema.column(name_, dtype);
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
  std::string name_;
  std::size_t last_line_ = 0;
  std::size_t last_list_ = 0;
  std::size_t lines_ = 0;
  std::size_t lists_ = 0;
  bool is_list_ = false;
  bool has_text_ = false;
  bool has_bool_ = false;
  bool has_number_ = false;
  bool has_fraction_ = false;
  bool has_others_ = false;
};

struct JsonGuesses {
  std::vector<JsonMemberGuess> guesses;  // in the order in which members came first
  std::unordered_map<std::string, std::size_t> places;
  std::size_t names_bytes = 0;

  std::size_t place_of(const std::string& name) {
    if (const auto known = places.find(name); known != places.end()) return known->second;
    if (const std::string wrong =
            detail::too_many_json_columns(guesses.size() + 1, names_bytes + name.size());
        !wrong.empty()) {
      throw Error(ErrorCode::resource_exhausted, wrong);
    }
    names_bytes += name.size();
    places.emplace(name, guesses.size());
    guesses.emplace_back(name);
    return guesses.size() - 1;
  }
};

/// Sees the members of lines while they are parsed. Kept values, in the order of their keys, would
/// cost a search through all earlier keys for each one.
class JsonMembers final : public nlohmann::json_sax<nlohmann::json> {
 public:
  explicit JsonMembers(JsonGuesses& guesses) : guesses_(guesses) {}

  void begin_line(std::size_t line) { line_ = line; }

  bool null() override {
    if (skipped_depth_ > 0) return true;
    if (in_list_) {
      guess().see_other();
    } else {
      place_ = guesses_.place_of(name_);
    }
    return true;
  }
  bool boolean(bool /*value*/) override {
    if (JsonMemberGuess* seen = item()) seen->see_bool();
    return true;
  }
  bool number_integer(std::int64_t /*value*/) override {
    if (JsonMemberGuess* seen = item()) seen->see_number(false);
    return true;
  }
  bool number_unsigned(std::uint64_t value) override {
    if (JsonMemberGuess* seen = item()) {
      seen->see_number(value >
                       static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()));
    }
    return true;
  }
  bool number_float(double /*value*/, const std::string& /*written*/) override {
    if (JsonMemberGuess* seen = item()) seen->see_number(true);
    return true;
  }
  bool string(std::string& /*value*/) override {
    if (JsonMemberGuess* seen = item()) seen->see_text();
    return true;
  }
  bool binary(nlohmann::json::binary_t& /*value*/) override { return false; }  // text has none

  bool start_object(std::size_t /*count*/) override {
    if (in_list_) return skip();
    prefix_sizes_.push_back(prefix_.size());
    if (prefix_sizes_.size() > 1) prefix_ = name_ + ".";
    return true;
  }
  bool key(std::string& value) override {
    if (skipped_depth_ == 0) name_ = prefix_ + value;
    return true;
  }
  bool end_object() override {
    if (skipped_depth_ > 0) {
      --skipped_depth_;
      return true;
    }
    prefix_.resize(prefix_sizes_.back());
    prefix_sizes_.pop_back();
    return true;
  }
  bool start_array(std::size_t /*count*/) override {
    if (in_list_) return skip();
    place_ = guesses_.place_of(name_);
    guess().see_list(line_);
    in_list_ = true;
    return true;
  }
  bool end_array() override {
    if (skipped_depth_ > 0) {
      --skipped_depth_;
    } else {
      in_list_ = false;
    }
    return true;
  }
  bool parse_error(std::size_t /*position*/, const std::string& /*last_token*/,
                   const nlohmann::detail::exception& /*error*/) override {
    return false;
  }

 private:
  JsonMemberGuess& guess() { return guesses_.guesses[place_]; }
  /// Returns the guess for the next value; null for values nested in a list's items.
  JsonMemberGuess* item() {
    if (skipped_depth_ > 0) return nullptr;
    if (!in_list_) {
      place_ = guesses_.place_of(name_);
      guess().see_line(line_);
    }
    return &guess();
  }
  bool skip() {
    if (skipped_depth_++ == 0) guess().see_other();
    return true;
  }

  JsonGuesses& guesses_;
  std::size_t line_ = 0;
  std::string prefix_;  // "outer." inside an object of that key
  std::vector<std::size_t> prefix_sizes_;
  std::string name_;
  std::size_t place_ = 0;
  bool in_list_ = false;
  std::size_t skipped_depth_ = 0;  // objects and lists within a list
};

/// True if a line, which isn't nested too deep, is an object. Reading the file reports any other
/// line.
bool is_json_object(std::string_view line) {
  const std::size_t first = line.find_first_not_of(" \t\r\n");
  return first != std::string_view::npos && line[first] == '{' && nlohmann::json::accept(line);
}

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
  JsonMembers members(guesses);
  std::size_t lines = 0;
  for (const detail::TextPiece& piece : rows.pieces) {
    std::string_view left = piece.text.bytes();
    while (!left.empty()) {
      const std::string_view line = left.substr(0, left.find('\n'));
      left.remove_prefix(line.size() + 1);
      if (detail::is_json_too_deep(line)) continue;  // reading the file reports it
      if (!is_json_object(line)) continue;           // reading the file reports it
      members.begin_line(++lines);
      try {
        nlohmann::json::sax_parse(line.begin(), line.end(), &members);
      } catch (const Error& error) {
        throw Error(error.code(), error.message()).at_file(file);
      }
    }
  }
  ColumnSchema schema;
  for (const JsonMemberGuess& guess : guesses.guesses) guess.add_to(schema, lines);
  return schema;
}

}  // namespace infeed
