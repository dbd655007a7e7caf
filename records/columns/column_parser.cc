#include "infeed/records/column_parser.h"

#include <algorithm>
#include <cstring>
#include <fmt/format.h>
#include <string>
#include <utility>

#include "columns/column_plan.h"
#include "columns/small_columns.h"
#include "columns/step_columns.h"
#include "infeed/error.h"
#include "infeed/records/detail/feature_codec.h"
#include "infeed/records/detail/usual_form.h"

namespace infeed {
namespace {

/// Views of the features of one record. Hundreds of views on the stack would have to be cleared for
/// each record; these only keep the memory.
std::span<FeatureView> spare_views(std::size_t count) {
  thread_local std::vector<FeatureView> views;
  if (views.size() < count) views.resize(count);
  return std::span(views).first(count);
}

[[noreturn]] void refuse_row(std::size_t row, std::string_view why) {
  throw Error(ErrorCode::invalid_argument, fmt::format("row {} can't be parsed: {}", row, why));
}

/// Returns the feature that cuts the column's values. There must be one.
const std::string& partition_of(const ColumnType& type) {
  return std::visit([](const auto& by) -> const std::string& { return by.feature; },
                    *type.partition);
}

void check_source(const ColumnType& type) {
  if (type.source == ColumnSource::feature_list) {
    detail::check_steps(type);
    return;
  }
  if (type.partition && partition_of(type) == type.name) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("column '{}' is to be cut by itself; name the feature that has its "
                            "row_lengths or row_splits",
                            type.name));
  }
  if (type.ragged_levels > 2 || (type.ragged_levels == 2 && !type.partition)) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("column '{}' has {} ragged levels, but a feature of an Example has "
                            "one, or two with another feature that cuts its values (row_lengths "
                            "or row_splits)",
                            type.name, type.ragged_levels));
  }
}

/// Returns the place of the feature's view. A partition may cut several columns, and be one itself.
std::size_t view_of(ExampleParser& parser, const std::string& feature) {
  const detail::NameTable& names = parser.name_table();
  std::size_t predicted = names.first();
  const std::size_t found = names.size() == 0 ? 0 : names.find(feature, predicted);
  return found == names.size() ? parser.want(feature) : found;
}

std::shared_ptr<const detail::ColumnPlan> make_plan(ColumnSchema schema) {
  auto plan = std::make_shared<detail::ColumnPlan>();
  for (const ColumnType& type : schema.columns()) {
    check_source(type);
    auto column = detail::plan_column(type);
    if (column->is_of_steps()) {
      plan->lists.want_list(type.name);
      plan->list_columns.push_back(plan->columns.size());
      detail::plan_steps(*column);
    } else {
      column->own_view = view_of(plan->parser, type.name);
      if (type.partition) {
        const std::size_t view = view_of(plan->parser, partition_of(type));
        column->cut_by = static_cast<std::ptrdiff_t>(view - column->own_view);
        plan->has_partitions = true;
      }
      plan->feature_columns.push_back(plan->columns.size());
    }
    plan->parse_lists.push_back(column->is_of_steps() ? nullptr : detail::plan_usual_form(type));
    detail::add_column(*plan, std::move(column));
  }
  plan->names = detail::column_names(schema);
  plan->schema = std::move(schema);
  return plan;
}

/// Reads a record in the usual form. Returns false if it isn't in that form; `rows` then holds a
/// part of it.
bool parse_usual(const detail::ColumnPlan& plan, std::string_view example, std::size_t row,
                 std::span<detail::GrowingColumn> rows, const TensorPool& pool,
                 detail::LateCopy* late) {
  if (!plan.list_columns.empty()) return parse_usual_sequence(plan, example, row, rows, pool);
  if (plan.has_partitions) return false;
  const detail::UsualRow usual_row = {row, pool, late};
  return detail::visit_usual_features(
      plan.parser, example, [&](std::size_t i, FeatureKind kind, std::string_view list) {
        const detail::ParseList parse = plan.parse_lists[i];
        return parse != nullptr && parse(*plan.columns[i], kind, list, rows[i], usual_row);
      });
}

/// True if there is a partition that is of no values: none, or empty inner sequences.
bool cuts_nothing(const FeatureView& partition) {
  if (!partition.is_present()) return false;
  std::vector<std::int64_t> cuts;
  partition.append_integers(cuts);
  return std::all_of(cuts.begin(), cuts.end(), [](std::int64_t cut) { return cut == 0; });
}

/// True if the column's default stands in for the record's value. A partition may be there for the
/// sake of another column. If it asks for no values, none are missing.
bool takes_default(const detail::PlannedColumn& column, const FeatureView* view) {
  if (!column.type.missing) return false;
  if (column.type.partition) return !view->is_present() && !cuts_nothing(view[column.cut_by]);
  return detail::is_missing_or_empty(*view);
}

}  // namespace

ColumnParser::ColumnParser(ColumnSchema schema) : plan_(make_plan(std::move(schema))) {}
ColumnParser::ColumnParser(std::shared_ptr<const detail::ColumnPlan> plan)
    : plan_(std::move(plan)) {}

const ColumnSchema& ColumnParser::schema() const { return plan_->schema; }

bool ColumnParser::has_fixed_rows() const { return plan_->has_fixed_rows; }

ExpectedFeatures ColumnParser::expected() const {
  ExpectedFeatures expected;
  expected.of_sequences = !plan_->list_columns.empty();
  for (const auto& column : plan_->columns) {
    if (!column->must_be_there && !column->type.missing) {
      (column->is_of_steps() ? expected.lists : expected.features).push_back(column->type.name);
    }
  }
  return expected;
}

std::size_t ColumnParser::row_bytes_min() const {
  std::size_t bytes = 0;
  for (const auto& column : plan_->columns) bytes += detail::column_row_bytes_min(*column);
  return bytes;
}

ColumnParser ColumnParser::with_pool(TensorPool pool) const {
  ColumnParser parser = *this;
  parser.pool_ = std::move(pool);
  return parser;
}

ColumnRows ColumnParser::begin(std::size_t rows_max) const {
  ColumnRows rows(plan_, pool_, rows_max);
  detail::begin_small_columns(*plan_, rows_max, rows.columns_, pool_);
  for (std::size_t i = 0; i < plan_->columns.size(); ++i) {
    detail::begin_column(*plan_->columns[i], rows_max, rows.columns_[i], pool_);
  }
  return rows;
}

void ColumnParser::parse_row(std::string_view example, const Record* place, std::size_t row,
                             ColumnRows& rows, detail::LateCopy* late) const {
  const detail::ColumnPlan& plan = *plan_;
  rows.check_row(plan_.get(), row);
  try {
    if (parse_usual(plan, example, row, rows.columns_, rows.pool_, late)) return;
    if (late != nullptr) late->forget();
    rows.truncate(row);
    const std::span<FeatureView> views = spare_views(plan.parser.size());
    plan.parser.parse(example, views);
    for (const std::size_t i : plan.feature_columns) {
      const detail::PlannedColumn& column = *plan.columns[i];
      const FeatureView* const view = &views[column.own_view];
      if (takes_default(column, view)) {
        detail::append_default(column, rows.columns_[i], row, rows.pool_);
        continue;
      }
      if (column.must_be_there && !view->is_present()) detail::fail_missing(*view, example);
      column.parse(column, view, rows.columns_[i], row, rows.pool_);
    }
    if (!plan.list_columns.empty()) {
      detail::parse_lists(plan, example, row, rows.columns_, rows.pool_);
    }
  } catch (...) {
    rows.truncate(row);
    if (place == nullptr) throw;
    detail::rethrow_with_place(*place);
  }
}

ColumnBatch ColumnParser::finish(ColumnRows&& rows, std::size_t row_count) const {
  const auto refuse_batch = [row_count](std::string_view why) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("a batch of {} rows can't be made: {}", row_count, why));
  };
  if (rows.plan_ != plan_) refuse_batch("they were begun by another parser");
  const std::size_t there = plan_->has_fixed_rows ? rows.rows_max_ : rows.appended();
  if (row_count > there) refuse_batch(fmt::format("there are {}", there));
  ColumnRows taken = std::move(rows);
  taken.truncate(row_count);
  std::vector<Column> columns;
  columns.reserve(plan_->columns.size());
  for (std::size_t i = 0; i < plan_->columns.size(); ++i) {
    columns.push_back(
        detail::finish_column(*plan_->columns[i], row_count, taken.columns_[i], taken.pool_));
  }
  return {plan_->names, std::move(columns)};
}

ColumnRows::ColumnRows(std::shared_ptr<const detail::ColumnPlan> plan, TensorPool pool,
                       std::size_t rows_max)
    : plan_(std::move(plan)),
      pool_(std::move(pool)),
      rows_max_(rows_max),
      columns_(plan_->columns.size()) {}
ColumnRows::ColumnRows(ColumnRows&&) noexcept = default;
ColumnRows& ColumnRows::operator=(ColumnRows&&) noexcept = default;
ColumnRows::~ColumnRows() = default;

std::size_t ColumnRows::appended() const {
  return columns_[plan_->first_growing].partitions[0].size<std::int64_t>() - 1;
}

void ColumnRows::check_row(const detail::ColumnPlan* plan, std::size_t row) const {
  if (plan_.get() != plan) refuse_row(row, "the rows were begun by another parser");
  if (row >= rows_max_) refuse_row(row, fmt::format("there are at most {} rows", rows_max_));
  if (!plan->has_fixed_rows && row != appended()) {
    refuse_row(row, fmt::format("rows are appended, and the next one is {}", appended()));
  }
}

void ColumnRows::truncate(std::size_t rows) {
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    detail::truncate_column(*plan_->columns[i], rows, columns_[i]);
  }
}

void ColumnRows::close_gaps(std::size_t rows, std::span<const std::size_t> gaps) {
  const auto close = [&](detail::GrowingBuffer& buffer) {
    const std::size_t row_bytes = buffer.size_bytes() / rows_max_;
    std::size_t to = gaps.front();
    for (std::size_t i = 0; i < gaps.size(); ++i) {
      const std::size_t from = gaps[i] + 1;
      const std::size_t end = i + 1 < gaps.size() ? gaps[i + 1] : rows;
      std::memmove(buffer.data() + to * row_bytes, buffer.data() + from * row_bytes,
                   (end - from) * row_bytes);
      to += end - from;
    }
  };
  if (gaps.empty()) return;
  for (detail::GrowingColumn& column : columns_) {
    if (column.values.size_bytes() != 0) close(column.values);
    if (column.partitions[0].size_bytes() != 0) close(column.partitions[0]);
  }
}

std::size_t ColumnRows::memory_bytes() const {
  std::size_t total = 0;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    const detail::GrowingColumn& column = columns_[i];
    total += column.values.capacity_bytes();
    for (const detail::GrowingBuffer& part : column.partitions) total += part.capacity_bytes();
    total += detail::padded_bytes(*plan_->columns[i], column);
  }
  return total;
}

std::size_t ColumnRows::spare_bytes() const {
  std::size_t total = 0;
  for (const detail::GrowingColumn& column : columns_) {
    total += column.values.spare_bytes();
    for (const detail::GrowingBuffer& part : column.partitions) total += part.spare_bytes();
  }
  return total;
}

}  // namespace infeed
