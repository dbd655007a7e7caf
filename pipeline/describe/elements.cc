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

namespace {

Column column_without_rows(const ColumnType& type) {
  const bool is_padded = type.kind == Column::Kind::padded;
  const bool is_bytes = type.dtype == DType::bytes;
  const bool is_ragged =
      type.kind == Column::Kind::ragged || type.kind == Column::Kind::ragged_bytes;
  const Shape row = is_padded ? Shape(type.width.value_or(0), type.shape) : type.shape;
  Tensor values(is_bytes ? DType::uint8 : type.dtype, Shape(0, row));
  std::vector<Tensor> partitions;
  if (is_padded) partitions.emplace_back(DType::int64, Shape{0});
  const std::int64_t splits = (is_ragged ? type.ragged_levels : 0) + (is_bytes ? 1 : 0);
  for (std::int64_t i = 0; i < splits; ++i) {
    partitions.emplace_back(DType::int64, Shape{1}).writable<std::int64_t>().front() = 0;
  }
  return Column::of_parts(type.kind, std::move(values), std::move(partitions));
}

}  // namespace

ColumnBatch batch_without_rows(const ColumnSchema& columns) {
  std::vector<NamedColumn> named;
  for (const ColumnType& type : columns.columns()) {
    named.push_back({type.name, column_without_rows(type)});
  }
  return ColumnBatch(std::move(named));
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
