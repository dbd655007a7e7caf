#include "infeed/records/dtype.h"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace infeed {
namespace {

constexpr std::array<std::string_view, kDTypes> kDTypeNames = {
    "bool",   "int8",   "int16",   "int32",    "int64",   "uint8",   "uint16",
    "uint32", "uint64", "float16", "bfloat16", "float32", "float64", "bytes"};

}  // namespace

std::string_view to_string(DType dtype) { return kDTypeNames.at(static_cast<std::size_t>(dtype)); }

DType dtype_from(std::string_view name) {
  const auto found = std::find(kDTypeNames.begin(), kDTypeNames.end(), name);
  if (found == kDTypeNames.end()) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("there is no dtype '{}'; the dtypes are {}", name,
                            fmt::join(kDTypeNames, ", ")));
  }
  return static_cast<DType>(found - kDTypeNames.begin());
}

}  // namespace infeed
