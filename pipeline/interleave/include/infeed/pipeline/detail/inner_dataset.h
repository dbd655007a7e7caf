#pragma once

#include <memory>
#include <type_traits>
#include <utility>

#include <infeed/pipeline/detail/elementwise.h>

/// What flat_map and interleave share: a user's function that makes a dataset of each element. Not
/// meant to be used directly: see the stages' own headers.
namespace infeed::detail {

struct InnerDatasets {
  /// Calls the function with the element, which is left moved-from. Throws what the function does.
  NodePointer (*make)(const void* function, void* element) = nullptr;
  std::shared_ptr<const void> function = nullptr;
  bool seed_by_position = false;
};

template <class T, class F>
NodePointer make_inner_node(const void* function, void* element) {
  return (*static_cast<const F*>(function))(std::move(*static_cast<T*>(element))).node();
}

template <class T, class F>
InnerDatasets inner_datasets(const F& function, bool seed_by_position) {
  return {.make = &make_inner_node<T, F>,
          .function = share_function(function),
          .seed_by_position = seed_by_position};
}

/// The dataset that F makes of a T.
template <class T, class F>
using InnerDataset = std::remove_cvref_t<std::invoke_result_t<const F&, T&&>>;

}  // namespace infeed::detail
