#pragma once

#include <cstdint>

/// Not meant to be used directly. `Json` is nlohmann::json, which users of this library need not have.
namespace infeed::detail {

/// True for a whole number that float64 rounds: its column may hold it, and its neighbours would be taken
/// for it.
template <class Json>
bool float64_rounds_json(const Json& value) {
  if (!value.is_number_integer()) return false;
  constexpr double kBehindUint64 = 18446744073709551616.0;
  const auto nearest = value.template get<double>();
  if (value.is_number_unsigned()) {
    return nearest == kBehindUint64 ||
           static_cast<std::uint64_t>(nearest) != value.template get<std::uint64_t>();
  }
  return static_cast<std::int64_t>(nearest) != value.template get<std::int64_t>();
}

}  // namespace infeed::detail
