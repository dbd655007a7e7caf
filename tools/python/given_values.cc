#include "python/given_values.h"

#include <fmt/format.h>
#include <string>

#include "infeed/error.h"

namespace infeed::python {
namespace {

[[noreturn]] void fail(const Taker& taker, std::string_view what, const nb::python_error& reason,
                       std::string_view advice) {
  throw Error(ErrorCode::invalid_argument,
              fmt::format("{} '{}': {} ({}); {}", taker.kind, taker.name, what,
                          nb::cast<std::string>(nb::str(reason.value())), advice));
}

}  // namespace

bool is_text(nb::handle value) {
  return PyBytes_Check(value.ptr()) || PyUnicode_Check(value.ptr());
}

std::string_view utf8_of(nb::handle text) {
  Py_ssize_t size = 0;
  const char* const encoded = PyUnicode_AsUTF8AndSize(text.ptr(), &size);
  if (encoded == nullptr) throw nb::python_error();
  return {encoded, static_cast<std::size_t>(size)};
}

std::string_view text_of(nb::handle text, const Taker& taker) {
  if (PyBytes_Check(text.ptr())) {
    char* bytes = nullptr;
    Py_ssize_t size = 0;
    if (PyBytes_AsStringAndSize(text.ptr(), &bytes, &size) != 0) throw nb::python_error();
    return {bytes, static_cast<std::size_t>(size)};
  }
  try {
    return utf8_of(text);
  } catch (nb::python_error& error) {
    if (!error.matches(PyExc_UnicodeEncodeError)) throw;
    fail(taker, "a text has no UTF-8", error, "give its bytes");
  }
}

bool is_list(nb::handle value) {
  return nb::isinstance<nb::list>(value) || nb::isinstance<nb::tuple>(value);
}

std::pair<std::int64_t, int> integer_of(nb::handle number) {
  int overflow = 0;
  const long long value = PyLong_AsLongLongAndOverflow(number.ptr(), &overflow);
  return {value, overflow};
}

void check_integers(nb::handle list, const Taker& taker) {
  constexpr std::int64_t kExactMax = std::int64_t{1} << 53;
  for (const nb::handle item : list) {
    if (is_list(item)) {
      check_integers(item, taker);
    } else if (PyIndex_Check(item.ptr()) != 0) {  // also arrays, but no floats
      const nb::object plain =
          nb::hasattr(item, "tolist") ? item.attr("tolist")() : nb::borrow(item);
      if (is_list(plain)) check_integers(plain, taker);
      if (!PyLong_Check(plain.ptr())) continue;
      const auto [number, overflow] = integer_of(plain);
      if (overflow == 0 && number <= kExactMax && number >= -kExactMax) continue;
      throw Error(ErrorCode::invalid_argument,
                  fmt::format("{} '{}': the integer {} would become a float, as other numbers of "
                              "its list; floats hold integers up to 2^53",
                              taker.kind, taker.name, nb::cast<std::string>(nb::str(plain))));
    }
  }
}

nb::object array_of(nb::handle list, const Taker& taker, std::string_view advice) {
  try {
    return nb::module_::import_("numpy").attr("asarray")(list);
  } catch (nb::python_error& error) {
    if (!error.matches(PyExc_ValueError)) throw;
    fail(taker, "NumPy makes no array of the list", error, advice);
  }
}

}  // namespace infeed::python
