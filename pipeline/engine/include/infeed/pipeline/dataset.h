#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

#include <infeed/pipeline/detail/compose.h>
#include <infeed/pipeline/iterator.h>
#include <infeed/pipeline/stage.h>

/// Why: a Dataset<T> is the typed face of a pipeline. It is an immutable description of where
/// elements come from and what happens to them. Nothing runs until iterate().
///
///     auto squares = infeed::range(10) | infeed::map([](std::int64_t x) { return x * x; })
///                                      | infeed::batch(4);
///     for (const auto& batch : squares.iterate()) use(batch);
///     const std::int64_t total = infeed::range(10).reduce(std::int64_t{0}, std::plus<>());
///
/// Ownership: a Dataset is cheap to copy; copies share the description. Thread-safety: any thread
/// may use it; each iterator belongs to one thread.
namespace infeed {

/// An element, and the records that it was made of.
template <class T>
struct TracedElement {
  T element;
  std::vector<TracedPlace> rows;  ///< one for each row that a batch may have; else one
};

template <class T>
class Dataset {
  static_assert(std::is_object_v<T> && !std::is_const_v<T>,
                "infeed: elements are values: no references, no const");

 public:
  using element_type = T;

  /// Makes an empty Dataset, to be assigned to.
  Dataset() = default;
  /// Throws Error(invalid_argument) if the node's elements have another type.
  explicit Dataset(NodePointer node)
      : node_(detail::of_type(std::move(node), type_info<T>())),
        iterations_(std::make_shared<std::atomic<std::uint64_t>>(0)) {}

  /// Starts an iteration. The k-th iteration of a dataset draws its shuffles from epoch k, as in
  /// tf.data.
  Iterator<T> iterate(IterateOptions options = {}) const {
    detail::check_described(node_.get());
    if (!options.epoch) options.epoch = detail::next_epoch(*iterations_, options);
    return Iterator<T>(node_, std::move(options));
  }

  /// Returns the element that a run has given at a step (its position, from 0), and where each row
  /// came from: the batch in which a loss rose. Give it the run's last checkpoint before the step
  /// as `resume`: it has the run's seeds, epoch and bookmarks. Then it costs what a resume there
  /// and the steps behind it cost; without one all elements before the step are looked at.
  ///
  ///     const auto found = dataset.at(8'412, {.resume = checkpoint});
  ///     for (const infeed::TracedPlace& row : found.rows) {
  ///       if (row.place) std::printf("%s %lu\n", row.place->file.c_str(), row.place->record);
  ///     }
  ///
  /// Throws the error that the step gave. Throws failed_precondition if there is no such step, or
  /// if a stage has drawn its seed itself and there is no checkpoint to take it from.
  TracedElement<T> at(std::uint64_t step, IterateOptions options = {}) const {
    const bool is_resumed = options.resume.has_value();
    Iterator<T> iterator = iterate(detail::begin_at(*node(), step, std::move(options)));
    std::optional<T> element = iterator.next();
    detail::check_found(*node(), iterator.checkpoint(), element.has_value(), is_resumed);
    return {std::move(*element), rows_of(iterator, step)};
  }

  // Each of these functions iterates once from start to end, and throws the first error.

  /// Returns all elements. For data that fits into memory.
  std::vector<T> collect(IterateOptions options = {}) const {
    std::vector<T> all;
    for_each([&all](T&& element) { all.push_back(std::move(element)); }, std::move(options));
    return all;
  }
  /// Counts the elements by reading them. cardinality() knows the number beforehand if that is
  /// possible.
  std::uint64_t count(IterateOptions options = {}) const {
    std::uint64_t count = 0;
    Iterator<T> iterator = iterate(std::move(options));
    for (auto elements = iterator.peek(); !elements.empty(); elements = iterator.peek()) {
      count += elements.size();
      iterator.take(elements.size());
    }
    return count;
  }
  /// Returns combine(combine(initial, first), second)...
  template <class Result, class Combine>
  Result reduce(Result initial, Combine combine, IterateOptions options = {}) const {
    const auto add = [&](T&& element) {
      initial = combine(std::move(initial), std::move(element));
    };
    for_each(add, std::move(options));
    return initial;
  }
  /// Calls `use` with each element, in the calling thread.
  template <class Use>
  void for_each(Use&& use, IterateOptions options = {}) const {
    Iterator<T> iterator = iterate(std::move(options));
    while (auto element = iterator.next()) use(std::move(*element));
  }

  Cardinality cardinality() const { return node()->cardinality(); }
  const NodePointer& node() const {
    detail::check_described(node_.get());
    return node_;
  }
  /// Returns false for a default-constructed or moved-from Dataset.
  bool is_described() const { return node_ != nullptr; }

 private:
  NodePointer node_;
  std::shared_ptr<std::atomic<std::uint64_t>> iterations_;
};

/// Applies a stage. A stage is anything that makes a dataset from a dataset, also your own lambda.
///
/// Stages can be composed without a dataset and applied to several datasets later. One of the two
/// must be a stage of the library, the other one may be your own function:
///
///     auto part = [](const auto& input) { return input | infeed::take(1000); };
///     auto tail = infeed::shuffle({.buffer = 1000}) | part | infeed::batch(32);
///     auto training = images | tail | infeed::prefetch();
///     auto more = images | infeed::take(100) | tail;
template <class T, class Stage>
auto operator|(Dataset<T> dataset, Stage&& stage) {
  if constexpr (std::is_same_v<T, detail::Refused>) {
    return dataset;
  } else if constexpr (detail::LibraryStage<Stage>) {
    return stage(dataset);  // its own message says what doesn't fit
  } else if constexpr (std::is_invocable_v<Stage, Dataset<T>>) {
    return std::forward<Stage>(stage)(std::move(dataset));
  } else {
    static_assert(std::is_invocable_v<Stage, Dataset<T>>,
                  "infeed: what stands behind `dataset |` can't be called with the dataset: give "
                  "a stage (for a function of the elements infeed::map(function)), or a function "
                  "of the whole dataset");
    return detail::refused();
  }
}

/// Makes a stage whose output has the type of its input, for any type. `make_node` makes the
/// stage's node from the options and the input's node.
///
///     infeed::NodePointer make_every_nth(std::uint64_t n, infeed::NodePointer input);
///     inline auto every_nth(std::uint64_t n) { return infeed::untyped_stage(make_every_nth, n); }
template <class MakeNode, class... Options>
auto untyped_stage(MakeNode make_node, Options... options) {
  const auto apply = [=](const NodePointer& input) { return make_node(options..., input); };
  return detail::UntypedStage<std::remove_const_t<decltype(apply)>>{apply};
}

namespace detail {

template <class Stage>
struct NamedStage {
  using ComposesAsStage = void;
  StageName name;
  Stage stage;

  template <class T>
  auto operator()(const Dataset<T>& input) const {
    auto output = stage(input);
    using Output = decltype(output);
    // Otherwise a static_assert of the stage has said what is wrong.
    if constexpr (kIsDataset<Output> && !std::is_same_v<Output, Dataset<Refused>>) {
      return Output(named(output.node(), name));
    } else {
      return refused();
    }
  }
};

}  // namespace detail

/// Returns the same stage with a name for its node (StageName). All factories of this library end
/// with it.
template <class Stage>
auto named_stage(StageName name, Stage stage) {
  return detail::NamedStage<Stage>{std::move(name), std::move(stage)};
}

}  // namespace infeed
