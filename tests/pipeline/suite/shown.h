#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include <infeed/pipeline/dataset.h>

#include "pipeline/suite/elements.h"

/// Iterators and datasets of any type, whose elements the checks see as texts. So the checks are
/// compiled once; only what stands here is compiled for each type.
namespace infeed::test {

/// Gives an iterator's elements as texts.
class ShownIterator {
 public:
  ShownIterator() = default;
  virtual ~ShownIterator() = default;
  ShownIterator(const ShownIterator&) = delete;
  ShownIterator& operator=(const ShownIterator&) = delete;

  /// Returns the next element; empty at the end. Throws the error that takes the element's place.
  virtual std::optional<std::string> next() = 0;

  // The rest is as in Iterator:
  NextResult<std::string> next_for(std::chrono::microseconds time) {
    if (!core().is_ready(std::chrono::steady_clock::now() + time, {})) return {};
    return NextResult<std::string>(next());
  }
  /// Takes the next element as a consumer that looks at something else meanwhile, as Python does.
  std::optional<std::string> next_looking(const std::function<void()>& look) {
    const detail::WaitCheck check{
        .every = std::chrono::microseconds(50), .look = look, .may_work = true};
    return core().refill(&check) ? next() : std::nullopt;
  }
  std::uint64_t position() const { return core().position(); }
  Checkpoint checkpoint() const { return core().checkpoint(); }
  PipelineStatistics statistics() const { return core().statistics(); }
  const MemoryAccount& memory() const { return core().memory(); }
  void cancel() { core().cancel(); }

 private:
  virtual detail::IteratorCore& core() const = 0;
};

/// AnIterator: Iterator<T>, or a reference to one that lives longer.
template <class AnIterator>
class ShownIteratorOf final : public ShownIterator {
 public:
  explicit ShownIteratorOf(AnIterator&& iterator) : iterator_(std::forward<AnIterator>(iterator)) {}

  std::optional<std::string> next() override {
    const auto element = iterator_.next();
    if (!element) return std::nullopt;
    return show(*element);
  }

 private:
  detail::IteratorCore& core() const override { return iterator_.core_for_timer(); }

  AnIterator iterator_;
};

/// Takes an iterator over.
template <class T>
std::unique_ptr<ShownIterator> shown(Iterator<T> iterator) {
  return std::unique_ptr<ShownIterator>(new ShownIteratorOf<Iterator<T>>(std::move(iterator)));
}

/// A dataset of any type. Copies share it, and so the count of its iterations.
class ShownDataset {
 public:
  template <class T>
  ShownDataset(const Dataset<T>& dataset)
      : ShownDataset(dataset.node(), std::unique_ptr<const Typed>(new TypedAs<T>(dataset))) {}

  const NodePointer& node() const { return node_; }
  std::unique_ptr<ShownIterator> iterate(IterateOptions options) const {
    return typed_->iterate(std::move(options));
  }
  /// Returns another dataset with elements of this type.
  ShownDataset with(NodePointer node) const { return typed_->with(std::move(node)); }

 private:
  class Typed {
   public:
    Typed() = default;
    virtual ~Typed() = default;
    Typed(const Typed&) = delete;
    Typed& operator=(const Typed&) = delete;
    virtual std::unique_ptr<ShownIterator> iterate(IterateOptions options) const = 0;
    virtual ShownDataset with(NodePointer node) const = 0;
  };

  template <class T>
  class TypedAs final : public Typed {
   public:
    explicit TypedAs(const Dataset<T>& dataset) : dataset_(dataset) {}
    std::unique_ptr<ShownIterator> iterate(IterateOptions options) const override {
      return shown(dataset_.iterate(std::move(options)));
    }
    ShownDataset with(NodePointer node) const override { return Dataset<T>(std::move(node)); }

   private:
    const Dataset<T> dataset_;
  };

  ShownDataset(NodePointer node, std::unique_ptr<const Typed> typed)
      : node_(std::move(node)), typed_(std::move(typed)) {}

  NodePointer node_;
  std::shared_ptr<const Typed> typed_;
};

}  // namespace infeed::test
