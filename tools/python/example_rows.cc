#include "python/example_rows.h"

#include <fmt/format.h>
#include <limits>
#include <utility>
#include <vector>

#include <infeed/records/detail/encoded_number.h>

#include "infeed/error.h"
#include "python/column.h"
#include "python/given_values.h"

namespace infeed::python {
namespace {

[[noreturn]] void fail(std::string_view name, std::string_view reason) {
  throw Error(ErrorCode::invalid_argument, fmt::format("feature '{}': {}", name, reason));
}

void add_texts(ExampleBuilder& builder, std::string_view name, nb::handle list) {
  std::vector<std::string_view> texts;
  for (const nb::handle text : nb::borrow<nb::list>(list)) {
    if (!is_text(text)) {
      fail(name, fmt::format("it holds a {}; the values of a feature are all numbers or all texts",
                             nb::cast<std::string>(nb::str(text.type().attr("__name__")))));
    }
    texts.push_back(text_of(text, {"feature", name}));
  }
  builder.bytes(name, std::span<const std::string_view>(texts));
}

/// Returns the values of an array one behind the other, as T.
template <class T>
std::span<const T> values_of(nb::handle array, const char* dtype, nb::object& keeper) {
  using Values = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
  keeper = nb::module_::import_("numpy").attr("ascontiguousarray")(array.attr("reshape")(-1),
                                                                   nb::arg("dtype") = dtype);
  const auto values = nb::cast<Values>(keeper);
  return {values.data(), values.size()};
}

/// Adds numbers that float32 may not hold.
void add_doubles(ExampleBuilder& builder, std::string_view name, nb::handle array) {
  nb::object keeper;
  const std::string feature(name);
  std::vector<float> narrow;
  for (const double value : values_of<double>(array, "float64", keeper)) {
    narrow.push_back(detail::encoded_float(feature, value));
  }
  builder.floats(name, std::span<const float>(narrow));
}

/// Returns a whole number as Python's int, also one of NumPy's and a bool. Returns null for another value.
nb::object whole_number(nb::handle value) {
  if (PyLong_Check(value.ptr())) return nb::borrow(value);
  if (!nb::hasattr(value, "dtype") || !nb::hasattr(value, "item")) return {};
  const nb::object kind = nb::getattr(value.attr("dtype"), "kind", nb::str(""));
  const bool is_whole =
      kind.equal(nb::str("i")) || kind.equal(nb::str("u")) || kind.equal(nb::str("b"));
  return is_whole && nb::cast<int>(value.attr("ndim")) == 0 ? value.attr("item")() : nb::object();
}

[[noreturn]] void refuse_integer(std::string_view name) {
  fail(name, "an integer is beyond those of an Example, -2^63 to 2^63 - 1");
}

/// Appends the whole numbers of a list and of the lists in it. Returns false if it has other values. NumPy
/// makes floats of whole numbers of several types, and an image of those of 8 bits.
bool append_integers(std::string_view name, nb::handle list, std::vector<std::int64_t>& out) {
  for (const nb::handle item : list) {
    if (is_list(item)) {
      if (!append_integers(name, item, out)) return false;
      continue;
    }
    const nb::object whole = whole_number(item);
    if (!whole.is_valid()) return false;
    const auto [number, overflow] = integer_of(whole);
    if (overflow != 0) refuse_integer(name);
    out.push_back(number);
  }
  return true;
}

void add_array(ExampleBuilder& builder, std::string_view name, nb::handle array) {
  const auto kind = nb::cast<std::string>(array.attr("dtype").attr("kind"));
  const auto dtype = nb::cast<std::string>(array.attr("dtype").attr("name"));
  nb::object keeper;
  if (dtype == "uint8" && nb::cast<int>(array.attr("ndim")) != 0) {
    const auto pixels = values_of<std::uint8_t>(array, "uint8", keeper);
    builder.bytes(name,
                  std::string_view(reinterpret_cast<const char*>(pixels.data()), pixels.size()));
  } else if (kind == "b" || kind == "i" || kind == "u") {
    if (dtype == "uint64" && nb::cast<std::size_t>(array.attr("size")) != 0 &&
        nb::cast<std::uint64_t>(array.attr("max")()) > std::numeric_limits<std::int64_t>::max()) {
      refuse_integer(name);
    }
    builder.integers(name, values_of<std::int64_t>(array, "int64", keeper));
  } else if (kind == "f" && nb::cast<std::size_t>(array.attr("itemsize")) > sizeof(float)) {
    add_doubles(builder, name, array);
  } else if (kind == "f" || dtype == "bfloat16") {
    builder.floats(name, values_of<float>(array, "float32", keeper));
  } else if (kind == "S" || kind == "U" || kind == "O") {
    add_texts(builder, name, array.attr("reshape")(-1).attr("tolist")());
  } else {
    fail(name, fmt::format("values of the type {} are no feature: give numbers or texts", dtype));
  }
}

void add_feature(ExampleBuilder& builder, std::string_view name, nb::handle value) {
  if (value.is_none()) return;
  if (is_text(value)) {
    builder.bytes(name, text_of(value, {"feature", name}));
  } else if (PyLong_Check(value.ptr())) {
    const auto [number, overflow] = integer_of(value);
    if (overflow != 0) refuse_integer(name);
    builder.integers(name, number);
  } else if (PyFloat_Check(value.ptr())) {
    builder.floats(name, detail::encoded_float(std::string(name), PyFloat_AsDouble(value.ptr())));
  } else if (is_list(value)) {
    const nb::list list(value);
    if (nb::len(list) == 0) return;
    if (is_text(list[0])) return add_texts(builder, name, list);
    const nb::module_ numpy = nb::module_::import_("numpy");
    nb::object array =
        array_of(list, {"feature", name}, "give one list of numbers, or lists of one length");
    std::vector<std::int64_t> integers;
    if (append_integers(name, list, integers) && !integers.empty()) {
      builder.integers(name, std::span<const std::int64_t>(integers));
      return;
    }
    const auto kind = nb::cast<std::string>(array.attr("dtype").attr("kind"));
    if (kind == "f") check_integers(list, {"feature", name});
    // Texts of NumPy's own have no zeros at their ends, and numbers beside texts become some.
    if (kind == "S" || kind == "U") array = numpy.attr("asarray")(list, "object");
    add_array(builder, name, array);
  } else {
    if (hides_values(value))
      fail(name, "its mask hides values; give filled(value), or leave it out");
    add_array(builder, name, nb::module_::import_("numpy").attr("asarray")(value));
  }
}

}  // namespace

std::string record_of(nb::handle row) {
  if (PyBytes_Check(row.ptr())) return std::string(text_of(row, {"row", ""}));
  if (!nb::hasattr(row, "items")) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("a row is bytes or a mapping of names to values, but a {} was given",
                            nb::cast<std::string>(nb::str(row.type().attr("__name__")))));
  }
  ExampleBuilder builder;
  for (const nb::handle item : row.attr("items")()) {
    const nb::object name = item[0];
    if (!PyUnicode_Check(name.ptr())) {
      throw Error(ErrorCode::invalid_argument, "the names of a row's features must be str");
    }
    const nb::object value = item[1];
    add_feature(builder, utf8_of(name), value);
  }
  return builder.encode();
}

}  // namespace infeed::python
