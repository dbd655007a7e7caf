#pragma once

#include <tuple>
#include <type_traits>

#include <infeed/pipeline/fields.h>
#include <infeed/pipeline/payload.h>

/// Finds the records inside of an element, for TypeInfo::detach_run.
namespace infeed::detail {

/// How deep in an element they are looked for: a struct may hold a vector of itself.
inline constexpr int kDetachDepth = 4;

template <class T, int Depth>
constexpr bool shares_memory();

template <class Tuple, int Depth>
inline constexpr bool kAnySharesMemory = false;
template <class... Ts, int Depth>
inline constexpr bool kAnySharesMemory<std::tuple<Ts...>, Depth> =
    (shares_memory<std::remove_cvref_t<Ts>, Depth>() || ...);

/// Returns true if a T or what it holds may lie in memory that keeps that of others, too.
template <class T, int Depth = kDetachDepth>
constexpr bool shares_memory() {
  if constexpr (requires(T & value) { Payload<T>::detach(value); }) {
    return true;
  } else if constexpr (Depth == 0) {
    return false;
  } else if constexpr (kIsSequence<T> || kIsOptional<T>) {
    return shares_memory<typename T::value_type, Depth - 1>();
  } else if constexpr (field_count<T>() > 0) {
    return kAnySharesMemory<FieldTypes<T>, Depth - 1>;
  } else {
    return false;
  }
}

/// Gives a value and what it holds memory of its own.
template <int Depth = kDetachDepth, class T>
void detach(T& value) {
  if constexpr (requires { Payload<T>::detach(value); }) {
    Payload<T>::detach(value);
  } else if constexpr (shares_memory<T, Depth>()) {
    if constexpr (kIsOptional<T>) {
      if (value) detach<Depth - 1>(*value);
    } else if constexpr (kIsSequence<T>) {
      for (auto& one : value) detach<Depth - 1>(one);
    } else {
      std::apply([](auto&... field) { (detach<Depth - 1>(field), ...); }, tie_fields(value));
    }
  }
}

}  // namespace infeed::detail
