#include "train/signature_checks.h"

#include <algorithm>
#include <fmt/format.h>
#include <set>
#include <string>
#include <vector>

#include "refuse.h"
#include "train/replica_steps.h"

namespace infeed::detail {
namespace {

/// "float32 [any, 784]"
std::string text_of(const InputColumn& declared) {
  std::vector<std::string> extents;
  for (const std::optional<std::int64_t>& extent : declared.shape) {
    extents.push_back(extent ? std::to_string(*extent) : "any");
  }
  return fmt::format("{} [{}]", to_string(declared.dtype), fmt::join(extents, ", "));
}

bool has_rows_first(const Column& column) {
  return column.kind() == Column::Kind::dense || column.kind() == Column::Kind::padded;
}

/// Returns the shape of the column in the whole batch, of which it holds a share.
Shape whole_shape(const Column& column, std::int64_t rows) {
  return Shape(rows, column.values().shape().without_first());
}

bool fits(const InputColumn& declared, const Shape& shape, std::size_t first_axis) {
  if (declared.shape.size() != shape.rank()) return false;
  for (std::size_t axis = first_axis; axis < shape.rank(); ++axis) {
    if (declared.shape[axis].value_or(shape[axis]) != shape[axis]) return false;
  }
  return true;
}

/// Returns advice for a batch in which only the number of rows differs from the declared one.
std::string advice_on_rows(std::int64_t declared, std::int64_t found) {
  if (found > declared) {
    return fmt::format("make batches of {} rows in the pipeline, or declare {} rows", declared,
                       found);
  }
  return "drop partial batches with drop_remainder, or declare the rows as std::nullopt, with "
         "which each number of rows is compiled for itself";
}

void check_column(const InputColumn& declared, const ColumnBatch& share, std::int64_t rows,
                  std::int64_t number) {
  const Column* const column = share.find(declared.name);
  if (column == nullptr) {
    refuse("step {}: there is no column '{}'; expected {}; the batch has {}", number + 1,
           declared.name, text_of(declared), fmt::join(share.names(), ", "));
  }
  if (!has_rows_first(*column)) {
    refuse("step {}: column '{}' is {}; expected {}, dense or padded", number + 1, declared.name,
           to_string(column->kind()), text_of(declared));
  }
  const Shape shape = whole_shape(*column, rows);
  const bool is_alike = column->dtype() == declared.dtype && fits(declared, shape, 1);
  if (is_alike && fits(declared, shape, 0)) return;
  const std::string advice = is_alike ? advice_on_rows(*declared.shape.front(), rows)
                                      : "mend the pipeline, or what the step declares";
  refuse("step {}: column '{}' is {} {}; expected {}; {}", number + 1, declared.name,
         to_string(column->dtype()), shape.to_string(), text_of(declared), advice);
}

}  // namespace

void check_signature(const InputSignature& signature) {
  std::set<std::string_view> names;
  for (const InputColumn& declared : signature) {
    if (declared.shape.empty()) {
      refuse(
          "column '{}' is declared as {}; the first extent is the batch's rows, so there is one at "
          "least",
          declared.name, text_of(declared));
    }
    if (!names.insert(declared.name).second) refuse("column '{}' is declared twice", declared.name);
    const bool is_negative = std::ranges::any_of(
        declared.shape,
        [](const std::optional<std::int64_t>& extent) { return extent.value_or(0) < 0; });
    if (is_negative) {
      refuse("column '{}' is declared as {}; an extent is 0 or more, or std::nullopt for any",
             declared.name, text_of(declared));
    }
  }
}

void check_inputs(const InputSignature& signature, std::span<const ColumnBatch> shares,
                  std::int64_t number) {
  if (signature.empty()) return;
  const std::int64_t rows = rows_of(shares);
  for (const ColumnBatch& share : shares) {
    if (share.rows() == 0) continue;
    for (const InputColumn& declared : signature) check_column(declared, share, rows, number);
    for (const std::string& name : share.names()) {
      if (std::ranges::find(signature, name, &InputColumn::name) != signature.end()) continue;
      refuse("step {}: column '{}' isn't declared; declare it, or leave it out of the pipeline",
             number + 1, name);
    }
  }
}

InputSignature with_any_rows(InputSignature signature) {
  for (InputColumn& declared : signature) declared.shape.front().reset();
  return signature;
}

}  // namespace infeed::detail
