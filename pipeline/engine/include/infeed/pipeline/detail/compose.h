#pragma once

#include <type_traits>
#include <utility>

/// How stages are put behind datasets and behind one another, and what the compiler is left with
/// when they don't fit. Not meant to be used directly: see dataset.h.
namespace infeed {

template <class T>
class Dataset;

template <class T>
inline constexpr bool kIsDataset = false;
template <class T>
inline constexpr bool kIsDataset<Dataset<T>> = true;

namespace detail {

/// The element of what a static_assert has refused. It goes through all further stages and is
/// anything that is asked for, so that the compiler says one sentence and not ten that follow.
struct Refused {
  template <class T>
  operator T() const;
};
template <class T = Refused, class... Dependent>
Dataset<T> refused();  // never called: the program that would call it doesn't compile

/// A dataset, or what derives from one.
template <class T>
concept DatasetLike = requires(const std::remove_cvref_t<T>& value) {
  []<class Element>(const Dataset<Element>&) {}(value);
};

/// What the library's functions return: it composes by | with other stages, and with functions of
/// a dataset that a user writes. Such a class says `using ComposesAsStage = void`.
template <class T>
concept LibraryStage = requires {
  typename std::remove_cvref_t<T>::ComposesAsStage;
};

struct AnyCallOperator {
  void operator()() const;
};
template <class T>
struct WithCallOperator : T, AnyCallOperator {};

/// Whether T has a call operator, a template too: then the name is ambiguous beside another one.
template <class T>
constexpr bool has_call_operator() {
  if constexpr (std::is_final_v<T>) {
    return true;
  } else {
    return !requires { &WithCallOperator<T>::operator(); };
  }
}

/// Whether it can be a function of a dataset. It is not called to find out: what doesn't compile in
/// it would be told in the wrong place.
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

/// A stage that gives elements of the type that it is given: untyped_stage() in dataset.h.
template <class Apply>
struct UntypedStage {
  using ComposesAsStage = void;
  Apply apply;  ///< makes the node of the input's

  template <class Element>
  Dataset<Element> operator()(const Dataset<Element>& input) const {
    return Dataset<Element>(apply(input.node()));
  }
};

}  // namespace detail
}  // namespace infeed
