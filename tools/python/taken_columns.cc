#include <cstring>
#include <fmt/format.h>
#include <memory>
#include <string>

#include "infeed/error.h"
#include "python/column.h"
#include "python/given_values.h"

namespace infeed::python {
namespace {

[[noreturn]] void fail(std::string_view name, std::string_view reason) {
  throw Error(ErrorCode::invalid_argument, fmt::format("column '{}': {}", name, reason));
}

std::string name_of_type(nb::handle object) {
  return nb::cast<std::string>(nb::str(object.type().attr("__name__")));
}

std::string text_of_dtype(nb::handle array) {
  const nb::object dtype = array.attr("dtype");
  return nb::cast<std::string>(nb::str(nb::handle(dtype)));
}

std::optional<DType> dtype_of_dlpack(nb::dlpack::dtype type) {
  if (type.lanes != 1) return std::nullopt;
  for (std::size_t i = 0; i < kDTypes; ++i) {
    const auto dtype = static_cast<DType>(i);
    if (dtype == DType::bytes || 8 * item_bytes(dtype) != type.bits) continue;
    const bool is_match = [&] {
      switch (static_cast<nb::dlpack::dtype_code>(type.code)) {
        case nb::dlpack::dtype_code::Bool:
          return dtype == DType::boolean;
        case nb::dlpack::dtype_code::Bfloat:
          return dtype == DType::bfloat16;
        case nb::dlpack::dtype_code::Float:
          return is_float(dtype) && dtype != DType::bfloat16;
        case nb::dlpack::dtype_code::UInt:
          return dtype >= DType::uint8 && dtype <= DType::uint64;
        case nb::dlpack::dtype_code::Int:
          return dtype >= DType::int8 && dtype <= DType::int64;
        default:
          return false;
      }
    }();
    if (is_match) return dtype;
  }
  return std::nullopt;
}

using Array = nb::ndarray<nb::ro, nb::c_contig, nb::device::cpu>;

/// Returns the object, or a memoryview of its buffer: that of ctypes has no strides, which nanobind
/// reads.
nb::object with_strides(nb::handle object) {
  if (nb::hasattr(object, "__dlpack__")) return nb::borrow(object);
  PyObject* const view = PyMemoryView_FromObject(object.ptr());
  if (view != nullptr) return nb::steal(view);
  PyErr_Clear();
  return nb::borrow(object);
}

[[noreturn]] void refuse_array(nb::handle object, std::string_view name) {
  constexpr std::string_view kGive =
      "give a NumPy array, an array with __dlpack__, a list of bytes or str, or infeed.Ragged";
  if (nb::hasattr(object, "to_numpy")) {
    fail(name, fmt::format("a {} is no array: give its to_numpy(), or the whole table to "
                           "infeed.from_arrow()",
                           name_of_type(object)));
  }
  if (nb::hasattr(object, "dtype")) {
    fail(name, fmt::format(
                   "a {} of the dtype {} is no array of numbers on the CPU, in this machine's byte "
                   "order; {}",
                   name_of_type(object), text_of_dtype(object), kGive));
  }
  fail(name,
       fmt::format("a {} is no array of numbers on the CPU; {}", name_of_type(object), kGive));
}

/// Makes a tensor of an array in memory. `dtype` replaces the array's own where NumPy can't name it.
Tensor taken_tensor(nb::handle object, std::string_view name, TakenMemory memory,
                    std::optional<DType> dtype = std::nullopt) {
  auto array = std::make_unique<Array>();
  if (!nb::try_cast(with_strides(object), *array)) refuse_array(object, name);
  if (!dtype) dtype = dtype_of_dlpack(array->dtype());
  if (!dtype) {
    fail(name, fmt::format("its items are of DLPack's code {} with {} bits; there are bool, int8 "
                           "to uint64, float16, bfloat16, float32 and float64",
                           array->dtype().code, array->dtype().bits));
  }
  std::vector<std::int64_t> extents(array->shape_ptr(), array->shape_ptr() + array->ndim());
  Shape shape{std::span<const std::int64_t>(extents)};
  const auto* const data =
      static_cast<const std::byte*>(array->data_handle()) + array->byte_offset();
  const bool is_aligned = reinterpret_cast<std::uintptr_t>(data) % item_bytes(*dtype) == 0;
  if (memory == TakenMemory::copied || !is_aligned || shape.items() == 0) {
    Tensor copy(*dtype, std::move(shape));
    if (copy.bytes() != 0) std::memcpy(copy.writable_bytes().data(), data, copy.bytes());
    return copy;
  }
  // nanobind takes the GIL itself to let an array go, and does nothing once the interpreter is gone.
  return Tensor::adopt(*dtype, std::move(shape), data,
                       std::shared_ptr<const void>(std::move(array)));
}

Column column_of_texts(nb::handle sequence, std::string_view name) {
  std::string data;
  std::vector<std::int64_t> offsets = {0};
  for (const nb::handle text : sequence) {
    if (!is_text(text)) {
      fail(name,
           fmt::format("row {} is a {}; rows that are no array of numbers are all bytes or str",
                       offsets.size() - 1, name_of_type(text)));
    }
    data += text_of(text, {"column", name});
    offsets.push_back(static_cast<std::int64_t>(data.size()));
  }
  const auto count = static_cast<std::int64_t>(offsets.size());
  return Column::bytes(
      Tensor::copy_of<std::int64_t>({count}, std::span<const std::int64_t>(offsets)),
      Tensor::copy_of<std::uint8_t>(
          {static_cast<std::int64_t>(data.size())},
          std::span(reinterpret_cast<const std::uint8_t*>(data.data()), data.size())));
}

bool holds_texts(nb::handle sequence) { return nb::len(sequence) != 0 && is_text(sequence[0]); }

/// Returns true if the array's dtype is of one of these kinds, which are letters of NumPy's.
bool has_kind(nb::handle array, std::string_view kinds) {
  const nb::object kind = nb::getattr(array.attr("dtype"), "kind", nb::str(""));
  return PyUnicode_Check(kind.ptr()) && nb::len(kind) == 1 &&
         kinds.find(nb::cast<std::string_view>(kind)) != kinds.npos;
}

Tensor taken_splits(nb::handle level, std::string_view name, TakenMemory memory) {
  const nb::object as_array = nb::module_::import_("numpy").attr("asarray");
  const nb::object splits = as_array(level);
  if (!has_kind(splits, "iu")) {
    fail(name, fmt::format("its row_splits are whole numbers, but of the dtype {}",
                           text_of_dtype(splits)));
  }
  return taken_tensor(as_array(splits, "int64"), name, memory);
}

Column ragged_column(nb::handle ragged, std::string_view name, TakenMemory memory) {
  std::vector<Tensor> splits;
  for (const nb::handle level : ragged.attr("row_splits")) {
    splits.push_back(taken_splits(level, name, memory));
  }
  const Column values = take_column(ragged.attr("values"), name, memory);
  const bool is_bytes = values.kind() == Column::Kind::bytes;
  if (!is_bytes && values.kind() != Column::Kind::dense) {
    fail(name, fmt::format("the values of infeed.Ragged are a {} column; give one array or a list "
                           "of texts, and the splits of all levels",
                           to_string(values.kind())));
  }
  try {
    if (is_bytes) {
      return Column::ragged_bytes(std::move(splits), values.partitions()[0], values.values());
    }
    return Column::ragged(values.values(), std::move(splits));
  } catch (const Error& error) {
    fail(name, error.message());
  }
}

Column column_of(nb::handle values, std::string_view name, TakenMemory memory) {
  if (nb::isinstance<PyColumn>(values)) return nb::cast<const PyColumn&>(values).column;
  if (nb::hasattr(values, "row_splits")) return ragged_column(values, name, memory);
  if (is_list(values)) {
    if (holds_texts(values)) return column_of_texts(values, name);
    const nb::object array =
        array_of(values, {"column", name},
                 "rows of several lengths are infeed.Ragged(values, (row_splits,))");
    if (has_kind(array, "f")) check_integers(values, {"column", name});
    // NumPy makes texts of numbers beside texts.
    if (has_kind(array, "SU") && nb::len(nb::object(array.attr("shape"))) == 1) {
      return column_of_texts(values, name);
    }
    return column_of(array, name, memory);
  }
  if (is_text(values)) fail(name, "one text is no column; give a list of them");
  if (nb::hasattr(values, "dtype") && nb::hasattr(values, "tolist")) {
    if (hides_values(values)) {
      fail(name,
           "its mask hides values, and a column has none that are missing; give filled(value)");
    }
    if (has_kind(values, "SUO")) {
      if (nb::len(nb::object(values.attr("shape"))) != 1)
        fail(name, "an array of texts must have one axis");
      return column_of_texts(values.attr("tolist")(), name);
    }
    if (has_kind(values, "Mm")) refuse_array(values, name);
    if (text_of_dtype(values) == "bfloat16" && nb::hasattr(values, "view")) {
      const nb::object bits = nb::module_::import_("numpy").attr("ascontiguousarray")(values);
      return Column::dense(
          taken_tensor(bits.attr("view")("uint16"), name, memory, DType::bfloat16));
    }
  }
  Tensor tensor = taken_tensor(values, name, memory);
  if (tensor.shape().rank() == 0) fail(name, "one number is no column; give an array of them");
  return Column::dense(std::move(tensor));
}

}  // namespace

bool hides_values(nb::handle values) {
  if (!nb::hasattr(values, "filled")) return false;
  const nb::object is_masked = nb::module_::import_("numpy").attr("ma").attr("is_masked");
  return static_cast<bool>(nb::bool_(is_masked(values)));
}

Column take_column(nb::handle values, std::string_view name, TakenMemory memory) {
  return column_of(values, name, memory);
}

ColumnBatch take_batch(nb::handle mapping, TakenMemory memory) {
  if (nb::isinstance<PyBatch>(mapping)) return nb::cast<const PyBatch&>(mapping).batch;
  if (!nb::hasattr(mapping, "items")) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("a batch is a mapping of names to columns, but a {} was given",
                            name_of_type(mapping)));
  }
  std::vector<NamedColumn> columns;
  for (const nb::handle item : mapping.attr("items")()) {
    if (!PyUnicode_Check(nb::object(item[0]).ptr())) {
      throw Error(ErrorCode::invalid_argument,
                  fmt::format("a batch's names are str, but one is a {}", name_of_type(item[0])));
    }
    const nb::object key = item[0];
    const std::string name(utf8_of(key));
    columns.push_back({name, column_of(nb::object(item[1]), name, memory)});
  }
  return ColumnBatch(std::move(columns));
}

}  // namespace infeed::python
