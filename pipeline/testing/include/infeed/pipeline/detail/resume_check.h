#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <infeed/error.h>
#include <infeed/pipeline/batch.h>
#include <infeed/pipeline/fields.h>
#include <infeed/pipeline/iterator.h>

/// Compares the elements of two runs.
namespace infeed::testing::detail {

using infeed::detail::field_count;
using infeed::detail::tie_fields;

template <class T>
inline constexpr bool kIsBatch = false;
template <class T>
inline constexpr bool kIsBatch<Batch<T>> = true;

template <class T>
bool same(const T& a, const T& b);

template <class T>
bool same_fields(const T& a, const T& b) {
  const auto fields_a = tie_fields(a);
  const auto fields_b = tie_fields(b);
  return [&]<std::size_t... I>(std::index_sequence<I...>) {
    return (same(std::get<I>(fields_a), std::get<I>(fields_b)) && ...);
  }
  (std::make_index_sequence<field_count<T>()>());
}

template <class Range>
bool same_ranges(const Range& a, const Range& b) {
  return std::equal(std::begin(a), std::end(a), std::begin(b), std::end(b),
                    [](const auto& x, const auto& y) { return same(x, y); });
}

template <class T>
bool same_batches(const Batch<T>& a, const Batch<T>& b) {
  return a.size() == b.size()&& [&]<std::size_t... I>(std::index_sequence<I...>) {
    return (same_ranges(a.template column<I>(), b.template column<I>()) && ...);
  }
  (std::make_index_sequence<Batch<T>::kColumns>());
}

template <class T>
bool same(const T& a, const T& b) {
  constexpr bool kPointsTo = !std::is_pointer_v<T> && requires { *a, static_cast<bool>(a); };
  if constexpr (kIsBatch<T>) {
    return same_batches(a, b);
  } else if constexpr (std::is_floating_point_v<T>) {
    return a == b || (a != a && b != b);
  } else if constexpr (kPointsTo) {
    return static_cast<bool>(a) == static_cast<bool>(b) && (!a || same(*a, *b));
  } else if constexpr (requires { std::begin(a), std::end(a); }) {
    return same_ranges(a, b);
  } else if constexpr (field_count<T>() > 0) {
    return same_fields(a, b);
  } else {
    static_assert(
        requires { a == b; },
        "infeed::testing: this element has no ==; give expect_equal_after_resume a "
        "function that compares two of them");
    return a == b;
  }
}

struct Same {
  template <class T>
  bool operator()(const T& a, const T& b) const {
    return same(a, b);
  }
};

/// An element, an error (in an element's place, or terminal), or the end (neither).
template <class T>
struct Slot {
  std::optional<T> element;
  std::optional<Error> error;
  bool takes_a_place;
};

template <class T>
Slot<T> take_slot(Iterator<T>& iterator) {
  const std::uint64_t place = iterator.position();
  Slot<T> slot{std::nullopt, std::nullopt, false};
  try {
    slot.element = iterator.next();
  } catch (const Error& error) {
    slot.error = error;
  }
  slot.takes_a_place = iterator.position() > place;
  return slot;
}

/// Returns "an element", "the error '...'" or "the end"; numbers and texts are shown.
template <class T>
std::string describe_slot(const Slot<T>& slot) {
  if (!slot.element && !slot.error) return "the end";
  if (slot.error) return std::string("the error '") + slot.error->what() + "'";
  if constexpr (std::is_arithmetic_v<T>) {
    return std::to_string(*slot.element);
  } else if constexpr (std::is_convertible_v<const T&, std::string>) {
    return "'" + std::string(*slot.element) + "'";
  } else {
    return "an element";
  }
}

[[noreturn]] void throw_difference(std::uint64_t resumed_at, std::uint64_t position,
                                   const std::string& got, const std::string& expected);
/// Throws: the element at `position` was another one when the checkpoint was taken.
[[noreturn]] void throw_other_seeds(std::uint64_t resumed_at, std::uint64_t position,
                                    const std::string& got, const std::string& taken);

template <class T>
std::vector<Slot<T>> take_slots(Iterator<T>& iterator, std::uint64_t elements_max) {
  std::vector<Slot<T>> slots;
  while (slots.size() < elements_max) {
    slots.push_back(take_slot(iterator));
    if (!slots.back().takes_a_place) break;
  }
  return slots;
}

template <class T, class Equal>
bool same_slots(const Slot<T>& a, const Slot<T>& b, Equal& equal) {
  return a.element.has_value() == b.element.has_value() &&
         a.error.has_value() == b.error.has_value() &&
         (!a.element || equal(*a.element, *b.element)) &&
         (!a.error ||
          (a.error->code() == b.error->code() && a.error->message() == b.error->message()));
}

}  // namespace infeed::testing::detail
