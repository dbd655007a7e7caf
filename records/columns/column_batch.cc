#include "infeed/records/column_batch.h"

#include <algorithm>
#include <fmt/format.h>
#include <mutex>
#include <utility>

#include "columns/content_hash.h"
#include "columns/rows_of_batch.h"
#include "infeed/error.h"
#include "infeed/records/detail/name_table.h"
#include "infeed/records/detail/nearest_names.h"

namespace infeed {

namespace detail {

/// The names of a batch. Thread-safety: immutable.
class ColumnNames {
 public:
  explicit ColumnNames(std::vector<std::string> names) {
    for (std::string& name : names) table_.add(std::move(name), "column");
  }
  const std::vector<std::string>& all() const { return table_.names(); }
  /// Returns the index of the name; all().size() when there is none.
  std::size_t find(std::string_view name) const {
    std::size_t predicted = table_.first();
    return table_.find(name, predicted);
  }
  std::size_t memory_bytes() const { return sizeof(*this) + table_.memory_bytes(); }

 private:
  NameTable table_;
};

std::shared_ptr<const ColumnNames> column_names(std::vector<std::string> names) {
  return std::make_shared<const ColumnNames>(std::move(names));
}

}  // namespace detail

namespace {

constexpr std::size_t kAllocatorBytes = 16;
/// Bytes of the block with a batch's Content, and of the header of the block with its columns.
constexpr std::size_t kBesideContentBytes = 48;

/// Returns the bytes of memory that a column keeps beside itself.
std::size_t kept_bytes(const Column& column) {
  std::size_t total = detail::held_bytes(column.values());
  if (column.partitions().empty()) return total;
  total += kAllocatorBytes + column.partitions().size_bytes();
  for (const Tensor& partition : column.partitions()) total += detail::held_bytes(partition);
  return total;
}

std::size_t row_bytes(const Tensor& values) {
  const std::int64_t rows = values.shape()[0];
  return rows == 0 ? 0 : values.bytes() / static_cast<std::size_t>(rows);
}

/// Calls visit(bytes) with the bytes of some rows' part in each tensor of a column.
template <class Visit>
void visit_parts(const Column& column, std::int64_t first, std::int64_t rows, const Visit& visit) {
  for (const Tensor& partition : column.partitions()) {
    if (column.kind() == Column::Kind::padded) {
      visit(static_cast<std::size_t>(rows) * sizeof(std::int64_t));
      continue;
    }
    visit(static_cast<std::size_t>(rows + 1) * sizeof(std::int64_t));
    const auto splits = partition.values<std::int64_t>();
    const std::int64_t end = splits[static_cast<std::size_t>(first + rows)];
    first = splits[static_cast<std::size_t>(first)];
    rows = end - first;
  }
  visit(row_bytes(column.values()) * static_cast<std::size_t>(rows));
}

}  // namespace

/// The columns of a batch. A slice refers to rows of a whole batch, and its columns are cut when
/// somebody asks for them: a stage that moves single rows (a shuffle) asks for none.
struct ColumnBatch::Content {
  Content(std::shared_ptr<const detail::ColumnNames> all_names, std::vector<Column> all_columns,
          std::size_t bytes_of_names);
  Content(std::shared_ptr<const Content> whole_batch, std::int64_t first_row,
          std::int64_t row_count);

  /// Cuts the columns of a slice, the first time. Any number of threads may call it.
  const std::vector<Column>& cut_columns() const {
    if (whole == nullptr) return columns;
    std::call_once(cut, [this] {
      std::vector<Column> slices;
      slices.reserve(whole->columns.size());
      for (const Column& column : whole->columns) slices.push_back(column.slice(first, rows));
      columns = std::move(slices);
    });
    return columns;
  }
  const Content& all_rows() const { return whole == nullptr ? *this : *whole; }

  std::shared_ptr<const Content> whole;  ///< the batch that a slice is of; that is no slice
  std::int64_t first = 0;
  std::int64_t rows = 0;
  std::shared_ptr<const detail::ColumnNames> names;  ///< null in a slice
  mutable std::vector<Column> columns;
  mutable std::once_flag cut;
  std::size_t names_bytes = 0;  ///< the names' part of held_bytes
  std::size_t held_bytes = 0;
  std::size_t dense_row_bytes = 0;  ///< the values of a row in all dense columns
  bool all_dense = true;
};

ColumnBatch::Content::Content(std::shared_ptr<const detail::ColumnNames> all_names,
                              std::vector<Column> all_columns, std::size_t bytes_of_names)
    : rows(all_columns.front().rows()),
      names(std::move(all_names)),
      columns(std::move(all_columns)),
      names_bytes(bytes_of_names),
      held_bytes(sizeof(Content) + kBesideContentBytes + columns.capacity() * sizeof(Column) +
                 names_bytes) {
  for (const Column& column : columns) {
    held_bytes += kept_bytes(column);
    if (column.partitions().empty()) {
      dense_row_bytes += row_bytes(column.values());
    } else {
      all_dense = false;
    }
  }
}

ColumnBatch::Content::Content(std::shared_ptr<const Content> whole_batch, std::int64_t first_row,
                              std::int64_t row_count)
    : whole(std::move(whole_batch)),
      first(first_row),
      rows(row_count),
      held_bytes(sizeof(Content) + 2 * kAllocatorBytes +
                 static_cast<std::size_t>(rows) * whole->dense_row_bytes) {
  if (whole->all_dense) return;
  for (const Column& column : whole->columns) {
    if (column.partitions().empty()) continue;
    visit_parts(column, first, rows, [this](std::size_t bytes) { held_bytes += bytes; });
  }
}

ColumnBatch::ColumnBatch(std::vector<NamedColumn> columns)
    : ColumnBatch(
          [&] {
            std::vector<std::string> names;
            names.reserve(columns.size());
            for (const NamedColumn& column : columns) names.push_back(column.name);
            return detail::column_names(std::move(names));
          }(),
          [&] {
            std::vector<Column> only_columns;
            only_columns.reserve(columns.size());
            for (NamedColumn& column : columns) only_columns.push_back(std::move(column.column));
            return only_columns;
          }()) {}

ColumnBatch::ColumnBatch(std::shared_ptr<const detail::ColumnNames> names,
                         std::vector<Column> columns) {
  const std::size_t names_bytes = names.use_count() == 1 ? names->memory_bytes() : 0;
  *this = ColumnBatch(std::move(names), std::move(columns), names_bytes);
}

ColumnBatch::ColumnBatch(std::shared_ptr<const detail::ColumnNames> names,
                         std::vector<Column> columns, std::size_t names_bytes) {
  const auto& all = names->all();
  if (all.size() != columns.size()) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("a batch of {} columns has {} names", columns.size(), all.size()));
  }
  if (all.empty()) return;
  for (std::size_t i = 1; i < all.size(); ++i) {
    if (columns[i].rows() == columns[0].rows()) continue;
    throw Error(ErrorCode::invalid_argument,
                fmt::format("column '{}' has {} rows, but '{}' has {}; all columns of a batch have "
                            "as many",
                            all[i], columns[i].rows(), all[0], columns[0].rows()));
  }
  content_ = std::make_shared<const Content>(std::move(names), std::move(columns), names_bytes);
}

std::int64_t ColumnBatch::rows() const { return content_ == nullptr ? 0 : content_->rows; }

std::span<const Column> ColumnBatch::columns() const {
  return content_ == nullptr ? std::span<const Column>() : content_->cut_columns();
}

const std::vector<std::string>& ColumnBatch::names() const {
  static const std::vector<std::string> kNone;
  return content_ == nullptr ? kNone : content_->all_rows().names->all();
}

const Column* ColumnBatch::find(std::string_view name) const {
  if (content_ == nullptr) return nullptr;
  const std::size_t index = content_->all_rows().names->find(name);
  const std::span<const Column> all = columns();
  return index == all.size() ? nullptr : &all[index];
}

const Column& ColumnBatch::column(std::string_view name) const {
  if (const Column* const found = find(name)) return *found;
  const std::vector<std::string> nearest = detail::names_by_distance(names(), name);
  throw Error(ErrorCode::invalid_argument,
              nearest.empty() ? fmt::format("there is no column '{}': the batch has none", name)
                              : fmt::format("there is no column '{}'{}; the batch has {}", name,
                                            detail::did_you_mean(nearest, name),
                                            detail::quoted_names(nearest)));
}

ColumnBatch ColumnBatch::slice(std::int64_t first, std::int64_t rows) const {
  if (content_ == nullptr) {
    Column().slice(first, rows);  // throws unless no rows are wanted
    return {};
  }
  if (first == 0 && rows == this->rows()) return *this;
  if (first < 0 || rows < 0 || rows > this->rows() - first) {
    columns().front().slice(first, rows);  // throws
  }
  const bool is_slice = content_->whole != nullptr;
  ColumnBatch result;
  result.content_ = std::make_shared<const Content>(is_slice ? content_->whole : content_,
                                                    content_->first + first, rows);
  return result;
}

ColumnBatch ColumnBatch::with_column(std::string name, Column column) const {
  const Column* const found = find(name);
  std::vector<Column> columns(this->columns().begin(), this->columns().end());
  if (found != nullptr) {
    columns[static_cast<std::size_t>(found - this->columns().data())] = std::move(column);
    return with_columns(std::move(columns));
  }
  std::vector<std::string> all = names();
  all.push_back(std::move(name));
  columns.push_back(std::move(column));
  return {detail::column_names(std::move(all)), std::move(columns)};
}

/// Counts the names if this batch does: it is mostly dropped, and the new one keeps them.
ColumnBatch ColumnBatch::with_columns(std::vector<Column> columns) const {
  if (content_ == nullptr) return {detail::column_names({}), std::move(columns)};
  return {content_->all_rows().names, std::move(columns), content_->names_bytes};
}

ColumnBatch ColumnBatch::select(std::span<const std::string> names) const {
  std::vector<Column> columns;
  for (const std::string& name : names) columns.push_back(column(name));
  return {detail::column_names({names.begin(), names.end()}), std::move(columns)};
}

ColumnBatch ColumnBatch::renamed(std::string_view from, std::string to) const {
  const auto index = static_cast<std::size_t>(&column(from) - columns().data());
  std::vector<std::string> all = names();
  all[index] = std::move(to);
  return {detail::column_names(std::move(all)), content_->cut_columns()};
}

std::size_t detail::held_bytes_of_copy(const ColumnBatch& batch) {
  if (batch.content_ == nullptr) return 0;
  const ColumnBatch::Content& content = *batch.content_;
  std::size_t total = sizeof(content) + kBesideContentBytes + content.names_bytes;
  for (const Column& column : content.all_rows().columns) {
    total += sizeof(Column);
    if (!column.partitions().empty()) total += kAllocatorBytes + column.partitions().size_bytes();
    visit_parts(column, content.first, content.rows,
                [&total](std::size_t bytes) { total += held_bytes_of_copy(bytes); });
  }
  return total;
}

detail::RowsOfBatch detail::rows_of_batch(const ColumnBatch& batch) {
  if (batch.content_ == nullptr) return {};
  const ColumnBatch::Content& content = *batch.content_;
  return {content.all_rows().columns, content.first, content.rows};
}

std::size_t ColumnBatch::bytes() const {
  std::size_t total = 0;
  for (const Column& column : columns()) total += column.memory_bytes();
  return total;
}

std::size_t ColumnBatch::held_bytes() const {
  return content_ == nullptr ? 0 : content_->held_bytes;
}

bool ColumnBatch::operator==(const ColumnBatch& other) const {
  return content_ == other.content_ ||
         (names() == other.names() &&
          std::equal(columns().begin(), columns().end(), other.columns().begin()));
}

std::uint64_t ColumnBatch::hash() const {
  detail::ContentHash hash;
  for (std::size_t i = 0; i < columns().size(); ++i) {
    hash.add(std::string_view(names()[i]));
    hash.add(columns()[i].hash());
  }
  return hash.value();
}

}  // namespace infeed
