#pragma once

#include <fmt/format.h>
#include <string>
#include <string_view>

#include <infeed/describe/option_value.h>
#include <infeed/error.h>
#include <infeed/records/output_file.h>

#include "python/nanobind_headers.h"

/// Words that Python gives for values of C++.
namespace infeed::describe {

template <>
struct EnumNames<ExistingFile> {
  static constexpr std::pair<ExistingFile, std::string_view> kNames[] = {
      {ExistingFile::refuse, "refuse"}, {ExistingFile::replace, "replace"}};
};
template <>
struct EnumNames<Durability> {
  static constexpr std::pair<Durability, std::string_view> kNames[] = {
      {Durability::leave_to_system, "leave_to_system"}, {Durability::synced, "synced"}};
};

}  // namespace infeed::describe

namespace infeed::python {

/// Returns the value of that name. Throws an Error that lists the names.
template <class Enum>
Enum named_value(const std::string& option, std::string_view name) {
  return describe::OptionValue<Enum>::read(describe::JsonText::of(name), option);
}

/// Throws that an option of a function of Python's has a wrong value; `expected`: "a whole number".
[[noreturn]] inline void refuse_option(std::string_view function, std::string_view option,
                                       nb::handle value, std::string_view expected) {
  throw Error(ErrorCode::invalid_argument,
              fmt::format("{}: {} is {}; it must be {}", function, option,
                          nb::cast<std::string>(nb::repr(value)), expected));
}

/// Returns the value of an option of a function of Python's.
template <class T>
T option_as(std::string_view function, std::string_view option, nb::handle value,
            std::string_view expected) {
  try {
    return nb::cast<T>(value);
  } catch (const std::bad_cast&) {
    refuse_option(function, option, value, expected);
  }
}

/// Returns the bytes of a name of a file: str, bytes or os.PathLike.
inline std::string file_name(nb::handle name) {
  const nb::bytes encoded(nb::module_::import_("os").attr("fsencode")(name));
  const std::string_view bytes(encoded.c_str(), encoded.size());
  if (bytes.find('\0') != bytes.npos) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("the file name {} has a zero byte, with which no file's name goes on",
                            nb::cast<std::string>(nb::repr(name))));
  }
  return std::string(bytes);
}

}  // namespace infeed::python
