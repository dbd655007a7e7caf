#pragma once

#include <string>

#include <infeed/describe/option_value.h>
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

/// Returns the bytes of a name of a file: str, bytes or os.PathLike.
inline std::string file_name(nb::handle name) {
  const nb::bytes encoded(nb::module_::import_("os").attr("fsencode")(name));
  return {encoded.c_str(), encoded.size()};
}

}  // namespace infeed::python
