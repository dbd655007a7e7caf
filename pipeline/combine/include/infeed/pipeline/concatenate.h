#pragma once

#include <utility>

#include <infeed/pipeline/dataset.h>

namespace infeed {

/// Why: this puts one dataset behind the other.
///
///     clean | infeed::concatenate(noisy)
///
/// The second one is opened when the first has ended; what it throws while it is opened becomes one
/// error element.
template <class T>
auto concatenate(Dataset<T> second);

// Only the library reads what follows.
namespace detail {

NodePointer make_concatenate(NodePointer first, NodePointer second);

template <class T>
struct ConcatenateStageFactory {
  Dataset<T> second;

  Dataset<T> operator()(const Dataset<T>& first) const {
    return Dataset<T>(make_concatenate(first.node(), second.node()));
  }
};

}  // namespace detail

template <class T>
auto concatenate(Dataset<T> second) {
  return detail::ConcatenateStageFactory<T>{std::move(second)};
}

}  // namespace infeed
