#pragma once

#include <infeed/pipeline/detail/inner_dataset.h>

namespace infeed {

struct FlatMapOptions {
  /// By default a shuffle with a fixed seed (and a map with an Rng) inside the inner datasets gives
  /// each of them the same order (numbers), in every epoch, as in TensorFlow. If true, they draw by
  /// the position of the outer element and by the epoch.
  bool seed_by_position = false;
};

/// Why: this makes a dataset of each element and gives them one behind the other.
///
///     files | infeed::flat_map([](const std::string& file) { return read_lines(file); })
///
/// Stages of the inner datasets that nobody gave a seed draw by the position of the outer element,
/// the epoch and a seed that the checkpoint carries once one of them has drawn, so they go on as
/// they were in another process.
///
/// It is strictly sequential: the next inner dataset is opened when the one before has ended; for
/// several at once see interleave. An outer element that failed, an exception of the function and
/// one while the inner dataset is opened each become one element's error (a file that is missing,
/// among many). What a running inner stage throws is terminal, and so is memory that is refused
/// while one is opened.
template <class F>
auto flat_map(F function, FlatMapOptions options = {});

// Only the library reads what follows.
namespace detail {

NodePointer make_flat_map(InnerDatasets inner, const TypeInfo& out_type, NodePointer input);

template <class F>
struct FlatMapStageFactory {
  F function;
  FlatMapOptions options;

  template <class T>
  auto operator()(const Dataset<T>& input) const {
    static_assert(kCallable<F, T&&>,
                  "infeed::flat_map: the function must be callable as const, with the element "
                  "(const T& or T)");
    if constexpr (kCallable<F, T&&>) {
      using Inner = InnerDataset<T, F>;
      static_assert(kIsDataset<Inner>,
                    "infeed::flat_map: the function must return an infeed::Dataset");
      return Inner(make_flat_map(inner_datasets<T>(function, options.seed_by_position),
                                 type_info<typename Inner::element_type>(), input.node()));
    }
  }
};

}  // namespace detail

template <class F>
auto flat_map(F function, FlatMapOptions options) {
  return detail::FlatMapStageFactory<F>{std::move(function), options};
}

}  // namespace infeed
