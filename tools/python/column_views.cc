#include "python/column_views.h"

#include <cstring>
#include <fmt/format.h>
#include <memory>

#include <infeed/records/dlpack.h>

#include "infeed/error.h"

namespace infeed::python {
namespace {

constexpr std::uintptr_t kTensorFlowAlignment = 64;

nb::dlpack::dtype nanobind_type_of(DType dtype) {
  nb::dlpack::dtype_code code = nb::dlpack::dtype_code::Int;
  if (dtype == DType::boolean) {
    code = nb::dlpack::dtype_code::Bool;
  } else if (dtype == DType::bfloat16) {
    code = nb::dlpack::dtype_code::UInt;
  } else if (is_float(dtype)) {
    code = nb::dlpack::dtype_code::Float;
  } else if (dtype >= DType::uint8) {
    code = nb::dlpack::dtype_code::UInt;
  }
  return {static_cast<std::uint8_t>(code), static_cast<std::uint8_t>(8 * item_bytes(dtype)), 1};
}

/// Returns ml_dtypes.bfloat16, or nothing where the package isn't installed.
nb::object bfloat16_type() {
  try {
    return nb::module_::import_("ml_dtypes").attr("bfloat16");
  } catch (nb::python_error& error) {
    if (!error.matches(PyExc_ImportError)) throw;
    return {};
  }
}

/// NumPy's method and types that each batch needs: looked up by name they took a third of a column's time.
struct NumpyNames {
  nb::object view;
  nb::object int64;
  nb::object uint64;
};

/// Lives as long as the process. The GIL guards it: a guarded static would deadlock where the import
/// lets another thread run.
const NumpyNames& numpy_names() {
  static const NumpyNames* names = nullptr;
  if (names == nullptr) {
    const nb::module_ numpy = nb::module_::import_("numpy");
    const nb::object dtype = numpy.attr("dtype");
    names = new NumpyNames{numpy.attr("ndarray").attr("view"), dtype("int64"), dtype("uint64")};
  }
  return *names;
}

/// Frees an export that no consumer took: one that does gives the capsule another name.
template <class Managed>
nb::object capsule_of(Managed* exported, const char* name) {
  PyObject* const capsule = PyCapsule_New(exported, name, [](PyObject* self) {
    constexpr const char* kName =
        std::is_same_v<Managed, dlpack::DLManagedTensor> ? "dltensor" : "dltensor_versioned";
    if (PyCapsule_IsValid(self, kName) == 0) return;
    auto* const unused = static_cast<Managed*>(PyCapsule_GetPointer(self, kName));
    unused->deleter(unused);
  });
  if (capsule == nullptr) {
    exported->deleter(exported);
    throw nb::python_error();
  }
  return nb::steal(capsule);
}

Tensor copied(const Tensor& tensor) {
  Tensor copy(tensor.dtype(), tensor.shape());
  if (tensor.bytes() != 0) {
    std::memcpy(copy.writable_bytes().data(), tensor.data(), tensor.bytes());
  }
  return copy;
}

bool is_aligned(const Tensor& tensor) {
  return reinterpret_cast<std::uintptr_t>(tensor.data()) % kTensorFlowAlignment == 0;
}

nb::object tensorflow_tensor(const PyColumn& dense) {
  const nb::module_ tensorflow = nb::module_::import_("tensorflow");
  const PyColumn column = is_aligned(dense.column.values()) ? dense : copied(dense);
  return tensorflow.attr("experimental")
      .attr("dlpack")
      .attr("from_dlpack")(dlpack_capsule(column, nb::none(), nb::none(), nb::none(), nb::none()));
}

nb::object torch_tensor(const PyColumn& dense) {
  const nb::module_ torch = nb::module_::import_("torch");
  const PyColumn own = dense.is_alone ? dense : copied(dense);
  const Tensor& values = own.column.values();
  if (values.dtype() != DType::boolean) return torch.attr("from_dlpack")(own);
  // PyTorch before 2.2 takes no bools.
  const PyColumn bytes{Column::dense(Tensor::adopt(DType::uint8, values.shape(), values.data(),
                                                   std::make_shared<const Tensor>(values))),
                       true};
  return torch.attr("from_dlpack")(bytes).attr("view")(torch.attr("bool"));
}

nb::object dense_column(const PyColumn& dense, Framework framework) {
  switch (framework) {
    case Framework::numpy:
      break;
    case Framework::torch:
      return torch_tensor(dense);
    case Framework::jax:
      return nb::module_::import_("jax.numpy").attr("from_dlpack")(dense);
    case Framework::tensorflow:
      return tensorflow_tensor(dense);
  }
  return numpy_array(dense.column.values(), dense.is_alone);
}

/// Returns the bytes of each row or item.
nb::list texts_of(const Column& column, const std::optional<std::string>& encoding) {
  nb::list texts;
  const std::int64_t count = static_cast<std::int64_t>(column.offsets().size()) - 1;
  for (std::int64_t i = 0; i < count; ++i) {
    const std::string_view text = column.bytes(i);
    if (encoding) {
      PyObject* const decoded = PyUnicode_Decode(text.data(), static_cast<Py_ssize_t>(text.size()),
                                                 encoding->c_str(), nullptr);
      if (decoded == nullptr) throw nb::python_error();
      texts.append(nb::steal(decoded));
    } else {
      texts.append(nb::bytes(text.data(), text.size()));
    }
  }
  return texts;
}

nb::object texts_for(const Column& column, Framework framework) {
  nb::list texts = texts_of(column, std::nullopt);
  if (framework == Framework::numpy) {
    const nb::module_ numpy = nb::module_::import_("numpy");
    nb::object array = numpy.attr("empty")(texts.size(), "object");
    if (texts.size() != 0) array[nb::slice(nb::none(), nb::none(), nb::none())] = texts;
    return array;
  }
  if (framework == Framework::tensorflow) {
    const nb::module_ tensorflow = nb::module_::import_("tensorflow");
    return tensorflow.attr("constant")(texts, tensorflow.attr("string"),
                                       nb::make_tuple(texts.size()));
  }
  return texts;
}

nb::object ragged_column(const PyColumn& ragged, Framework framework) {
  const Column& column = ragged.column;
  nb::object values =
      column.kind() == Column::Kind::ragged_bytes
          ? texts_for(column, framework)
          : dense_column({Column::dense(column.values()), ragged.is_alone}, framework);
  nb::list splits;
  for (std::size_t level = 0; level < column.levels(); ++level) {
    splits.append(dense_column({Column::dense(column.partitions()[level]), false}, framework));
  }
  if (framework == Framework::tensorflow) {
    return nb::module_::import_("tensorflow")
        .attr("RaggedTensor")
        .attr("from_nested_row_splits")(values, splits, nb::arg("validate") = false);
  }
  return nb::module_::import_("infeed").attr("Ragged")(values, nb::tuple(splits));
}

nb::slice part(std::int64_t first, std::int64_t end) {
  return {nb::int_(first), nb::int_(end), nb::none()};
}

/// Cuts a list into rows by the splits of a level.
nb::list cut(const nb::list& items, std::span<const std::int64_t> splits) {
  nb::list rows;
  for (std::size_t i = 0; i + 1 < splits.size(); ++i) {
    rows.append(nb::object(items)[part(splits[i], splits[i + 1])]);
  }
  return rows;
}

}  // namespace

nb::object numpy_array(const Tensor& values, bool is_writable) {
  // The owner holds one reference to the memory; NumPy drops it with the GIL held.
  const nb::capsule owner(new Tensor(values),
                          [](void* kept) noexcept { delete static_cast<Tensor*>(kept); });
  std::vector<std::size_t> shape(values.shape().begin(), values.shape().end());
  const nb::dlpack::dtype dtype = nanobind_type_of(values.dtype());
  nb::object array =
      is_writable
          ? nb::cast(nb::ndarray<nb::numpy>(const_cast<std::byte*>(values.data()), shape.size(),
                                            shape.data(), owner, nullptr, dtype))
          : nb::cast(nb::ndarray<nb::numpy, nb::ro>(values.data(), shape.size(), shape.data(),
                                                    owner, nullptr, dtype));
  // nanobind's are NumPy's long long, whose values are no np.int64.
  if (values.dtype() == DType::int64) return numpy_names().view(array, numpy_names().int64);
  if (values.dtype() == DType::uint64) return numpy_names().view(array, numpy_names().uint64);
  if (values.dtype() == DType::bfloat16) {
    if (const nb::object type = bfloat16_type(); type.is_valid()) return array.attr("view")(type);
  }
  return array;
}

nb::object dlpack_capsule(const PyColumn& column, nb::handle stream, nb::handle max_version,
                          nb::handle dl_device, nb::handle copy) {
  if (!stream.is_none())
    throw nb::buffer_error("infeed's memory is the CPU's, which has no streams");
  if (!dl_device.is_none() && !dl_device.equal(nb::make_tuple(dlpack::kDLCPU, 0))) {
    throw nb::buffer_error(
        "infeed's memory is the CPU's, device (1, 0); move the array afterwards");
  }
  const bool is_copied = !copy.is_none() && nb::cast<bool>(copy);
  Tensor values = is_copied ? copied(column.column.values()) : column.column.values();
  if (max_version.is_none() || nb::cast<int>(max_version[0]) < 1) {
    return capsule_of(export_dlpack_unversioned(std::move(values)), "dltensor");
  }
  dlpack::DLManagedTensorVersioned* const exported = export_dlpack(std::move(values));
  // Only Python's own objects share the memory of a column that is alone.
  if (column.is_alone) exported->flags &= ~dlpack::kReadOnly;
  constexpr std::uint64_t kIsCopied = 2;  // DLPACK_FLAG_BITMASK_IS_COPIED
  if (is_copied) exported->flags |= kIsCopied;
  return capsule_of(exported, "dltensor_versioned");
}

PyColumn copied(const PyColumn& column) {
  const auto partitions = column.column.partitions();
  return {Column::of_parts(column.column.kind(), copied(column.column.values()),
                           {partitions.begin(), partitions.end()}),
          true};
}

nb::list rows_as_objects(const Column& column, const std::optional<std::string>& encoding) {
  const bool is_text =
      column.kind() == Column::Kind::bytes || column.kind() == Column::Kind::ragged_bytes;
  nb::list rows = is_text ? texts_of(column, encoding)
                          : nb::list(numpy_array(column.values(), false).attr("tolist")());
  if (column.kind() == Column::Kind::padded) {
    for (std::int64_t i = 0; i < column.rows(); ++i) {
      rows[i] = rows[i][part(0, column.lengths()[static_cast<std::size_t>(i)])];
    }
  }
  for (std::size_t level = column.levels(); level-- > 0;) {
    rows = cut(rows, column.row_splits(level));
  }
  return rows;
}

nb::object framework_column(const PyColumn& column, Framework framework) {
  switch (column.column.kind()) {
    case Column::Kind::dense:
      break;
    case Column::Kind::padded:
      return dense_column({Column::dense(column.column.values()), column.is_alone}, framework);
    case Column::Kind::bytes:
      return texts_for(column.column, framework);
    case Column::Kind::ragged:
    case Column::Kind::ragged_bytes:
      return ragged_column(column, framework);
  }
  return dense_column(column, framework);
}

nb::dict framework_batch(const PyBatch& batch, Framework framework) {
  nb::dict columns;
  for (std::size_t i = 0; i < batch.batch.columns().size(); ++i) {
    const Column& column = batch.batch.columns()[i];
    const std::string& name = batch.batch.names()[i];
    columns[nb::str(name.data(), name.size())] =
        framework_column({column, batch.is_alone[i]}, framework);
    if (column.kind() == Column::Kind::padded) {
      if (batch.batch.find(name + ".lengths") != nullptr) {
        throw Error(
            ErrorCode::invalid_argument,
            fmt::format("the lengths of the padded column '{}' are '{}.lengths', which is a "
                        "column, too: rename one of them",
                        name, name));
      }
      columns[nb::str((name + ".lengths").c_str())] =
          dense_column({Column::dense(column.partitions()[0]), false}, framework);
    }
  }
  return columns;
}

}  // namespace infeed::python
