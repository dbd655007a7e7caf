#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <infeed/pipeline/detail/tie_members.h>

/// Why: a batch of plain structs should become one contiguous column per field, and C++20 has no
/// reflection. Structured bindings can take an aggregate apart if the number of its fields is
/// known. That number is the number of initialisers that the aggregate takes. A struct may have up
/// to 64 fields; pairs and tuples work as well. Fields that are structs, pairs or tuples are taken
/// apart in turn, so a row may have any number of leaves (leaves.h). Classes with constructors,
/// unions, structs of more fields, and structs with C array members or base classes are not taken
/// apart. The last two can't be rows of a batch (batch_layout.h); the others are one column of
/// whole objects.
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
inline constexpr bool kIsSequence = kIsStdArray<T>;
template <class T, class A>
inline constexpr bool kIsSequence<std::vector<T, A>> = true;

template <class T>
inline constexpr bool kIsOptional = false;
template <class T>
inline constexpr bool kIsOptional<std::optional<T>> = true;

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

inline constexpr std::size_t kFieldsMax = 64;

/// Returns the largest number of initialisers from `Least` to `Most` that T takes; 0 if it takes
/// none.
template <class T, std::size_t Most, std::size_t Least>
constexpr std::size_t initialisers_within() {
  if constexpr (Most < Least) {
    return 0;
  } else if constexpr (kTakesInitialisers<T, std::make_index_sequence<Most>>) {
    return Most;
  } else {
    return initialisers_within<T, Most - 1, Least>();
  }
}

/// Returns the number of initialisers that T takes. Most structs have few fields, so the compiler
/// tries many only if it must: if 17 work, or if no smaller number does (a late member must be
/// initialised).
template <class T>
constexpr std::size_t initialiser_count() {
  constexpr std::size_t kFew = 16;
  constexpr bool kHasMany = kTakesInitialisers<T, std::make_index_sequence<kFew + 1>>;
  constexpr std::size_t few = kHasMany ? 0 : initialisers_within<T, kFew, 1>();
  if constexpr (few > 0) {
    return few;
  } else {
    return initialisers_within<T, kFieldsMax + 1, 1>();
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

/// True if T{First, AnyField x Rest} compiles.
template <class T, class First, class Rest>
inline constexpr bool kTakesFirst = false;
template <class T, class First, std::size_t... I>
inline constexpr bool kTakesFirst<T, First, std::index_sequence<I...>> = requires {
  T{First{}, (static_cast<void>(I), AnyField{})...};
};

/// Returns true if the first initialiser of a struct is that of a base class. A member that takes
/// anything (std::any) also takes NoField, and is told apart by that.
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
  /// True if the initialiser after `Before` others may be braces, with `Behind` more initialisers
  /// after it.
  static constexpr bool kTakesBraces = requires {
    T{(static_cast<void>(Before), AnyField{})...,
      {AnyField{}},
      (static_cast<void>(Behind), AnyField{})...};
  };
  /// True if it may be braces around two values, and isn't an object of a class.
  static constexpr bool kIsLong = requires {
    T{(static_cast<void>(Before), AnyField{})..., {AnyField{}, AnyField{}}};
  }
  &&!requires { T{(static_cast<void>(Before), AnyField{})..., AnyClass{}}; };
};

/// Returns true if the field is an array. Without braces each element of an array takes an
/// initialiser of its own; with braces the whole array takes one. So a field whose braces leave
/// less room for later initialisers is an array.
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

/// Returns true if a struct has a C array member of two elements or more. If the struct has more
/// than kFieldsMax initialisers, only arrays whose elements are no class objects are found.
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

/// Returns the number of fields that T is taken apart into; 0 for a type that stays whole.
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

/// Returns references to the fields of a struct, pair or tuple, as a tuple.
template <class T>
constexpr auto tie_fields(T& value) {
  constexpr std::size_t count = field_count<std::remove_const_t<T>>();
  if constexpr (kIsTuple<std::remove_const_t<T>>) {
    return std::apply([](auto&... field) { return std::tie(field...); }, value);
  } else if constexpr (count > 0) {
    return tie_members<count>(value);
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
