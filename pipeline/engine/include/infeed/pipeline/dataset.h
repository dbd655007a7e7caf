#pragma once

#include <atomic>
#include <memory>
#include <type_traits>
#include <utility>

#include <infeed/pipeline/iterator.h>
#include <infeed/pipeline/stage.h>

/// Why: the typed face of a pipeline. A Dataset<T> is an immutable description of where elements
/// come from and what happens to them; nothing runs until iterate().
///
///     auto squares = infeed::range(10) | infeed::map([](std::int64_t x) { return x * x; })
///                                      | infeed::batch(4);
///     for (const auto& batch : squares.iterate()) use(batch);
///
/// Ownership: cheap to copy; copies share the description. Thread-safety: any thread may use it;
/// each iterator belongs to one thread.
namespace infeed {

template <class T>
class Dataset {
  static_assert(std::is_object_v<T> && !std::is_const_v<T>,
                "infeed: elements are values: no references, no const");

 public:
  using element_type = T;

  explicit Dataset(NodePointer node)
      : node_(std::move(node)), iterations_(std::make_shared<std::atomic<std::uint64_t>>(0)) {}

  /// Starts an iteration. The k-th one of a dataset draws its shuffles from epoch k, as in tf.data.
  Iterator<T> iterate(IterateOptions options = {}) const {
    if (!options.epoch) options.epoch = detail::next_epoch(*iterations_, options);
    return Iterator<T>(node_, std::move(options));
  }

  Cardinality cardinality() const { return node_->cardinality(); }
  const NodePointer& node() const { return node_; }

 private:
  NodePointer node_;
  std::shared_ptr<std::atomic<std::uint64_t>> iterations_;
};

template <class T>
inline constexpr bool kIsDataset = false;
template <class T>
inline constexpr bool kIsDataset<Dataset<T>> = true;

/// dataset | stage: a stage is anything that makes a dataset from a dataset, your own lambda too.
template <class T, class Stage>
requires std::is_invocable_v<Stage, Dataset<T>>
auto operator|(Dataset<T> dataset, Stage&& stage) {
  return std::forward<Stage>(stage)(std::move(dataset));
}

/// A stage that gives elements of the type that it is given, whatever that is: `make_node` makes
/// its node of the options and the input's node.
///
///     infeed::NodePointer make_every_nth(std::uint64_t n, infeed::NodePointer input);
///     inline auto every_nth(std::uint64_t n) { return infeed::untyped_stage(make_every_nth, n); }
template <class MakeNode, class... Options>
auto untyped_stage(MakeNode make_node, Options... options) {
  return [=]<class T>(const Dataset<T>& input) {
    return Dataset<T>(make_node(options..., input.node()));
  };
}

}  // namespace infeed
