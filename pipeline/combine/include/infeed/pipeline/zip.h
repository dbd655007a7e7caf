#pragma once

#include <cstddef>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <infeed/pipeline/dataset.h>

namespace infeed {

/// Reads several datasets side by side, as tuples of the elements at the same position.
///
///     for (const auto& [image, label] : infeed::zip(images, labels).iterate()) ...
///
/// The stream ends with the shortest side. An error on one side takes the tuple's place, and the
/// sides stay aligned: the others' elements at that position are dropped. If two sides fail there,
/// only the first side's error is reported. An error comes before the end of a side to its right,
/// and after the end of a side to its left.
template <class... Ts>
auto zip(const Dataset<Ts>&... sides);
template <class... Ts>
auto zip(StageOptions options, const Dataset<Ts>&... sides);

// Only the library reads what follows.
namespace detail {

/// Joins the values 0 .. count-1 of all sides. The values are moved away and destroyed.
using ZipKernel = void (*)(void* const* sides, void* out, std::size_t count) noexcept;

NodePointer make_zip(ZipKernel kernel, const TypeInfo& out_type, std::vector<NodePointer> sides);

template <class... Ts, std::size_t... I>
void zip_values(void* const* sides, void* out, std::size_t count,
                std::index_sequence<I...>) noexcept {
  const std::tuple<Ts*...> values{static_cast<Ts*>(sides[I])...};
  auto* const output = static_cast<std::tuple<Ts...>*>(out);
  for (std::size_t i = 0; i < count; ++i) {
    ::new (static_cast<void*>(output + i)) std::tuple<Ts...>(std::move(std::get<I>(values)[i])...);
    (std::destroy_at(std::get<I>(values) + i), ...);
  }
}

template <class... Ts>
void zip_kernel(void* const* sides, void* out, std::size_t count) noexcept {
  zip_values<Ts...>(sides, out, count, std::index_sequence_for<Ts...>());
}

}  // namespace detail

template <class... Ts>
auto zip(StageOptions options, const Dataset<Ts>&... sides) {
  static_assert(sizeof...(Ts) > 0, "infeed::zip: give at least one dataset");
  using Out = std::tuple<Ts...>;
  return Dataset<Out>(detail::named(
      detail::make_zip(&detail::zip_kernel<Ts...>, type_info<Out>(), {sides.node()...}),
      options.name));
}

template <class... Ts>
auto zip(const Dataset<Ts>&... sides) {
  return zip(StageOptions{}, sides...);
}

}  // namespace infeed
