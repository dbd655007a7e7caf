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

/// What the values of a member can be, by those that were seen.
class JsonMemberGuess {
 public:
  explicit JsonMemberGuess(std::string name) : name_(std::move(name)) {}

  const std::string& name() const { return name_; }
  void see(const nlohmann::ordered_json& value) {
    if (value.is_null()) return;
    ++lines_;
    if (!value.is_array()) return see_item(value);
    is_list_ = true;
    ++lists_;
    for (const nlohmann::ordered_json& item : value) see_item(item);
  }

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
  void see_item(const nlohmann::ordered_json& item) {
    has_text_ |= item.is_string();
    has_bool_ |= item.is_boolean();
    has_number_ |= item.is_number();
    has_fraction_ |= item.is_number_float() ||
                     (item.is_number_unsigned() &&
                      item.get<std::uint64_t>() >
                          static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()));
    has_others_ |= item.is_structured() || item.is_null();
  }

  std::string name_;
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

  JsonMemberGuess& of(const std::string& name) {
    const auto [place, is_new] = places.emplace(name, guesses.size());
    if (is_new) guesses.emplace_back(name);
    return guesses[place->second];
  }
};

void see_members(const nlohmann::ordered_json& object, const std::string& prefix, int depth,
                 JsonGuesses& guesses) {
  for (const auto& [key, value] : object.items()) {
    const std::string name = prefix + key;
    if (value.is_object() && depth < limits::json_depth) {
      see_members(value, name + ".", depth + 1, guesses);
      continue;
    }
    guesses.of(name).see(value);
  }
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
  std::size_t lines = 0;
  for (const detail::TextPiece& piece : rows.pieces) {
    std::string_view left = piece.text.bytes();
    while (!left.empty()) {
      const std::string_view line = left.substr(0, left.find('\n'));
      left.remove_prefix(line.size() + 1);
      if (detail::is_json_too_deep(line)) continue;  // reading it says so
      const auto object = nlohmann::ordered_json::parse(line, nullptr, /*allow_exceptions=*/false);
      if (!object.is_object()) continue;  // reading it says what is wrong
      ++lines;
      see_members(object, "", 1, guesses);
    }
  }
  ColumnSchema schema;
  for (const JsonMemberGuess& guess : guesses.guesses) guess.add_to(schema, lines);
  return schema;
}

}  // namespace infeed
