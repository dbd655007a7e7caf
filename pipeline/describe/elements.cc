#include "infeed/describe/elements.h"

#include <array>
#include <fmt/format.h>

#include "infeed/error.h"

namespace infeed::describe {

std::string_view to_string(ElementKind kind) {
  constexpr std::array<std::string_view, 8> kNames = {
      "record", "batch", "integer", "text", "sample", "labeled_file", "row", "unparsed_row"};
  return kNames[static_cast<std::size_t>(kind)];
}

ElementKind Elements::kind() const {
  if (to_parse) return ElementKind::unparsed_row;
  if (are_rows) return ElementKind::row;
  return static_cast<ElementKind>(dataset.index());
}

const NodePointer& Elements::node() const {
  return std::visit([](const auto& typed) -> const NodePointer& { return typed.node(); }, dataset);
}

const Dataset<ColumnBatch>& Elements::batches(std::string_view stage) const {
  if (const auto* batches = std::get_if<Dataset<ColumnBatch>>(&dataset)) return *batches;
  throw Error(ErrorCode::invalid_argument,
              fmt::format("{} takes batches, but its input gives elements of the kind '{}': put "
                          "batch before it",
                          stage, to_string(kind())));
}

ColumnSchema columns_of(const ColumnBatch& batch) {
  ColumnSchema schema;
  for (std::size_t i = 0; i < batch.names().size(); ++i) {
    const Column& column = batch.columns()[i];
    ColumnType type{.name = batch.names()[i],
                    .dtype = column.dtype(),
                    .shape = column.dtype() == DType::bytes ? Shape() : column.row_shape(),
                    .kind = column.kind()};
    if (column.is_ragged()) type.ragged_levels = static_cast<std::int64_t>(column.levels());
    if (column.kind() == Column::Kind::padded) type.width = column.width();
    schema.add(std::move(type));
  }
  return schema;
}

Elements batches_of(Dataset<ColumnBatch> batches, std::optional<ColumnSchema> columns) {
  return Elements{.dataset = std::move(batches), .columns = std::move(columns)};
}

}  // namespace infeed::describe
