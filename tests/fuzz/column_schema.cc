#include <algorithm>
#include <string>

#include <infeed/error.h>
#include <infeed/records/column_parser.h>
#include <infeed/records/column_schema.h>

#include "fuzz.h"

namespace {

/// True if rows of the schema's columns fit into memory, with their defaults.
bool is_small(const infeed::ColumnSchema& schema) {
  constexpr std::int64_t kItemsMax = 1 << 16;
  return std::all_of(
      schema.columns().begin(), schema.columns().end(), [](const infeed::ColumnType& type) {
        return type.shape.items() <= kItemsMax && type.width.value_or(0) <= kItemsMax;
      });
}

}  // namespace

/// Schemas in JSON: any text is a schema or an Error with the reason, and a schema survives a round
/// trip.
void infeed::fuzz::check(Input input) {
  ColumnSchema schema;
  try {
    schema = ColumnSchema::from_json(input.rest());
  } catch (const infeed::Error& error) {
    require(error.code() == infeed::ErrorCode::invalid_argument, error.what());
    require(!error.message().empty(), "it says why");
    return;
  }
  const std::string text = schema.to_json();
  const ColumnSchema again = ColumnSchema::from_json(text);
  require(again == schema, "a schema comes back");
  require(again.to_json() == text, "its text does, too");
  if (!is_small(schema)) return;
  try {
    const infeed::ColumnParser parser(schema);
  } catch (const infeed::Error& error) {
    require(error.code() == infeed::ErrorCode::invalid_argument, error.what());
  }
}
