#pragma once

#include <cstddef>
#include <tuple>
#include <type_traits>
#include <utility>

#include <infeed/pipeline/fields.h>

/// Why: a row of a batch may have structs in structs, and each number at the bottom should be a
/// column of its own. Such a column is dense, ready for a device, and has a name like
/// "meta.camera.iso". The leaves of a type are the fields that aren't taken apart (fields.h), depth
/// first. A type that isn't taken apart is its own only leaf.
///
///     struct Camera { int iso; float focal_length; };
///     struct Sample { std::array<float, 784> image; Camera camera; };   // three leaves
namespace infeed::detail {

/// True if a field is taken apart further.
template <class T>
inline constexpr bool kHasFields = field_count<T>() > 0;

template <class T>
constexpr std::size_t leaf_count();

template <class Fields, std::size_t... I>
constexpr std::size_t sum_of_leaves(std::index_sequence<I...>) {
  return (std::size_t{0} + ... + leaf_count<std::tuple_element_t<I, Fields>>());
}

template <class T>
constexpr std::size_t leaf_count() {
  if constexpr (kHasFields<T>) {
    return sum_of_leaves<FieldTypes<T>>(std::make_index_sequence<field_count<T>()>());
  } else {
    return 1;
  }
}

/// Returns references to the leaves, as a tuple.
template <class T>
constexpr auto tie_leaves(T& value) {
  if constexpr (kHasFields<std::remove_const_t<T>>) {
    return std::apply([](auto&... field) { return std::tuple_cat(tie_leaves(field)...); },
                      tie_fields(value));
  } else {
    return std::tie(value);
  }
}

/// The leaves' types, as a tuple of values.
template <class T>
using LeafTypes = typename RemoveReferences<decltype(tie_leaves(std::declval<T&>()))>::type;

/// Returns how many leaves lie before field I.
template <class T, std::size_t I>
constexpr std::size_t leaves_before() {
  return sum_of_leaves<FieldTypes<T>>(std::make_index_sequence<I>());
}

/// Makes a T from its leaves. Leaf I is the result of leaf(std::integral_constant<std::size_t,
/// First + I>()).
template <class T, std::size_t First = 0, class Leaf>
constexpr decltype(auto) from_leaves(const Leaf& leaf) {
  if constexpr (kHasFields<T>) {
    return [&]<std::size_t... I>(std::index_sequence<I...>) {
      return T{from_leaves<std::tuple_element_t<I, FieldTypes<T>>, First + leaves_before<T, I>()>(
          leaf)...};
    }
    (std::make_index_sequence<field_count<T>()>());
  } else {
    return leaf(std::integral_constant<std::size_t, First>());
  }
}

/// Returns a member of a member of ...: &Sample::camera, &Camera::iso.
template <class T, class Member, class Owner, class... Rest>
constexpr auto& member_at(T& value, Member Owner::*member, Rest... rest) {
  if constexpr (sizeof...(Rest) == 0) {
    return value.*member;
  } else {
    return member_at(value.*member, rest...);
  }
}
template <class T, class... Path>
using MemberAt =
    std::remove_cvref_t<decltype(member_at(std::declval<T&>(), std::declval<Path>()...))>;

}  // namespace infeed::detail
