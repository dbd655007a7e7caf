#pragma once

#include <infeed/pipeline/detail/inner_dataset.h>

namespace infeed {

struct FlatMapOptions {
  /// By default a shuffle with a fixed seed (and a map with an Rng) inside the inner datasets gives
  /// each of them the same order (numbers), in every epoch, as in TensorFlow. If true, they draw by
  /// the position of the outer element and by the epoch.
  bool seed_by_position = false;
  StageName name = {};  ///< as in StageOptions
};

/// Why: this makes a dataset of each element and gives them one behind the other.
///
///     files | infeed::flat_map([](const std::string& file) { return read_lines(file); })
///
/// The members of a pair or tuple may be arguments of their own, as in map.
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
  using ComposesAsStage = void;
  std::shared_ptr<const F> function;
  FlatMapOptions options;

  template <class Element>
  auto operator()(const Dataset<Element>& input) const {
    using Call = ElementCall<F, Element&&>;
    using Inner = InnerDataset<Element, F>;
    static_assert(!Call::needs_mutable(),
                  "infeed::flat_map: the function changes itself (a mutable lambda), but threads "
                  "share it: leave out `mutable`");
    static_assert(Call::kPossible || Call::needs_mutable(),
                  "infeed::flat_map: the function can't be called with the dataset's Element: it "
                  "takes const Element&, Element or the members of a pair or tuple");
    static_assert(!Call::kPossible || kIsDataset<Inner>,
                  "infeed::flat_map: the function must return an infeed::Dataset, such as "
                  "infeed::slices(values) of a std::vector");
    if constexpr (kIsDataset<Inner>) {
      return Inner(make_flat_map(inner_datasets<Element>(function, options.seed_by_position),
                                 type_info<typename Inner::element_type>(), input.node()));
    } else {
      return refused();
    }
  }
};

}  // namespace detail

template <class F>
auto flat_map(F function, FlatMapOptions options) {
  return named_stage(options.name, detail::FlatMapStageFactory<F>{
                                       std::make_shared<const F>(std::move(function)), options});
}

}  // namespace infeed
