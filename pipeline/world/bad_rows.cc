#include <algorithm>
#include <array>
#include <filesystem>
#include <fmt/format.h>
#include <optional>
#include <set>
#include <utility>

#include <infeed/bad_rows.h>
#include <infeed/detail/escaped_field.h>
#include <infeed/detail/parse_whole.h>
#include <infeed/error.h>

namespace infeed {
namespace {

std::optional<BadRow> parse_line(std::string_view line) {
  std::array<std::string_view, 4> fields;
  for (std::size_t i = 0; i < fields.size(); ++i) {
    const std::size_t end = std::min(line.find('\t'), line.size());
    if ((i + 1 == fields.size()) != (end == line.size())) return std::nullopt;
    fields[i] = line.substr(0, end);
    line.remove_prefix(std::min(end + 1, line.size()));
  }
  BadRow row{.file = detail::unescaped_field(fields[0]),
             .reason = detail::unescaped_field(fields[3])};
  if (!detail::parse_whole(fields[1], row.record) || !detail::parse_whole(fields[2], row.offset)) {
    return std::nullopt;
  }
  return row;
}

}  // namespace

std::int64_t BadRowLedger::note(const BadRow& row) {
  const std::string said =
      fmt::format("{}\t{}\t{}\t{}", std::filesystem::path(row.file).filename().string(), row.record,
                  row.offset, row.reason);
  std::uint64_t hash = 0xCBF29CE484222325;  // FNV-1a
  for (const char c : said) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3;
  const auto number = static_cast<std::int64_t>(hash >> 1 | 1);
  const std::lock_guard lock(mutex_);
  rows_.emplace(number, row);
  return number;
}

BadRow BadRowLedger::row(std::int64_t number) const {
  const std::lock_guard lock(mutex_);
  if (const auto found = rows_.find(number); found != rows_.end()) return found->second;
  return {.reason = fmt::format("bad row {:016x}, which another process has read", number)};
}

TakenBadRows::TakenBadRows(std::shared_ptr<const BadRowLedger> ledger, std::string column)
    : ledger_(std::move(ledger)), column_(std::move(column)) {}

std::size_t TakenBadRows::take(const ColumnBatch& batch) {
  const Column* const numbers = batch.find(column_);
  if (numbers == nullptr || numbers->kind() != Column::Kind::dense ||
      numbers->dtype() != DType::int64) {
    return 0;
  }
  std::size_t bad = 0;
  for (const std::int64_t number : numbers->values<std::int64_t>()) {
    if (number == 0 || number == BadRowLedger::kNoRecord) continue;
    ++bad;
    const std::lock_guard lock(mutex_);
    if (numbers_.insert(number).second) rows_.push_back(ledger_->row(number));
  }
  return bad;
}

std::vector<BadRow> TakenBadRows::since(std::size_t first) const {
  const std::lock_guard lock(mutex_);
  const auto begin = rows_.begin() + static_cast<std::ptrdiff_t>(std::min(first, rows_.size()));
  return {begin, rows_.end()};
}

std::vector<BadRow> TakenBadRows::sorted() const {
  std::vector<BadRow> rows = since(0);
  std::sort(rows.begin(), rows.end());
  return rows;
}

void TakenBadRows::clear() {
  const std::lock_guard lock(mutex_);
  rows_.clear();
  numbers_.clear();
}

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
    text += fmt::format("{}\t{}\t{}\t{}\n", detail::escaped_field(row.file), row.record, row.offset,
                        detail::escaped_field(row.reason));
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

}  // namespace infeed
