#pragma once

#include <memory>
#include <type_traits>
#include <utility>

#include <infeed/pipeline/detail/elementwise.h>

/// The shared part of flat_map and interleave: a user's function that makes a dataset of each
/// element. Not for direct use: see the stages' own headers.
namespace infeed::detail {

struct InnerDatasets {
  /// Calls the function with the element, which is left moved-from. Throws the function's
  /// exceptions.
  NodePointer (*make)(const void* function, void* element) = nullptr;
  std::shared_ptr<const void> function = nullptr;
  bool seed_by_position = false;
};

template <class T, class F>
NodePointer make_inner_node(const void* function, void* element) {
  return ElementCall<F, T&&>::call(*static_cast<const F*>(function),
                                   std::move(*static_cast<T*>(element)))
      .node();
}

template <class T, class F>
InnerDatasets inner_datasets(std::shared_ptr<const F> function, bool seed_by_position) {
  return {.make = &make_inner_node<T, F>,
          .function = std::move(function),
          .seed_by_position = seed_by_position};
}

/// The dataset that F makes of a T; void if F can't be called with it.
template <class T, class F>
using InnerDataset = typename ElementCallResult<ElementCall<F, T&&>>::type;

}  // namespace infeed::detail
