#pragma once

#include <type_traits>
#include <utility>

/// Composes stages by | with datasets and with one another, and makes the compiler say clearly when
/// they don't fit. Not meant to be used directly: see dataset.h.
namespace infeed {

template <class T>
class Dataset;

template <class T>
inline constexpr bool kIsDataset = false;
template <class T>
inline constexpr bool kIsDataset<Dataset<T>> = true;

namespace detail {

/// The element of a dataset that a static_assert has refused. It passes all further stages and
/// converts to any type, so that the compiler prints one error, without ten that follow from it.
struct Refused {
  template <class T>
  operator T() const;
};
template <class T = Refused, class... Dependent>
Dataset<T> refused();  // never called: the program that would call it doesn't compile

/// A dataset, or a class that derives from one.
template <class T>
concept DatasetLike = requires(const std::remove_cvref_t<T>& value) {
  []<class Element>(const Dataset<Element>&) {}(value);
};

/// A stage that a function of the library returns. It composes by | with other stages, and with a
/// user's functions of a dataset. Such a class says `using ComposesAsStage = void`.
template <class T>
concept LibraryStage = requires {
  typename std::remove_cvref_t<T>::ComposesAsStage;
};

struct AnyCallOperator {
  void operator()() const;
};
template <class T>
struct WithCallOperator : T, AnyCallOperator {};

/// Returns true if T has a call operator, even if that is a template. Its name is then ambiguous
/// beside that of AnyCallOperator.
template <class T>
constexpr bool has_call_operator() {
  if constexpr (std::is_final_v<T>) {
    return true;
  } else {
    return !requires { &WithCallOperator<T>::operator(); };
  }
}

/// Returns true if T can be a function of a dataset. This is found out without calling it, since
/// its compile errors would then be reported in the wrong place.
template <class T>
constexpr bool may_be_stage() {
  using Value = std::decay_t<T>;
  if constexpr (LibraryStage<Value> || std::is_function_v<std::remove_pointer_t<Value>>) {
    return true;
  } else if constexpr (std::is_class_v<Value> && !DatasetLike<Value>) {
    return has_call_operator<Value>();
  } else {
    return false;
  }
}

template <class First, class Second>
struct ComposedStages {
  using ComposesAsStage = void;
  First first;
  Second second;

  template <class Element>
  auto operator()(const Dataset<Element>& input) const {
    return input | first | second;
  }
};

template <class First, class Second>
requires((LibraryStage<First> || LibraryStage<Second>)&&!DatasetLike<First>)  //
    auto
    operator|(First&& first, Second&& second) {
  constexpr bool kFirst = may_be_stage<First>();
  constexpr bool kSecond = may_be_stage<Second>();
  static_assert(kFirst,
                "infeed: what stands before `| stage` is no infeed::Dataset and no stage: make a "
                "dataset first, by infeed::slices(values) of a std::vector, infeed::records(files) "
                "of files, infeed::generate(function) of anything else");
  static_assert(kSecond || !kFirst,
                "infeed: what stands behind `stage |` is no stage: give one (infeed::map(...), "
                "infeed::batch(...)), or a function of the whole dataset");
  if constexpr (kFirst && kSecond) {
    return ComposedStages<std::decay_t<First>, std::decay_t<Second>>{std::forward<First>(first),
                                                                     std::forward<Second>(second)};
  } else {
    return refused<Refused, First>();  // depends on First: Dataset is defined later
  }
}

/// A stage that gives elements of its input's type: untyped_stage() in dataset.h.
template <class Apply>
struct UntypedStage {
  using ComposesAsStage = void;
  Apply apply;  ///< makes the stage's node from the input's

  template <class Element>
  Dataset<Element> operator()(const Dataset<Element>& input) const {
    return Dataset<Element>(apply(input.node()));
  }
};

}  // namespace detail
}  // namespace infeed
