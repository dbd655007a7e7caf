#pragma once

#include <string>
#include <string_view>

#include "infeed/records/column_batch.h"

/// A ColumnBatch as bytes, for caches in files: names, types, shapes and values, little-endian.
/// (For other programs there are arrow.h and dlpack.h.)
namespace infeed::detail {

/// Name of the layout of encode_columns(). Another layout has another name.
inline constexpr std::string_view kColumnBytesLayout = "columns-1";

void encode_columns(const ColumnBatch& batch, std::string& out);
/// Decodes all of `bytes` and copies the values. Throws Error(data_loss) when encode_columns()
/// didn't write them. Allocates no more than they hold.
ColumnBatch decode_columns(std::string_view bytes);

}  // namespace infeed::detail
