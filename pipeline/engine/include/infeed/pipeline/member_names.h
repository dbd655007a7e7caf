#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <infeed/pipeline/leaves.h>

/// Why: columns that leave the program, to NumPy or Arrow, need names, and the members of a struct
/// have names already.
///
///     struct Camera { int iso; float focal_length; };
///     struct Shot { std::array<float, 784> image; Camera camera; };
///     // infeed::member_names<Shot>() is {"image", "camera.iso", "camera.focal_length"}
///
/// Fields of pairs and tuples are called "0", "1", ...; a type without fields is called "value".
///
/// C++20 has no reflection, so the names are read from the compiler's spelling of an address. GCC,
/// and Clang from 18 on, can do that. Elsewhere kHasMemberNames is false and names must be given.
namespace infeed {

#if defined(__clang__)
inline constexpr bool kHasMemberNames = __clang_major__ >= 18;
#else
inline constexpr bool kHasMemberNames = true;
#endif

namespace detail {

template <class T>
struct SomewhereOf {
  T value;
};
/// An object that is declared and never defined: its members' addresses are named, never used.
template <class T>
extern const SomewhereOf<T> kSomewhere;

template <auto Address>
constexpr std::string_view spelt_address() {
  return __PRETTY_FUNCTION__;
}

/// Returns the member's name from the spelt address. GCC: "... [with auto Address = (&
/// kSomewhere<Shot>....Shot::camera); ...]"; Clang: "... [Address =
/// &kSomewhere<Shot>.value.camera]".
constexpr std::string_view last_name(std::string_view spelt) {
  std::size_t end = spelt.find(");", spelt.find("kSomewhere<"));
  if (end == std::string_view::npos) end = spelt.rfind(']');
  std::size_t begin = end;
  const auto is_of_name = [](char c) {
    return c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           static_cast<unsigned char>(c) >= 0x80;
  };
  while (begin > 0 && is_of_name(spelt[begin - 1])) --begin;
  return spelt.substr(begin, end - begin);
}

template <class T, std::size_t I>
constexpr std::string_view member_name() {
  return last_name(spelt_address<&std::get<I>(tie_fields(kSomewhere<T>.value))>());
}

template <class T>
void append_member_names(const std::string& prefix, std::vector<std::string>& names);

template <class T, std::size_t I>
void append_names_of_field(const std::string& prefix, std::vector<std::string>& names) {
  std::string name = prefix;
  if constexpr (kIsTuple<T>) {
    name += std::to_string(I);
  } else {
    name += member_name<T, I>();
  }
  using Field = std::tuple_element_t<I, FieldTypes<T>>;
  if constexpr (kHasFields<Field>) {
    append_member_names<Field>(name + ".", names);
  } else {
    names.push_back(std::move(name));
  }
}

template <class T>
void append_member_names(const std::string& prefix, std::vector<std::string>& names) {
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    (append_names_of_field<T, I>(prefix, names), ...);
  }
  (std::make_index_sequence<field_count<T>()>());
}

}  // namespace detail

/// Returns the names of the leaves of T, in order.
template <class T>
std::vector<std::string> member_names() {
  // Clang 14 evaluates conditions that don't depend on T even if no T is asked for.
  static_assert(sizeof(T) > 0 && kHasMemberNames,
                "infeed: this compiler doesn't say what members are called: give the names");
  std::vector<std::string> names;
  if constexpr (detail::kHasFields<T>) {
    detail::append_member_names<T>("", names);
  } else {
    names.emplace_back("value");
  }
  return names;
}

}  // namespace infeed
