#include "python/column.h"

#include <fmt/format.h>
#include <optional>

#include "infeed/error.h"
#include "python/arrow_capsules.h"
#include "python/column_views.h"

namespace infeed::python {
namespace {

struct Rows {
  std::int64_t first;
  std::int64_t count;
};

Rows rows_of(const nb::slice& slice, std::int64_t rows) {
  const auto [start, stop, step, count] = slice.compute(static_cast<std::size_t>(rows));
  if (step != 1) {
    throw nb::value_error("rows of a column are taken with step 1 only; use .numpy()[...]");
  }
  return {start, static_cast<std::int64_t>(count)};
}

std::int64_t row_of(std::int64_t row, std::int64_t rows) {
  const std::int64_t from_front = row < 0 ? row + rows : row;
  if (from_front < 0 || from_front >= rows) {
    throw nb::index_error(
        fmt::format("row {} of a column of {} row{}", row, rows, rows == 1 ? "" : "s").c_str());
  }
  return from_front;
}

/// Returns the column of the name as Python has it. Throws KeyError that lists the names.
PyColumn column_of(const PyBatch& batch, std::string_view name) {
  const Column* const column = batch.batch.find(name);
  if (column == nullptr) {
    try {
      (void)batch.batch.column(name);
    } catch (const Error& error) {
      throw nb::key_error(error.what());
    }
  }
  return {*column, batch.is_alone[static_cast<std::size_t>(column - &batch.batch.columns()[0])]};
}

nb::str text(std::string_view bytes) { return nb::str(bytes.data(), bytes.size()); }

nb::tuple shape_of(const Column& column) {
  nb::list extents;
  extents.append(column.rows());
  for (const std::int64_t extent : column.row_shape()) extents.append(extent);
  return nb::tuple(extents);
}

std::string describe(const Column& column) {
  std::string shape = fmt::format("{}", column.rows());
  if (column.is_ragged()) shape += ", ragged";
  if (column.kind() == Column::Kind::padded) shape += fmt::format(", up to {}", column.width());
  if (column.dtype() != DType::bytes) {
    for (const std::int64_t extent : column.row_shape()) shape += fmt::format(", {}", extent);
  }
  return fmt::format("{}[{}]", to_string(column.dtype()), shape);
}

std::string describe(const PyBatch& batch) {
  std::string columns;
  for (std::size_t i = 0; i < batch.batch.columns().size(); ++i) {
    columns += fmt::format("{}'{}': {}", i == 0 ? "" : ", ", batch.batch.names()[i],
                           describe(batch.batch.columns()[i]));
  }
  const std::int64_t rows = batch.batch.rows();
  return fmt::format("<infeed.Batch of {} row{}: {}>", rows, rows == 1 ? "" : "s", columns);
}

/// Returns the column if DLPack and NumPy's protocols can show it.
const PyColumn& numbers_of(const PyColumn& column) {
  const Column::Kind kind = column.column.kind();
  if (kind == Column::Kind::dense || kind == Column::Kind::padded) return column;
  throw nb::buffer_error(
      fmt::format("a {} column is no single array: take its .values and .{}, or .to_pylist(), or "
                  "Arrow's protocol",
                  to_string(kind), kind == Column::Kind::bytes ? "offsets" : "row_splits(level)")
          .c_str());
}

nb::object as_array(const PyColumn& column, nb::handle dtype, nb::handle copy) {
  const bool is_text = column.column.dtype() == DType::bytes && !column.column.is_ragged();
  nb::object array = framework_column(is_text ? column : numbers_of(column), Framework::numpy);
  if (!dtype.is_none() && !array.attr("dtype").equal(dtype)) {
    if (!copy.is_none() && !nb::cast<bool>(copy)) {
      throw nb::value_error("another dtype needs a copy, but copy=False forbids it");
    }
    return array.attr("astype")(dtype);
  }
  const bool must_copy = !copy.is_none() && nb::cast<bool>(copy);
  return must_copy ? array.attr("copy")() : array;
}

/// Returns a dense column of splits, offsets or lengths. Nobody may write those.
PyColumn partition(const PyColumn& column, std::size_t index) {
  return {Column::dense(column.column.partitions()[index]), false};
}

PyColumn last_partition(const PyColumn& column, bool has_it, const char* noun) {
  if (!has_it) {
    throw nb::attribute_error(
        fmt::format("a {} column has no {}", to_string(column.column.kind()), noun).c_str());
  }
  return partition(column, column.column.partitions().size() - 1);
}

nb::object item_of(const PyColumn& column, std::int64_t row) {
  const std::int64_t index = row_of(row, column.column.rows());
  const PyColumn one{column.column.slice(index, 1), column.is_alone};
  if (column.column.kind() == Column::Kind::dense) {
    return numpy_array(one.column.values(), one.is_alone)[0];
  }
  if (column.column.kind() == Column::Kind::ragged && column.column.levels() == 1) {
    return numpy_array(one.column.values(), one.is_alone);
  }
  return rows_as_objects(one.column, std::nullopt)[0];
}

/// Refuses to compare with values, where Python would say false: some mean the column as a whole, others each of its
/// rows. Arrays compare by themselves.
nb::object compared(const PyColumn&, nb::handle other) {
  const bool is_value = nb::isinstance<PyColumn>(other) || nb::isinstance<nb::int_>(other) ||
                        nb::isinstance<nb::float_>(other) || nb::isinstance<nb::str>(other) ||
                        nb::isinstance<nb::bytes>(other) || nb::isinstance<nb::list>(other) ||
                        nb::isinstance<nb::tuple>(other);
  if (!is_value) return nb::borrow(Py_NotImplemented);
  throw nb::type_error(
      "a Column has no ==: compare arrays, as column.numpy() == other, or lists (to_pylist()); "
      "Batches compare as a whole");
}

template <class T>
nb::object in_framework(const T& self, Framework framework) {
  if constexpr (std::is_same_v<T, PyColumn>) {
    return framework_column(self, framework);
  } else {
    return framework_batch(self, framework);
  }
}

/// Adds .numpy(), .torch(), .jax() and .tf().
template <class T>
void bind_frameworks(nb::class_<T>& type) {
  type.def(
          "numpy", [](const T& self) { return in_framework(self, Framework::numpy); },
          "Views for NumPy; read-only where others see the same memory.")
      .def(
          "torch", [](const T& self) { return in_framework(self, Framework::torch); },
          "Tensors for PyTorch; copied where others see the same memory.")
      .def(
          "jax", [](const T& self) { return in_framework(self, Framework::jax); },
          "Arrays for JAX; JAX copies values that begin at no multiple of 64 bytes.")
      .def(
          "tf", [](const T& self) { return in_framework(self, Framework::tensorflow); },
          "Tensors for TensorFlow; copied where they begin at no multiple of 64 bytes.");
}

void bind_column(nb::module_& module) {
  nb::class_<PyColumn> type(
      module, "Column",
      "A column of a batch: numbers, bytes, or sequences of them. Every array library takes it\n"
      "(DLPack, NumPy's and Arrow's protocols), mostly without a copy.");
  bind_frameworks(type);
  type.def_prop_ro(
          "kind", [](const PyColumn& self) { return text(to_string(self.column.kind())); },
          "'dense', 'ragged', 'padded', 'bytes' or 'ragged_bytes'.")
      .def_prop_ro(
          "dtype", [](const PyColumn& self) { return text(to_string(self.column.dtype())); },
          "The type's name as NumPy has it; 'bytes' for bytes.")
      .def_prop_ro(
          "shape", [](const PyColumn& self) { return shape_of(self.column); },
          "The rows, and the shape of a row (of an item where rows are sequences).")
      .def_prop_ro(
          "nbytes", [](const PyColumn& self) { return self.column.memory_bytes(); },
          "Bytes of values, splits, offsets and lengths.")
      .def_prop_ro(
          "is_alone", [](const PyColumn& self) { return self.is_alone; },
          "True if nobody else sees the values, so that they may be written.")
      .def_prop_ro(
          "values",
          [](const PyColumn& self) {
            return PyColumn{Column::dense(self.column.values()), self.is_alone};
          },
          "All values as one dense column: items of all rows, or the bytes of all texts.")
      .def(
          "row_splits",
          [](const PyColumn& self, std::size_t level) {
            if (level < self.column.levels()) return partition(self, level);
            throw nb::index_error(fmt::format("a {} column has {} level(s) of splits",
                                              to_string(self.column.kind()), self.column.levels())
                                      .c_str());
          },
          nb::arg("level") = 0, "Where the rows of a ragged column begin, and the end.")
      .def_prop_ro(
          "offsets",
          [](const PyColumn& self) {
            return last_partition(self, self.column.dtype() == DType::bytes, "offsets");
          },
          "Where each text of a bytes column begins in .values, and the end.")
      .def_prop_ro(
          "lengths",
          [](const PyColumn& self) {
            return last_partition(self, self.column.kind() == Column::Kind::padded, "lengths");
          },
          "Items of each row of a padded column, without padding.")
      .def(
          "to_pylist",
          [](const PyColumn& self, const std::optional<std::string>& encoding) {
            return rows_as_objects(self.column, encoding);
          },
          nb::arg("encoding") = nb::none(),
          "The rows as Python objects. Texts are bytes, or str with encoding='utf-8'.")
      .def("__eq__", &compared, nb::arg().none())
      .def("__len__", [](const PyColumn& self) { return self.column.rows(); })
      .def("__getitem__", &item_of)
      .def("__getitem__",
           [](const PyColumn& self, const nb::slice& slice) {
             const auto [first, count] = rows_of(slice, self.column.rows());
             return PyColumn{self.column.slice(first, count), self.is_alone};
           })
      .def("__repr__",
           [](const PyColumn& self) {
             return fmt::format("<infeed.Column {}>", describe(self.column));
           })
      .def(
          "__dlpack__",
          [](const PyColumn& self, nb::handle stream, nb::handle max_version, nb::handle dl_device,
             nb::handle copy) {
            return dlpack_capsule(numbers_of(self), stream, max_version, dl_device, copy);
          },
          nb::kw_only(), nb::arg("stream") = nb::none(), nb::arg("max_version") = nb::none(),
          nb::arg("dl_device") = nb::none(), nb::arg("copy") = nb::none())
      .def("__reduce_ex__", [](const PyColumn& self, nb::handle) { return pickled(self); })
      .def("__dlpack_device__", [](const PyColumn&) { return nb::make_tuple(1, 0); })
      .def("__array__", &as_array, nb::arg("dtype") = nb::none(), nb::arg("copy") = nb::none())
      .def("__arrow_c_schema__",
           [](const PyColumn& self) { return arrow_schema_capsule(self.column); })
      .def(
          "__arrow_c_array__",
          [](const PyColumn& self, nb::handle) { return arrow_array_capsules(self.column); },
          nb::arg("requested_schema") = nb::none());
}

nb::list names_of(const PyBatch& batch) {
  nb::list names;
  for (const std::string& name : batch.batch.names()) names.append(text(name));
  return names;
}

nb::list columns_of(const PyBatch& batch) {
  nb::list columns;
  for (const std::string& name : batch.batch.names()) columns.append(column_of(batch, name));
  return columns;
}

void bind_batch(nb::module_& module) {
  nb::class_<PyBatch> type(
      module, "Batch", nb::is_weak_referenceable(),
      "A mapping of names to columns, all with the same number of rows. Slices are batches of\n"
      "some rows. pyarrow, pandas, polars and DuckDB take it as a table.");
  bind_frameworks(type);
  type.def(
          "rows", [](const PyBatch& self) { return self.batch.rows(); }, "The number of rows.")
      .def_prop_ro(
          "nbytes", [](const PyBatch& self) { return self.batch.bytes(); }, "Bytes of all columns.")
      .def("keys", &names_of, "The names, in order.")
      .def("values", &columns_of, "The columns, in order.")
      .def(
          "items",
          [](const PyBatch& self) {
            return nb::list(
                nb::module_::import_("builtins").attr("zip")(names_of(self), columns_of(self)));
          },
          "Pairs of name and column, in order.")
      .def(
          "get",
          [](const PyBatch& self, std::string_view name, nb::object otherwise) {
            return self.batch.find(name) == nullptr ? otherwise : nb::cast(column_of(self, name));
          },
          nb::arg("name"), nb::arg("default") = nb::none(),
          "The column of that name, or the default.")
      .def("__len__", [](const PyBatch& self) { return self.batch.columns().size(); })
      .def("__iter__", [](const PyBatch& self) { return nb::iter(names_of(self)); })
      .def("__contains__", [](const PyBatch& self,
                              std::string_view name) { return self.batch.find(name) != nullptr; })
      .def(
          "__contains__", [](const PyBatch&, nb::handle) { return false; }, nb::arg().none())
      .def("__getitem__", &column_of)
      .def("__getitem__",
           [](const PyBatch& self, const nb::slice& slice) {
             const auto [first, count] = rows_of(slice, self.batch.rows());
             return PyBatch{self.batch.slice(first, count), self.is_alone};
           })
      .def(
          "__eq__",
          [](const PyBatch& self, const PyBatch& other) { return self.batch == other.batch; },
          nb::is_operator())
      .def("__hash__", [](const PyBatch& self) { return self.batch.hash() >> 1; })
      .def("__reduce_ex__", [](const PyBatch& self, nb::handle) { return pickled(self); })
      .def("__repr__", [](const PyBatch& self) { return describe(self); })
      .def("__arrow_c_schema__",
           [](const PyBatch& self) { return arrow_schema_capsule(self.batch); })
      .def(
          "__arrow_c_array__",
          [](const PyBatch& self, nb::handle) { return arrow_array_capsules(self.batch); },
          nb::arg("requested_schema") = nb::none())
      .def(
          "__arrow_c_stream__",
          [](const PyBatch& self, nb::handle) {
            const nb::object once = nb::make_tuple(nb::cast(self)).attr("__iter__")();
            return arrow_stream_capsule(
                nb::module_::import_("functools")
                    .attr("partial")(nb::module_::import_("builtins").attr("next"), once,
                                     nb::none()));
          },
          nb::arg("requested_schema") = nb::none());
  nb::module_::import_("collections.abc").attr("Mapping").attr("register")(type);
}

}  // namespace

nb::object make_batch(ColumnBatch batch) {
  PyBatch made{std::move(batch), {}};
  const bool is_shared = made.batch.is_shared();
  for (const Column& column : made.batch.columns()) {
    made.is_alone.push_back(!is_shared && column.values().is_writable());
  }
  return nb::cast(std::move(made));
}

void bind_columns(nb::module_& module) {
  bind_column(module);
  bind_batch(module);
  bind_pickling(module);
  module.def(
      "_batches_from_arrow",
      [](nb::handle source) {
        nb::list batches;
        for (ColumnBatch& batch : batches_from_arrow(source)) {
          batches.append(make_batch(std::move(batch)));
        }
        return batches;
      },
      nb::arg("source").none());
  module.def("_arrow_stream", &arrow_stream_capsule);
  module.def(
      "batch",
      [](nb::handle columns, bool copy) {
        return make_batch(take_batch(columns, copy ? TakenMemory::copied : TakenMemory::adopted));
      },
      nb::arg("columns").none(), nb::kw_only(), nb::arg("copy") = false,
      "Makes a Batch of a mapping of names to arrays, lists of bytes or str, or infeed.Ragged.\n"
      "Contiguous arrays are kept, not copied: don't change them while the batch is used.\n"
      "An empty list is of float64, as in NumPy; no texts are np.array([], dtype=object).");
}

}  // namespace infeed::python
