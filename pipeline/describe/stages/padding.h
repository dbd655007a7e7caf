#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include <infeed/records/column_batch.h>
#include <infeed/records/column_schema.h>

/// Padding of columns that are known only at run time.
namespace infeed::describe {

/// True for a ragged column of one level, which padding makes rectangular.
bool is_sequence(const Column& column);

/// Returns the bytes of one item of a row.
std::size_t item_bytes_of(const Column& column);

/// Throws unless the sequence of a single row can be filled up to the width (-1: any) with the
/// padding. The message names the stage.
void check_sequence(const Column& row, std::int64_t width, double padding, std::string_view stage);

/// Fills the rows of a ragged column up to one width; -1: that of the longest row.
Column filled_up(const Column& column, std::int64_t width, double padding);

/// Fills up all sequences of a batch.
ColumnBatch filled_up(ColumnBatch batch, std::int64_t width, double padding);

/// Returns the schema with padded columns where it has ragged ones of one level.
ColumnSchema padded_schema(const ColumnSchema& schema, std::optional<std::int64_t> width,
                           double padding);

/// Does the same for rows that are parsed already, so that nothing says any more how they were cut.
ColumnSchema padded_rows(const ColumnSchema& schema, std::optional<std::int64_t> width,
                         double padding);

/// Throws invalid_argument if a column of rows is padded to no fixed width: each row has that of the
/// batch it was read in, so rows of two batches can't be joined.
void require_widths(const std::optional<ColumnSchema>& rows, std::string_view stage);

}  // namespace infeed::describe
