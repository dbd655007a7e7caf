#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <iterator>
#include <optional>
#include <span>

#include <infeed/detail/parse_whole.h>
#include <infeed/keep_rows.h>
#include <infeed/records/example.h>

namespace infeed {
namespace {

BadRow bad_row(const Error& error) {
  return {.file = error.file(),
          .record = error.record().value_or(0),
          .offset = error.offset().value_or(0),
          .reason = fmt::format("{}: {}", to_string(error.code()), error.message())};
}

/// Adds the feature of a column that must be there: zeros, or no items.
void add_zeros(ExampleBuilder& example, const ColumnType& column) {
  const bool is_dense = column.kind == Column::Kind::dense;
  const std::size_t items = is_dense ? static_cast<std::size_t>(column.shape.items()) : 0;
  const bool is_bytes = column.kind == Column::Kind::bytes ||
                        (column.dtype == DType::uint8 && (!is_dense || column.shape.rank() > 0));
  if (is_bytes && column.kind != Column::Kind::ragged_bytes) {
    example.bytes(column.name, std::string(items, '\0'));
  } else if (is_dense && is_float(column.dtype)) {
    example.floats(column.name, std::vector<float>(items));
  } else if (is_dense) {
    example.integers(column.name, std::vector<std::int64_t>(items));
  }
}

/// Writes a field of a line: tabs, line ends and backslashes by two characters.
std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '\t' || c == '\n' || c == '\\') {
      out += {'\\', c == '\t' ? 't' : c == '\n' ? 'n' : '\\'};
    } else {
      out += c;
    }
  }
  return out;
}

std::string unescaped(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\' || i + 1 == text.size()) {
      out += text[i];
      continue;
    }
    const char c = text[++i];
    out += c == 't' ? '\t' : c == 'n' ? '\n' : c;
  }
  return out;
}

std::optional<BadRow> parse_line(std::string_view line) {
  std::array<std::string_view, 4> fields;
  for (std::size_t i = 0; i < fields.size(); ++i) {
    const std::size_t end = std::min(line.find('\t'), line.size());
    if ((i + 1 == fields.size()) != (end == line.size())) return std::nullopt;
    fields[i] = line.substr(0, end);
    line.remove_prefix(std::min(end + 1, line.size()));
  }
  BadRow row{.file = unescaped(fields[0]), .reason = unescaped(fields[3])};
  if (!detail::parse_whole(fields[1], row.record) || !detail::parse_whole(fields[2], row.offset)) {
    return std::nullopt;
  }
  return row;
}

}  // namespace

KeptRows::KeptRows(const ColumnSchema& schema, KeepRowsOptions options)
    : options_(std::move(options)), schema_(schema) {
  schema_.column(options_.valid, DType::uint8).if_missing(std::vector<std::int64_t>{1});
  schema_.column(options_.number, DType::int64).if_missing(std::vector<std::int64_t>{0});
  for (const ColumnType& column : schema.columns()) {
    if (!column.missing) columns_.push_back(column);
  }
  try {
    const ColumnParser parser(schema_);
    ColumnRows rows = parser.begin(1);
    parser.parse_row(example_of(0), nullptr, 0, rows);
  } catch (const Error& error) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("keep_rows: no row can stand for a bad record: {}; give that column a "
                            "default (ColumnSchema::if_missing)",
                            error.message()));
  }
}

std::string KeptRows::example_of(std::int64_t number) const {
  ExampleBuilder example;
  for (const ColumnType& column : columns_) add_zeros(example, column);
  example.integers(options_.valid, 0).integers(options_.number, number);
  return example.encode();
}

std::string KeptRows::replace(const Error& error) {
  std::int64_t number = 0;
  {
    const std::lock_guard lock(mutex_);
    if (all_.size() >= options_.only_bad_max && !has_good_) {
      throw error.reworded(error.code(),
                           fmt::format("none of the first {} records gave a row, so the schema may "
                                       "not be theirs; this one: {}",
                                       all_.size(), error.message()));
    }
    all_.push_back(bad_row(error));
    number = static_cast<std::int64_t>(all_.size());
  }
  return example_of(number);
}

std::size_t KeptRows::take(const ColumnBatch& batch) {
  std::size_t bad = 0;
  const auto numbers = batch.column(options_.number).values<std::int64_t>();
  for (const std::int64_t number : numbers) {
    if (number == 0 || number == kNoRecord) continue;
    ++bad;
    const std::lock_guard lock(mutex_);
    const bool is_known = static_cast<std::size_t>(number) <= all_.size();
    taken_.insert(is_known ? all_[static_cast<std::size_t>(number) - 1]
                           : BadRow{.reason = "a bad row that another process has cached"});
  }
  return bad;
}

std::vector<BadRow> KeptRows::taken() const {
  const std::lock_guard lock(mutex_);
  return {taken_.begin(), taken_.end()};
}

Record padding_record(const KeptRows& kept) { return Record(kept.padding()); }

std::vector<BadRow> merged(Communicator& communicator, const std::vector<BadRow>& taken) {
  std::set<BadRow> all;
  for (const std::string& text : all_gather(communicator, to_text(taken), "the bad rows")) {
    const std::vector<BadRow> rows = bad_rows_from_text(text);
    all.insert(rows.begin(), rows.end());
  }
  return {all.begin(), all.end()};
}

std::string to_text(const std::vector<BadRow>& rows) {
  std::string text;
  for (const BadRow& row : rows) {
    text += fmt::format("{}\t{}\t{}\t{}\n", escaped(row.file), row.record, row.offset,
                        escaped(row.reason));
  }
  return text;
}

std::vector<BadRow> bad_rows_from_text(std::string_view text) {
  std::vector<BadRow> rows;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::optional<BadRow> row = parse_line(text.substr(0, end));
    if (!row) {
      throw Error(
          ErrorCode::invalid_argument,
          fmt::format("line {} of a list of bad rows is '{}'; expected file, record, offset and "
                      "reason with tabs between them",
                      rows.size() + 1, text.substr(0, end)));
    }
    rows.push_back(std::move(*row));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return rows;
}

namespace detail {

void KeepingParser::parse_row(std::string_view example, const Record* place, std::size_t row,
                              ColumnRows& rows) const {
  try {
    parser_.parse_row(example, place, row, rows);
  } catch (const Error& error) {
    parser_.parse_row(kept_->replace(error), nullptr, row, rows);
    return;
  }
  kept_->note_good();
}

}  // namespace detail
}  // namespace infeed
