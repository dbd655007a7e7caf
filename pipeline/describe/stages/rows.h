#pragma once

#include <optional>
#include <string_view>

#include <infeed/describe/elements.h>

namespace infeed::describe {

/// Makes rows of a source of batches, which gives them in any size.
Elements rows_of_source(const BatchAtSource& batches, std::optional<ColumnSchema> columns = {});

/// Returns the elements as rows of columns, for stages that work on single rows: records are parsed
/// as parse() said; numbers, texts and records become rows of one column, "value". They are parsed one
/// by one: a batch would give its errors before its rows, and several bad ones as one error. Throws
/// invalid_argument that names the stage if they are batches, or samples of tar files.
Elements rows_of(const Elements& input, std::string_view stage);

}  // namespace infeed::describe
