#include "infeed/records/column_builder.h"

#include <algorithm>

namespace infeed {

Column column_of(const std::vector<bool>& values) {
  Tensor tensor(DType::boolean, {static_cast<std::int64_t>(values.size())});
  std::copy(values.begin(), values.end(), tensor.writable<bool>().begin());
  return Column::dense(std::move(tensor));
}

Column column_of(std::span<const std::string> texts) {
  const std::vector<std::string_view> views(texts.begin(), texts.end());
  return Column::of_bytes(views);
}

ColumnBatch join_columns(std::span<const ColumnBatch> batches) {
  std::vector<NamedColumn> columns;
  for (const ColumnBatch& batch : batches) {
    for (std::size_t i = 0; i < batch.columns().size(); ++i) {
      columns.push_back({batch.names()[i], batch.columns()[i]});
    }
  }
  return ColumnBatch(std::move(columns));
}

}  // namespace infeed
