#pragma once

#include <array>
#include <cstddef>
#include <tuple>
#include <type_traits>
#include <utility>

/// Why: a batch of plain structs should become one contiguous column a field, and C++20 has no
/// reflection. An aggregate can be taken apart by structured bindings once its number of fields is
/// known, and that number is how many initialisers it takes. A struct may have up to 16 fields;
/// pairs and tuples work as well. Classes with constructors, unions, and types with C array members
/// or base classes are not taken apart: they are one column of whole objects.
namespace infeed::detail {

struct AnyField {
  template <class T>
  operator T() const;  // only ever named, never called
};

template <class T>
inline constexpr bool kIsStdArray = false;
template <class T, std::size_t N>
inline constexpr bool kIsStdArray<std::array<T, N>> = true;

template <class T>
inline constexpr bool kIsTuple = false;
template <class A, class B>
inline constexpr bool kIsTuple<std::pair<A, B>> = true;
template <class... Ts>
inline constexpr bool kIsTuple<std::tuple<Ts...>> = true;

template <class T, class Indices>
inline constexpr bool kTakesInitialisers = false;
template <class T, std::size_t... I>
inline constexpr bool kTakesInitialisers<T, std::index_sequence<I...>> = requires {
  T{(static_cast<void>(I), AnyField{})...};
};

inline constexpr std::size_t kFieldsMax = 16;

template <class T, std::size_t N = kFieldsMax + 1>
constexpr std::size_t initialiser_count() {
  if constexpr (N == 0) {
    return 0;
  } else if constexpr (kTakesInitialisers<T, std::make_index_sequence<N>>) {
    return N;
  } else {
    return initialiser_count<T, N - 1>();
  }
}

/// Number of fields that T is taken apart into; 0 for what stays whole.
template <class T>
constexpr std::size_t field_count() {
  if constexpr (kIsTuple<T>) {
    return std::tuple_size_v<T>;
  } else if constexpr (std::is_class_v<T> && std::is_aggregate_v<T> && !kIsStdArray<T> &&
                       !std::is_empty_v<T>) {
    constexpr std::size_t count = initialiser_count<T>();
    return count <= kFieldsMax ? count : 0;
  } else {
    return 0;
  }
}

/// References to the fields of a struct, pair or tuple, as a tuple.
template <class T>
constexpr auto tie_fields(T& value) {
  constexpr std::size_t count = field_count<std::remove_const_t<T>>();
  if constexpr (kIsTuple<std::remove_const_t<T>>) {
    return std::apply([](auto&... field) { return std::tie(field...); }, value);
  } else if constexpr (count == 1) {
    auto& [a] = value;
    return std::tie(a);
  } else if constexpr (count == 2) {
    auto& [a, b] = value;
    return std::tie(a, b);
  } else if constexpr (count == 3) {
    auto& [a, b, c] = value;
    return std::tie(a, b, c);
  } else if constexpr (count == 4) {
    auto& [a, b, c, d] = value;
    return std::tie(a, b, c, d);
  } else if constexpr (count == 5) {
    auto& [a, b, c, d, e] = value;
    return std::tie(a, b, c, d, e);
  } else if constexpr (count == 6) {
    auto& [a, b, c, d, e, f] = value;
    return std::tie(a, b, c, d, e, f);
  } else if constexpr (count == 7) {
    auto& [a, b, c, d, e, f, g] = value;
    return std::tie(a, b, c, d, e, f, g);
  } else if constexpr (count == 8) {
    auto& [a, b, c, d, e, f, g, h] = value;
    return std::tie(a, b, c, d, e, f, g, h);
  } else if constexpr (count == 9) {
    auto& [a, b, c, d, e, f, g, h, i] = value;
    return std::tie(a, b, c, d, e, f, g, h, i);
  } else if constexpr (count == 10) {
    auto& [a, b, c, d, e, f, g, h, i, j] = value;
    return std::tie(a, b, c, d, e, f, g, h, i, j);
  } else if constexpr (count == 11) {
    auto& [a, b, c, d, e, f, g, h, i, j, k] = value;
    return std::tie(a, b, c, d, e, f, g, h, i, j, k);
  } else if constexpr (count == 12) {
    auto& [a, b, c, d, e, f, g, h, i, j, k, l] = value;
    return std::tie(a, b, c, d, e, f, g, h, i, j, k, l);
  } else if constexpr (count == 13) {
    auto& [a, b, c, d, e, f, g, h, i, j, k, l, m] = value;
    return std::tie(a, b, c, d, e, f, g, h, i, j, k, l, m);
  } else if constexpr (count == 14) {
    auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, n] = value;
    return std::tie(a, b, c, d, e, f, g, h, i, j, k, l, m, n);
  } else if constexpr (count == 15) {
    auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o] = value;
    return std::tie(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o);
  } else if constexpr (count == 16) {
    auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p] = value;
    return std::tie(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p);
  } else {
    return std::tuple<>{};
  }
}

template <class Tuple>
struct RemoveReferences;
template <class... Ts>
struct RemoveReferences<std::tuple<Ts...>> {
  using type = std::tuple<std::remove_cvref_t<Ts>...>;
};

/// The fields' types, as a tuple of values.
template <class T>
using FieldTypes = typename RemoveReferences<decltype(tie_fields(std::declval<T&>()))>::type;

}  // namespace infeed::detail
