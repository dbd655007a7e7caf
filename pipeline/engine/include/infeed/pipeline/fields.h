#pragma once

#include <array>
#include <cstddef>
#include <tuple>
#include <type_traits>
#include <utility>

/// Why: a batch of plain structs should become one contiguous column a field, and C++20 has no
/// reflection. An aggregate can be taken apart by structured bindings once its number of fields is
/// known, and that number is how many initialisers it takes. A struct may have up to 16 fields;
/// pairs and tuples work as well. Classes with constructors, unions, structs of more fields, and
/// structs with C array members or base classes are not taken apart; the last two can't be rows of
/// a batch (batch_layout.h), the others are one column of whole objects.
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

template <class T>
concept PlainStruct = std::is_class_v<T> && std::is_aggregate_v<T> && !kIsStdArray<T> &&
                      !kIsTuple<T> && !std::is_empty_v<T>;

/// Converts to base classes of T only.
template <class T>
struct AnyBaseOf {
  template <class Base>
  requires(std::is_base_of_v<Base, T> && !std::is_same_v<Base, T>)  //
  operator Base() const;
};
struct NoField {};

/// Whether T{First, AnyField x Rest} compiles.
template <class T, class First, class Rest>
inline constexpr bool kTakesFirst = false;
template <class T, class First, std::size_t... I>
inline constexpr bool kTakesFirst<T, First, std::index_sequence<I...>> = requires {
  T{First{}, (static_cast<void>(I), AnyField{})...};
};

/// Whether the first initialiser of a struct is that of a base class; a member that takes just
/// anything (std::any) takes NoField, too.
template <class T, std::size_t Rest = initialiser_count<T>()>
constexpr bool has_base_class() {
  using Others = std::make_index_sequence<Rest>;
  if constexpr (kTakesFirst<T, AnyBaseOf<T>, Others> && !kTakesFirst<T, NoField, Others>) {
    return true;
  } else if constexpr (Rest == 0) {
    return false;
  } else {
    return has_base_class<T, Rest - 1>();
  }
}

struct AnyClass {
  template <class T>
  requires std::is_class_v<T>
  operator T() const;
};

template <class T, class Before, class Behind>
struct ArrayAt;
template <class T, std::size_t... Before, std::size_t... Behind>
struct ArrayAt<T, std::index_sequence<Before...>, std::index_sequence<Behind...>> {
  /// Whether the initialiser behind `Before` others may be braces, with `Behind` more behind it.
  static constexpr bool kTakesBraces = requires {
    T{(static_cast<void>(Before), AnyField{})...,
      {AnyField{}},
      (static_cast<void>(Behind), AnyField{})...};
  };
  /// Whether it may be braces around two, and is no object of a class.
  static constexpr bool kIsLong = requires {
    T{(static_cast<void>(Before), AnyField{})..., {AnyField{}, AnyField{}}};
  }
  &&!requires { T{(static_cast<void>(Before), AnyField{})..., AnyClass{}}; };
};

/// Without braces around them, each element of an array takes an initialiser of its own; with
/// braces, the array takes one. So a field whose braces leave less room behind it is an array.
template <class T, std::size_t At, std::size_t Behind>
constexpr bool is_array_at() {
  using Before = std::make_index_sequence<At>;
  constexpr std::size_t kBehindMax = initialiser_count<T>() - At - 1;
  if constexpr (ArrayAt<T, Before, std::make_index_sequence<Behind>>::kTakesBraces) {
    return Behind < kBehindMax;
  } else if constexpr (Behind == 0) {
    return false;
  } else {
    return is_array_at<T, At, Behind - 1>();
  }
}

/// Whether a struct has a member that is a C array (of two elements or more; where the struct has
/// more than kFieldsMax initialisers, one whose elements are no objects of a class).
template <class T, std::size_t At = 0>
constexpr bool has_c_array() {
  constexpr std::size_t kCount = initialiser_count<T>();
  if constexpr (At >= kCount) {
    return false;
  } else if constexpr (kCount > kFieldsMax) {
    return ArrayAt<T, std::make_index_sequence<At>, std::index_sequence<>>::kIsLong ||
           has_c_array<T, At + 1>();
  } else if constexpr (is_array_at<T, At, kCount - At - 1>()) {
    return true;
  } else {
    return has_c_array<T, At + 1>();
  }
}

/// Number of fields that T is taken apart into; 0 for what stays whole.
template <class T>
constexpr std::size_t field_count() {
  if constexpr (kIsTuple<T>) {
    return std::tuple_size_v<T>;
  } else if constexpr (PlainStruct<T>) {
    constexpr std::size_t count = initialiser_count<T>();
    if constexpr (count > kFieldsMax) {
      return 0;
    } else {
      return has_base_class<T>() || has_c_array<T>() ? 0 : count;
    }
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
