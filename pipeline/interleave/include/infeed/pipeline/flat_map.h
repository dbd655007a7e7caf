#pragma once

#include <infeed/pipeline/detail/inner_dataset.h>

namespace infeed {

struct FlatMapOptions {
  /// By default a shuffle with a fixed seed inside the inner datasets gives each of them the same
  /// order, in every epoch, as in TensorFlow. A map with an Rng gives each of them the same
  /// numbers. If true, they draw by the position of the outer element and by the epoch.
  bool seed_by_position = false;
  StageName name = {};  ///< as in StageOptions
};

/// Makes a dataset of each element and gives these datasets' elements, one dataset after the other.
///
///     files | infeed::flat_map([](const std::string& file) { return read_lines(file); })
///
/// The members of a pair or tuple may be separate arguments, as in map.
///
/// Unseeded stages of the inner datasets draw by the position of the outer element, the epoch and a
/// seed. The checkpoint carries that seed once one of them has drawn, so they go on the same way in
/// another process.
///
/// It is strictly sequential: the next inner dataset is opened when the one before has ended. For
/// several at once use interleave. A failed outer element, an exception of the function, and an
/// exception of opening the inner dataset each become one element's error (one missing file among
/// many). An exception of a running inner stage is terminal, and so is memory that is refused
/// during opening.
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
