#pragma once

#include <type_traits>
#include <utility>

#include <infeed/pipeline/dataset.h>

namespace infeed {

/// Appends one dataset to another.
///
///     clean | infeed::concatenate(noisy)
///
/// The second dataset is opened when the first has ended. If opening it throws, the exception
/// becomes one error element.
template <class T>
auto concatenate(Dataset<T> second, StageOptions options = {});

// Only the library reads what follows.
namespace detail {

NodePointer make_concatenate(NodePointer first, NodePointer second);

template <class T>
struct ConcatenateStageFactory {
  using ComposesAsStage = void;
  Dataset<T> second;

  template <class Element>
  Dataset<Element> operator()(const Dataset<Element>& first) const {
    static_assert(std::is_same_v<Element, T>,
                  "infeed::concatenate: the Element of the first dataset is not the T of the "
                  "second: infeed::map one of them to the other's type");
    return Dataset<Element>(make_concatenate(first.node(), second.node()));
  }
};

}  // namespace detail

template <class T>
auto concatenate(Dataset<T> second, StageOptions options) {
  return named_stage(options.name, detail::ConcatenateStageFactory<T>{std::move(second)});
}

}  // namespace infeed
