#pragma once

#include <fmt/format.h>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <infeed/pipeline/chunk.h>
#include <infeed/pipeline/pack.h>
#include <infeed/records/detail/store_number.h>

#include "batch/pack_rows.h"
#include "engine/work/passing_error.h"

namespace infeed::detail {

[[noreturn]] inline void refuse_packing(std::string message) {
  throw Error(ErrorCode::invalid_argument, "pack: " + std::move(message));
}

inline std::vector<PackColumnPlan> plan_columns(const std::vector<PackedColumn>& columns,
                                                const std::vector<DType>& dtypes) {
  std::vector<PackColumnPlan> plans;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    PackColumnPlan plan{.dtype = dtypes[i],
                        .item_bytes = item_bytes(dtypes[i]),
                        .length = static_cast<std::size_t>(columns[i].length)};
    if (!store_number(columns[i].padding, dtypes[i], &plan.padding)) {
      refuse_packing(fmt::format("column '{}' is of {}, but is to be filled up with {}",
                                 columns[i].name, to_string(dtypes[i]), columns[i].padding));
    }
    plans.push_back(plan);
  }
  return plans;
}

inline std::shared_ptr<const ColumnNames> packed_names(const std::vector<PackedColumn>& columns) {
  std::vector<std::string> names;
  for (const PackedColumn& column : columns) {
    for (const char* suffix : {"", "_segment_ids", "_positions"}) {
      names.push_back(column.name + suffix);
    }
  }
  return column_names(std::move(names));
}

struct PackSpec {
  std::size_t rows;
  PackOptions options;  ///< with the lengths of all columns set
  PackInput input;
};

/// The documents of one element, one after the other.
class PackDocuments {
 public:
  PackDocuments(const PackSpec& spec, const TypeInfo& in_type) : spec_(spec), in_(in_type) {}

  Chunk& chunk() { return in_; }
  /// Begins the next element, which is in front of chunk().
  void begin(const std::vector<PackedColumn>& columns, const std::vector<DType>& dtypes) {
    document_ = 0;
    count_ = 1;
    if (is_columns()) look_up(columns, dtypes);
  }
  bool has_document() const { return in_.size() != 0 && document_ < count_; }
  bool is_begun() const { return count_ != 0; }
  void values(std::span<PackValues> out) const {
    for (std::size_t c = 0; c < out.size(); ++c) {
      if (!is_columns()) {
        out[c] = spec_.input.values(in_.front(), c);
        continue;
      }
      const auto splits = columns_[c]->row_splits();
      const auto first = static_cast<std::size_t>(splits[document_]);
      const auto end = static_cast<std::size_t>(splits[document_ + 1]);
      out[c] = {columns_[c]->values().data() + first * item_bytes(columns_[c]->dtype()),
                end - first};
    }
  }
  void next() { ++document_; }
  /// Returns the number of the next document of the element; 0 if the element hasn't begun.
  std::uint64_t document() const { return is_begun() ? document_ : 0; }
  /// Goes to a document of the element that has begun. Returns false if it has fewer.
  bool go_to(std::uint64_t document) {
    document_ = static_cast<std::size_t>(document);
    return document < count_;
  }
  void end() {
    in_.type().destroy(in_.front(), 1);
    in_.drop_front(1);
    count_ = 0;
  }
  /// Passes over all elements.
  void forget(Known known) {
    drop_slots(in_, in_.slots(), known);
    count_ = 0;
  }
  bool is_columns() const { return spec_.input.values == nullptr; }
  const ColumnBatch& batch() const { return *static_cast<const ColumnBatch*>(in_.front()); }

 private:
  void look_up(const std::vector<PackedColumn>& columns, const std::vector<DType>& dtypes) {
    columns_.clear();
    for (std::size_t c = 0; c < columns.size(); ++c) {
      const Column& column = batch().column(columns[c].name);
      if (column.kind() != Column::Kind::ragged || column.levels() != 1 ||
          column.row_shape().rank() != 0 || column.dtype() != dtypes[c]) {
        refuse_packing(fmt::format(
            "column '{}' is {} of {} {}, but ragged numbers of {} with one level are packed",
            columns[c].name, to_string(column.kind()), to_string(column.dtype()),
            column.row_shape().to_string(), to_string(dtypes[c])));
      }
      columns_.push_back(&column);
    }
    count_ = static_cast<std::size_t>(batch().rows());
  }

  const PackSpec& spec_;
  Chunk in_;
  std::size_t document_ = 0;
  std::size_t count_ = 0;  ///< documents of the element; 0: it hasn't begun
  std::vector<const Column*> columns_;
};

}  // namespace infeed::detail
