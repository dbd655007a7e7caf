#include "infeed/pipeline/parse_columns.h"

#include <fmt/format.h>
#include <variant>

#include <infeed/detail/printable_text.h>
#include <infeed/records/crc32c.h>

namespace infeed::detail {
namespace {

/// Returns the column with names and texts that JSON can hold: bytes that are no UTF-8 are written out.
ColumnType in_utf8(ColumnType type) {
  type.name = utf8_name(type.name);
  if (type.partition) {
    std::visit([](auto& parts) { parts.feature = utf8_name(parts.feature); }, *type.partition);
  }
  if (!type.missing) return type;
  if (auto* const texts = std::get_if<std::vector<std::string>>(&*type.missing)) {
    for (std::string& text : *texts) text = utf8_name(text);
  }
  return type;
}

}  // namespace

std::string schema_signature(const ColumnSchema& schema) {
  ColumnSchema written;
  for (const ColumnType& type : schema.columns()) written.add(in_utf8(type));
  return fmt::format(", schema={:08x}", crc32c(written.to_json()));
}

}  // namespace infeed::detail
