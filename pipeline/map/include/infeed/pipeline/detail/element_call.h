#pragma once

#include <cstddef>
#include <functional>
#include <tuple>
#include <type_traits>
#include <utility>

#include <infeed/pipeline/fields.h>

/// Calls a user's function with an element: with the element as it is or, if it is a pair or a
/// tuple, with its members as separate arguments. Not for direct use.
namespace infeed::detail {

template <class F, class... Args>
inline constexpr bool kCallable = std::is_invocable_v<const F&, Args...>;

template <class... Args>
struct Arguments {};

/// A call with the arguments Before, the element and the arguments After. Element is a reference.
template <class F, class Element, class Before = Arguments<>, class After = Arguments<>>
struct ElementCall;

template <class F, class Element, class... Before, class... After>
struct ElementCall<F, Element, Arguments<Before...>, Arguments<After...>> {
 private:
  using Value = std::remove_cvref_t<Element>;

  /// A function object's body may be a template that fits only some arguments. So the second way is
  /// tried only if the first one is impossible.
  template <class Function>
  static constexpr bool takes_whole() {
    return std::is_invocable_v<Function, Before..., Element, After...>;
  }
  template <class Function>
  static constexpr bool takes_members() {
    if constexpr (!kIsTuple<Value>) {
      return false;
    } else if constexpr (takes_whole<Function>()) {
      return false;
    } else {
      return []<std::size_t... I>(std::index_sequence<I...>) {
        return std::is_invocable_v<Function, Before...,
                                   decltype(std::get<I>(std::declval<Element>()))..., After...>;
      }
      (std::make_index_sequence<std::tuple_size_v<Value>>());
    }
  }
  template <class Function>
  static constexpr bool is_possible() {
    return takes_whole<Function>() || takes_members<Function>();
  }

 public:
  static constexpr bool kWhole = takes_whole<const F&>();
  static constexpr bool kPossible = is_possible<const F&>();

  /// Returns true if the function could be called if it were mutable.
  static constexpr bool needs_mutable() {
    if constexpr (kPossible) {
      return false;
    } else {
      return is_possible<F&>();
    }
  }

  static decltype(auto) call(const F& function, Before... before, Element element, After... after) {
    if constexpr (kWhole) {
      return std::invoke(function, std::forward<Before>(before)..., std::forward<Element>(element),
                         std::forward<After>(after)...);
    } else {
      return [&]<std::size_t... I>(std::index_sequence<I...>)->decltype(auto) {
        return std::invoke(function, std::forward<Before>(before)...,
                           std::get<I>(std::forward<Element>(element))...,
                           std::forward<After>(after)...);
      }
      (std::make_index_sequence<std::tuple_size_v<Value>>());
    }
  }
};

/// The result type of a call, without reference and const; void if the call isn't possible.
template <class Call>
struct ElementCallResult {
  using type = void;
};
template <class F, class Element, class... Before, class... After>
requires(ElementCall<F, Element, Arguments<Before...>, Arguments<After...>>::kPossible)  //
    struct ElementCallResult<ElementCall<F, Element, Arguments<Before...>, Arguments<After...>>> {
  using type = std::remove_cvref_t<
      decltype(ElementCall<F, Element, Arguments<Before...>, Arguments<After...>>::call(
          std::declval<const F&>(), std::declval<Before>()..., std::declval<Element>(),
          std::declval<After>()...))>;
};

/// True if the call gives a condition for an `if`. A string literal is excluded, since it would
/// always be true.
template <class Call>
inline constexpr bool kGivesBool = requires {
  requires !std::is_convertible_v<typename ElementCallResult<Call>::type, const char*>;
  static_cast<bool>(std::declval<typename ElementCallResult<Call>::type>());
};

}  // namespace infeed::detail
