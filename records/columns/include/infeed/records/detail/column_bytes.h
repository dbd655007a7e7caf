#pragma once

#include <string>
#include <string_view>

#include "infeed/records/column_batch.h"

/// A ColumnBatch as bytes, for caches in files: names, types, shapes and values, little-endian. (For
/// other programs there are arrow.h and dlpack.h.)
namespace infeed::detail {

/// What the bytes of encode_columns() are called; another layout has another name.
inline constexpr std::string_view kColumnBytesLayout = "columns-1";

void encode_columns(const ColumnBatch& batch, std::string& out);
/// All of `bytes`. Values are copied. Throws Error(data_loss) when they are not what encode_columns()
/// wrote: nothing is allocated for more than they hold.
ColumnBatch decode_columns(std::string_view bytes);

}  // namespace infeed::detail
