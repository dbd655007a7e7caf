#pragma once

#include <cstdint>

#include <infeed/pipeline/detail/inner_dataset.h>

namespace infeed {

struct InterleaveOptions {
  /// Number of inner datasets that are read side by side. The order depends on it, so the default
  /// doesn't depend on the machine.
  Count cycle_length = 16;
  /// Number of elements taken from one inner dataset before the next one's turn.
  Count block_length = 1;
  /// Number of threads that open and read inner datasets ahead, at most cycle_length. With 1 the
  /// pulling thread does everything. autotune takes twice the executor's threads (reading is mostly
  /// waiting), at most cycle_length.
  Count parallelism = 1;
  /// If true, elements come in the same order with and without parallelism. If false, they come as
  /// they are ready: that hides a slow file, but can't be repeated or resumed exactly.
  bool ordered = true;
  /// Means the same as FlatMapOptions::seed_by_position.
  bool seed_by_position = false;
  StageName name = {};  ///< as in StageOptions
};

/// Reads several files at once and mixes them.
///
///     files | infeed::interleave([](const std::string& file) { return infeed::records(file); },
///                                {.cycle_length = 16, .parallelism = infeed::autotune})
///
/// The order is tf.data's: a ring of cycle_length slots, which are visited in turn for block_length
/// elements each. When an inner dataset ends, its slot empties and the turn passes on. The next
/// inner dataset is opened when the slot is visited again.
///
///     infeed::range(1, 4) | infeed::interleave(
///                               [](std::int64_t x) { return infeed::slices({x, x, x}); },
///                               {.cycle_length = 2})  // 1 2 1 2 1 2 3 3 3
///
/// Errors: an error inside an inner dataset counts as an element of its block. A failed outer
/// element, an exception of the function, and an exception of opening the inner dataset each take
/// one place. The slot then goes on with the next outer element at once. An exception of a running
/// inner stage is terminal when its turn comes, and so is memory that is refused during opening.
/// The order after an error is the same with and without parallelism.
///
/// Unseeded inner stages draw as in flat_map.
///
/// With parallelism, the stage's own threads (and one more for the outer elements) read
/// cycle_length inner datasets, and as many following ones as there are threads. They read 128 KiB
/// or two elements ahead of each, so neither a slow file nor opening the next one causes a wait.
/// Within the iterator's memory limit they read less far ahead.
template <class F>
auto interleave(F function, InterleaveOptions options = {});

// Only the library reads what follows.
namespace detail {

struct InterleaveSpec {
  InnerDatasets inner;
  std::uint64_t cycle_length = 0;
  std::uint64_t block_length = 0;
  int parallelism = 1;
  bool ordered = true;
};

/// Checks the options.
InterleaveSpec interleave_spec(const InterleaveOptions& options, InnerDatasets inner);
NodePointer make_interleave(InterleaveSpec spec, const TypeInfo& out_type, NodePointer input);

template <class F>
struct InterleaveStageFactory {
  using ComposesAsStage = void;
  std::shared_ptr<const F> function;
  InterleaveOptions options;

  template <class Element>
  auto operator()(const Dataset<Element>& input) const {
    using Call = ElementCall<F, Element&&>;
    using Inner = InnerDataset<Element, F>;
    static_assert(!Call::needs_mutable(),
                  "infeed::interleave: the function changes itself (a mutable lambda), but threads "
                  "share it: leave out `mutable`");
    static_assert(Call::kPossible || Call::needs_mutable(),
                  "infeed::interleave: the function can't be called with the dataset's Element: it "
                  "takes const Element&, Element or the members of a pair or tuple");
    static_assert(!Call::kPossible || kIsDataset<Inner>,
                  "infeed::interleave: the function must return an infeed::Dataset, such as "
                  "infeed::slices(values) of a std::vector");
    if constexpr (kIsDataset<Inner>) {
      InterleaveSpec spec =
          interleave_spec(options, inner_datasets<Element>(function, options.seed_by_position));
      return Inner(make_interleave(std::move(spec), type_info<typename Inner::element_type>(),
                                   input.node()));
    } else {
      return refused();
    }
  }
};

}  // namespace detail

template <class F>
auto interleave(F function, InterleaveOptions options) {
  return named_stage(options.name, detail::InterleaveStageFactory<F>{
                                       std::make_shared<const F>(std::move(function)), options});
}

}  // namespace infeed
