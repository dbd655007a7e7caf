#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <infeed/describe/elements.h>
#include <infeed/describe/option_value.h>
#include <infeed/pipeline/map.h>

#include "describe/json.h"

/// A stage that computes batches from batches.
namespace infeed::describe {

/// Applies a function of a batch (and perhaps an Rng) by a parallel map. Its name and options bind
/// checkpoints, as a map's version. `change` makes the columns' schema from the one before.
template <class Function, class Change>
Elements column_stage(const Elements& input, const std::string& kind, const Json& options,
                      Function function, const StageName& name, Change change,
                      std::optional<std::uint64_t> seed = std::nullopt) {
  Elements after{.dataset = input.batches(kind) |
                            map(std::move(function), {.parallelism = autotune,
                                                      .seed = seed,
                                                      .version = kind + options.dump(),
                                                      .name = name ? name : StageName(kind)}),
                 .are_rows = input.are_rows};
  if (input.columns) after.columns = change(*input.columns);
  return after;
}

/// Returns these columns of the schema. Throws an Error that lists the names.
ColumnSchema selected(const ColumnSchema& schema, const std::vector<std::string>& names);

/// Returns the schema with one column's type changed.
template <class Change>
ColumnSchema changed(const ColumnSchema& schema, const std::string& column, Change change) {
  selected(schema, {column});
  ColumnSchema result;
  for (ColumnType type : schema.columns()) {
    if (type.name == column) change(type);
    result.add(std::move(type));
  }
  return result;
}

}  // namespace infeed::describe
