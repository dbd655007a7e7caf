#include <cstring>
#include <memory>
#include <optional>

#include "infeed/error.h"
#include "python/column.h"
#include "python/column_views.h"

/// Pickles batches and columns as their parts: arrays, which pickle protocol 5 hands on without a
/// copy. So a batch keeps kinds, lengths and types on the way to another process.
namespace infeed::python {
namespace {

/// Returns the bytes of the tensor as an array of uint8.
nb::object bytes_of(const Tensor& tensor) {
  const auto keeper = std::make_shared<const Tensor>(tensor);
  return numpy_array(Tensor::adopt(DType::uint8, {static_cast<std::int64_t>(tensor.bytes())},
                                   tensor.data(), keeper),
                     false);
}

nb::tuple parts_of(const Tensor& tensor) {
  nb::list extents;
  for (const std::int64_t extent : tensor.shape()) extents.append(extent);
  return nb::make_tuple(std::string(to_string(tensor.dtype())), extents, bytes_of(tensor));
}

nb::tuple parts_of(const Column& column) {
  nb::list partitions;
  for (const Tensor& partition : column.partitions()) partitions.append(parts_of(partition));
  return nb::make_tuple(static_cast<int>(column.kind()), parts_of(column.values()), partitions);
}

Tensor copy_of(DType dtype, Shape shape, const std::uint8_t* data) {
  // Copied within 0.1 ms: whoever lets the GIL go may wait 5 ms to get it back.
  constexpr std::size_t kBytesMaxWithGil = 1 << 20;
  Tensor copy(dtype, std::move(shape));
  std::optional<nb::gil_scoped_release> without_gil;
  if (copy.bytes() > kBytesMaxWithGil) without_gil.emplace();
  if (copy.bytes() != 0) std::memcpy(copy.writable_bytes().data(), data, copy.bytes());
  return copy;
}

Tensor tensor_of(nb::handle parts, TakenMemory memory) {
  using Bytes = nb::ndarray<const std::uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
  const DType dtype = dtype_from(nb::cast<std::string>(parts[0]));
  const auto extents = nb::cast<std::vector<std::int64_t>>(parts[1]);
  Shape shape{std::span<const std::int64_t>(extents)};
  auto bytes = std::make_unique<Bytes>(nb::cast<Bytes>(parts[2]));
  if (bytes->size() != static_cast<std::size_t>(shape.items()) * item_bytes(dtype)) {
    throw Error(ErrorCode::data_loss, "a pickled column has too few bytes or too many");
  }
  const std::uint8_t* const data = bytes->data();
  const bool is_aligned = reinterpret_cast<std::uintptr_t>(data) % item_bytes(dtype) == 0;
  if (memory == TakenMemory::copied || !is_aligned || shape.items() == 0) {
    return copy_of(dtype, std::move(shape), data);
  }
  return Tensor::adopt(dtype, std::move(shape), data,
                       std::shared_ptr<const void>(std::move(bytes)));
}

Column column_of(nb::handle parts, TakenMemory memory) {
  const auto kind = nb::cast<int>(parts[0]);
  if (kind < 0 || kind > static_cast<int>(Column::Kind::ragged_bytes)) {
    throw Error(ErrorCode::data_loss, "a pickled column is of an unknown kind");
  }
  std::vector<Tensor> partitions;
  for (const nb::handle partition : nb::borrow<nb::list>(parts[2])) {
    partitions.push_back(tensor_of(partition, memory));
  }
  return Column::of_parts(static_cast<Column::Kind>(kind), tensor_of(parts[1], memory),
                          std::move(partitions));
}

nb::object restorer(const char* name) { return nb::module_::import_("infeed._pickled").attr(name); }

}  // namespace

nb::tuple pickled(const PyColumn& column) {
  return nb::make_tuple(restorer("column"), nb::make_tuple(parts_of(column.column)));
}

nb::tuple pickled(const PyBatch& batch) {
  nb::list columns;
  for (const Column& column : batch.batch.columns()) columns.append(parts_of(column));
  nb::list names;
  for (const std::string& name : batch.batch.names()) {
    names.append(nb::bytes(name.data(), name.size()));
  }
  return nb::make_tuple(restorer("batch"), nb::make_tuple(names, columns));
}

void bind_pickling(nb::module_& module) {
  module.def("_column_of_parts",
             [](nb::handle parts) { return PyColumn{column_of(parts, TakenMemory::adopted)}; });
  module.def(
      "_batch_of_parts",
      [](const nb::list& names, const nb::list& columns, bool copied) {
        const auto memory = copied ? TakenMemory::copied : TakenMemory::adopted;
        std::vector<NamedColumn> all;
        for (std::size_t i = 0; i < nb::len(columns); ++i) {
          const nb::bytes name = nb::cast<nb::bytes>(names[i]);
          all.push_back({std::string(name.c_str(), name.size()), column_of(columns[i], memory)});
        }
        return make_batch(ColumnBatch(std::move(all)));
      },
      nb::arg("names"), nb::arg("columns"), nb::arg("copied") = false);
}

}  // namespace infeed::python
