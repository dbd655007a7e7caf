#include "infeed/records/column_batch.h"

#include <algorithm>
#include <fmt/format.h>
#include <utility>

#include "columns/content_hash.h"
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

/// Returns the bytes of memory that a column keeps beside itself.
std::size_t kept_bytes(const Column& column) {
  std::size_t total = detail::held_bytes(column.values());
  if (column.partitions().empty()) return total;
  constexpr std::size_t kAllocatorBytes = 16;
  total += kAllocatorBytes + column.partitions().size_bytes();
  for (const Tensor& partition : column.partitions()) total += detail::held_bytes(partition);
  return total;
}

}  // namespace

struct ColumnBatch::Content {
  std::shared_ptr<const detail::ColumnNames> names;
  std::vector<Column> columns;
  std::size_t names_bytes;  ///< the names' part of held_bytes
  std::size_t held_bytes;
};

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
  // Two blocks beside the columns' own, each with the allocator's header.
  constexpr std::size_t kBlocksBytes = sizeof(Content) + 48;
  std::size_t bytes = kBlocksBytes + columns.capacity() * sizeof(Column) + names_bytes;
  for (std::size_t i = 0; i < all.size(); ++i) {
    bytes += kept_bytes(columns[i]);
    if (columns[i].rows() != columns[0].rows()) {
      throw Error(
          ErrorCode::invalid_argument,
          fmt::format("column '{}' has {} rows, but '{}' has {}; all columns of a batch have as "
                      "many",
                      all[i], columns[i].rows(), all[0], columns[0].rows()));
    }
  }
  content_ = std::make_shared<const Content>(
      Content{std::move(names), std::move(columns), names_bytes, bytes});
}

std::int64_t ColumnBatch::rows() const {
  return content_ == nullptr ? 0 : content_->columns.front().rows();
}

std::span<const Column> ColumnBatch::columns() const {
  return content_ == nullptr ? std::span<const Column>() : content_->columns;
}

const std::vector<std::string>& ColumnBatch::names() const {
  static const std::vector<std::string> kNone;
  return content_ == nullptr ? kNone : content_->names->all();
}

const Column* ColumnBatch::find(std::string_view name) const {
  if (content_ == nullptr) return nullptr;
  const std::size_t index = content_->names->find(name);
  return index == content_->columns.size() ? nullptr : &content_->columns[index];
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
  std::vector<Column> sliced;
  sliced.reserve(content_->columns.size());
  for (const Column& column : content_->columns) sliced.push_back(column.slice(first, rows));
  return {content_->names, std::move(sliced)};
}

ColumnBatch ColumnBatch::with_column(std::string name, Column column) const {
  const Column* const found = find(name);
  std::vector<Column> columns(this->columns().begin(), this->columns().end());
  if (found != nullptr) {
    columns[static_cast<std::size_t>(found - content_->columns.data())] = std::move(column);
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
  return {content_->names, std::move(columns), content_->names_bytes};
}

ColumnBatch ColumnBatch::select(std::span<const std::string> names) const {
  std::vector<Column> columns;
  for (const std::string& name : names) columns.push_back(column(name));
  return {detail::column_names({names.begin(), names.end()}), std::move(columns)};
}

ColumnBatch ColumnBatch::renamed(std::string_view from, std::string to) const {
  const auto index = static_cast<std::size_t>(&column(from) - content_->columns.data());
  std::vector<std::string> all = names();
  all[index] = std::move(to);
  return {detail::column_names(std::move(all)), content_->columns};
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
