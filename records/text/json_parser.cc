#include "infeed/records/json_parser.h"

#include <algorithm>
#include <atomic>
#include <fmt/format.h>

#include "columns/column_values.h"
#include "infeed/records/detail/feature_codec.h"
#include "infeed/records/detail/row_scan.h"
#include "infeed/records/detail/text_parser.h"
#include "text/json_row.h"
#include "text/text_masks.h"
#include "text/text_plan.h"

namespace infeed {

namespace detail {
namespace {

std::string problem_text(const JsonProblem& problem, const char* begin, std::string_view noun) {
  return fmt::format("{} (byte {} of the {})", problem.what, problem.at - begin + 1, noun);
}

class JsonLinesParser final : public TextParser {
 public:
  JsonLinesParser(const ColumnSchema& schema, JsonLinesOptions options, BatchMemory memory)
      : TextParser(with_empty_rows(schema), options.bad_rows, std::move(memory)),
        options_(std::move(options)),
        row_parser_(plan().columns) {
    options_.row_bytes_max.of("json_lines", "row_bytes_max");
  }

  TextFeedOptions feed_options() const override {
    return {.row_bytes_max = options_.row_bytes_max,
            .compression = options_.compression,
            .url = options_.url};
  }

 protected:
  void parse_piece(const TextPiece& piece, Rows& rows) const override {
    const char* at = piece.text.bytes().data();
    const char* const end = at + piece.text.size();
    JsonRowParser::State state;
    while (at != end) {
      if (*at == '\n' || (*at == '\r' && at[1] == '\n')) {
        at += *at == '\r' ? 2 : 1;
        continue;
      }
      JsonCursor cursor(at);
      if (row_parser_.parse(cursor, rows.count(), rows.columns(), plan().pool, state)) [[likely]] {
        rows.end_row();
        at = cursor.at() + 1;
        continue;
      }
      rows.refuse(piece, at,
                  {row_parser_.problem_column(state), problem_text(cursor.problem(), at, "line")});
      at = find_char(at, end, '\n') + 1;
    }
  }

 private:
  JsonLinesOptions options_;
  JsonRowParser row_parser_;
};

}  // namespace

std::shared_ptr<const TextParser> make_json_lines_parser(ColumnSchema schema,
                                                         JsonLinesOptions options,
                                                         BatchMemory memory) {
  return std::make_shared<JsonLinesParser>(schema, std::move(options), std::move(memory));
}

struct JsonPlan {
  explicit JsonPlan(std::shared_ptr<const ColumnPlan> its_columns)
      : columns(std::move(its_columns)), row_parser(columns->columns) {}

  std::shared_ptr<const ColumnPlan> columns;
  JsonRowParser row_parser;
  /// Tells apart what threads keep for this plan from what they keep for others.
  std::uint64_t number = [] {
    static std::atomic<std::uint64_t> last{0};
    return ++last;
  }();
};

namespace {

std::shared_ptr<const ColumnPlan> plan_columns(const ColumnSchema& given) {
  ColumnSchema schema = with_empty_rows(given);
  auto plan = std::make_shared<ColumnPlan>();
  for (const ColumnType& type : schema.columns()) add_column(*plan, plan_column(type));
  plan->names = column_names(schema);
  plan->schema = std::move(schema);
  return plan;
}

/// State that a thread keeps from text to text: names as they were written, and memory for a text.
struct ThreadsState {
  std::uint64_t plan = 0;
  JsonRowParser::State state;
  std::string text;
};

/// Gives the memory of a long text back, which the thread would hold until it ends.
class TextTrim {
 public:
  explicit TextTrim(std::string& text) : text_(text) {}
  TextTrim(const TextTrim&) = delete;
  TextTrim& operator=(const TextTrim&) = delete;
  ~TextTrim() {
    constexpr std::size_t kKeptBytesMax = 1 << 20;
    if (text_.capacity() > kKeptBytesMax) std::string().swap(text_);
  }

 private:
  std::string& text_;
};

ThreadsState& threads_state(const JsonPlan& plan) {
  thread_local ThreadsState kept;
  if (kept.plan != plan.number) kept.state = {};
  kept.plan = plan.number;
  return kept;
}

/// Copies the text to where it has room for whole vectors in front, as numbers need it, and a line
/// feed and such room behind, as the cursor does. Returns its begin. Line feeds in the text are
/// blanks; as carriage returns they are blanks to the cursor, too.
const char* copy_as_line(std::string_view text, std::string& line) {
  line.assign(kTextPaddingBytes, '\0');
  line.append(text);
  std::replace(line.begin(), line.end(), '\n', '\r');
  line += '\n';
  line.append(kTextPaddingBytes, '\0');
  return line.data() + kTextPaddingBytes;
}

}  // namespace
}  // namespace detail

JsonParser::JsonParser(const ColumnSchema& schema)
    : plan_(std::make_shared<const detail::JsonPlan>(detail::plan_columns(schema))),
      columns_(plan_->columns) {}

JsonParser JsonParser::with_pool(TensorPool pool) const {
  JsonParser parser = *this;
  parser.columns_ = columns_.with_pool(std::move(pool));
  return parser;
}

void JsonParser::parse_row(std::string_view text, const Record* place, std::size_t row,
                           ColumnRows& rows) const {
  rows.check_row(plan_->columns.get(), row);
  detail::ThreadsState& kept = detail::threads_state(*plan_);
  const detail::TextTrim trim(kept.text);
  const char* const begin = detail::copy_as_line(text, kept.text);
  detail::JsonCursor cursor(begin);
  try {
    if (plan_->row_parser.parse(cursor, row, rows.columns_, rows.pool_, kept.state)) return;
    const std::string column = plan_->row_parser.problem_column(kept.state);
    throw Error(ErrorCode::data_loss,
                fmt::format("{}{}", column.empty() ? "" : fmt::format("column '{}': ", column),
                            detail::problem_text(cursor.problem(), begin, "text")));
  } catch (...) {
    rows.truncate(row);
    if (place == nullptr) throw;
    detail::rethrow_with_place(*place);
  }
}

}  // namespace infeed
