#pragma once

#include <cstdint>
#include <string_view>
#include <utility>

#include "python/nanobind_headers.h"

/// Values that columns and features take alike.
namespace infeed::python {

/// Names whatever takes a value, for messages: "column" and the column's name.
struct Taker {
  std::string_view kind;
  std::string_view name;
};

/// True for a bytes or str object.
bool is_text(nb::handle value);

/// Returns the UTF-8 of a str, valid while it lives. Throws UnicodeEncodeError where it has none.
std::string_view utf8_of(nb::handle text);

/// Returns the bytes of a bytes or str object, valid while it lives. Throws Error invalid_argument for
/// a str that has no UTF-8.
std::string_view text_of(nb::handle text, const Taker& taker);

/// True for a list or a tuple.
bool is_list(nb::handle value);

/// Returns the number, and 1 or -1 where it has more than 64 bits, else 0.
std::pair<std::int64_t, int> integer_of(nb::handle number);

/// Throws Error invalid_argument if a list, or one inside it, has an integer that may have changed when NumPy made
/// floats of all.
void check_integers(nb::handle list, const Taker& taker);

/// Returns NumPy's array of a list. Throws Error invalid_argument if NumPy makes none; `advice` says
/// what to give instead.
nb::object array_of(nb::handle list, const Taker& taker, std::string_view advice);

}  // namespace infeed::python
