#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

#include <infeed/records/column.h>

/// A row of a column of any kind, for people and as JSON. Values are listed one behind the other,
/// whatever the row's shape; padding is left out.
namespace infeed::tools {

/// "dense float32 [28, 28]", "ragged int64", "bytes"
std::string column_kind_text(const Column& column);

/// "7", "[0.1, 0.25, ... 784 in all]", "'a text'": about `width` characters.
std::string row_text(const Column& column, std::int64_t row, int width);

/// {"count": 2, "values": [0.1, 0.25]}. There are at most 10,000 values; count is that of all.
nlohmann::ordered_json row_json(const Column& column, std::int64_t row);

}  // namespace infeed::tools
