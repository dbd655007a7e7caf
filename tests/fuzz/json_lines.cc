#include <nlohmann/json.hpp>
#include <optional>

#include <infeed/records/detail/json_members.h>
#include <infeed/records/json_lines.h>
#include <infeed/records/json_parser.h>

#include "text/json_text.h"
#include "text_batches.h"

namespace {

/// A line is taken apart exactly if it is an object.
void check_members(std::string_view text, bool is_object) {
  try {
    infeed::detail::JsonMembers().read(text);
    infeed::fuzz::require(is_object, "only an object has members");
  } catch (const infeed::Error& error) {
    const bool is_too_large = error.code() == infeed::ErrorCode::resource_exhausted;
    infeed::fuzz::require(!is_object || is_too_large, "an object has members");
  }
}

/// Our parser takes exactly what another JSON parser takes, apart from depth and numbers that no
/// double holds.
void check_grammar(std::string_view text) {
  if (text.find('\n') != text.npos || text.find('\0') != text.npos) return;
  if (text.starts_with("\xef\xbb\xbf")) return;  // a byte order mark, which the other parser skips
  const std::string padded = std::string(text) + "\n" + std::string(64, '"');
  infeed::detail::JsonCursor cursor(padded.data());
  const bool is_good = cursor.skip_value(0) && cursor.peek() == '\n';
  check_members(text, is_good && text[text.find_first_not_of(" \t\r")] == '{');
  if (nlohmann::json::accept(text) == is_good) return;
  if (is_good) {
    infeed::fuzz::require(text.find_first_of("eE") != text.npos || text.size() > 300,
                          "only JSON is taken for JSON");
  } else {
    infeed::fuzz::require(cursor.problem().what.find("deep") != std::string::npos,
                          "all JSON is taken for JSON");
  }
}

/// A text alone gives what it gives as a line of a file.
void check_single_text(const infeed::ColumnSchema& schema, std::string_view text) {
  using namespace infeed;
  if (text.find_first_of("\n\r") != text.npos || text.empty()) return;
  static const JsonParser parser(schema);
  static const auto lines = detail::make_json_lines_parser(schema, {});
  std::optional<ColumnBatch> alone;
  std::optional<ColumnBatch> as_line;
  try {
    ColumnRows rows = parser.begin(1);
    parser.parse_row(text, nullptr, 0, rows);
    alone = parser.finish(std::move(rows), 1);
  } catch (const Error& error) {
    fuzz::require(error.code() == ErrorCode::data_loss, error.what());
  }
  try {
    const std::string padded = std::string(text) + "\n" + std::string(64, '"');
    const Record whole(padded);
    detail::TextRows rows;
    rows.rows = 1;
    rows.pieces.push_back(
        {.text = whole.slice(whole.bytes().substr(0, text.size() + 1)), .rows = 1});
    as_line = lines->parse(rows);
  } catch (const Error&) {  // it says more than the other
  }
  fuzz::require(alone == as_line, "a text alone is what it is as a line");
}

}  // namespace

/// The reader of JSON lines on any text, into columns of every kind.
void infeed::fuzz::check(Input input) {
  const std::uint8_t rows = input.byte();
  const std::uint8_t shift = input.byte();
  static const auto parser =
      detail::make_json_lines_parser(ColumnSchema()
                                         .column("i", DType::int64)
                                         .if_missing(std::vector<std::int64_t>{7})
                                         .bytes("t")
                                         .if_missing(std::vector<std::string>{"none"})
                                         .column("o.f", DType::float32)
                                         .if_missing(std::vector<double>{0.5})
                                         .ragged("o.r", DType::int8)
                                         .ragged("p", DType::float64, {2})
                                         .padded("w", DType::uint16, 3)
                                         .padded("v", DType::float16)
                                         .ragged_bytes("s")
                                         .column("b", DType::boolean)
                                         .if_missing(std::vector<std::int64_t>{1})
                                         .column("o", DType::bfloat16, {2})
                                         .if_missing(std::vector<double>{0}),
                                     {.bad_rows = BadRows::leave_out});
  const std::string_view text = input.rest();
  check_text(*parser, "", text, rows, shift);
  check_grammar(text);
  check_single_text(parser->schema(), text);
  static const MemoryFile memory;
  try {
    infer_json_lines_schema(memory.write(text));
  } catch (const Error&) {  // it may be any text
  }
}
