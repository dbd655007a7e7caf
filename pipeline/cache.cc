#include "infeed/pipeline/cache.h"

#include <algorithm>
#include <fmt/format.h>
#include <mutex>

#include <infeed/pipeline/elementwise.h>

#include "cached_elements.h"
#include "run_context.h"

namespace infeed::detail {
namespace {

using Content = std::shared_ptr<const CachedElements>;

/// What all iterators share: the complete content, once somebody has got it.
class SharedContent {
 public:
  Content get() const {
    const std::lock_guard lock(mutex_);
    return content_;
  }
  /// The first one stays.
  void publish(Content content) {
    const std::lock_guard lock(mutex_);
    if (content_ == nullptr) content_ = std::move(content);
  }

 private:
  mutable std::mutex mutex_;
  Content content_;
};

/// Decides with its first pull or skip how to go through its pass: reading the complete content,
/// filling one, or (after a resume, or without memory) handing through what the input gives.
class MemoryCacheStage final : public Stage {
 public:
  MemoryCacheStage(const StageScope& scope, std::shared_ptr<SharedContent> shared,
                   const Node& input)
      : Stage(scope),
        input_scope_(scope),
        node_(input),
        shared_(std::move(shared)),
        memory_(run().memory(), "cache") {
    input_scope_.set_pass(0);  // the content must not depend on the pass that fills it
  }

  Pull do_pull(Chunk& out, std::size_t want) override {
    if (!begun_) begin();
    if (content_ != nullptr) {
      const std::uint64_t count = content_->read(position_, out, want);
      position_ += count;
      if (count > 0) return Pull::values;
      release();
      return Pull::end;
    }
    if (pending_error_ != nullptr) {
      out.set_error(std::exchange(pending_error_, nullptr));
      return Pull::values;
    }
    const Pull pulled = input_->pull(out, want);
    if (filling_ != nullptr && pulled == Pull::values) keep(out);
    if (pulled != Pull::end) return pulled;
    if (filling_ != nullptr) publish();
    release();
    return Pull::end;
  }

 protected:
  std::uint64_t do_skip(std::uint64_t count) override {
    if (!begun_) {
      // A resume must be quick: its pass is not kept, and what is skipped not even made.
      const bool resuming = run().assume_no_errors();
      begin(resuming ? Absent::hand_through : Absent::fill);
    }
    if (content_ != nullptr) {
      count = std::min(count, content_->slots() - position_);
      position_ += count;
      return count;
    }
    if (filling_ != nullptr || pending_error_ != nullptr) return Stage::do_skip(count);
    return input_->skip(count);
  }

 private:
  enum class Absent { fill, hand_through };

  void begin(Absent absent = Absent::fill) {
    begun_ = true;
    content_ = shared_->get();
    if (content_ != nullptr) {
      try {
        memory_.grow(content_->bytes());
        note_buffered(*content_);
        return;
      } catch (const Error& error) {
        content_ = nullptr;
        give_up(error);
      }
    } else if (absent == Absent::fill) {
      filling_ = std::make_shared<CachedElements>(type());
    }
    input_ = node_.open(input_scope_);
  }

  void keep(Chunk& out) {
    try {
      filling_->append(out, memory_);
    } catch (...) {
      give_up(*current_error());
      if (!out.has_error()) out.set_error(std::exchange(pending_error_, nullptr));
      return;
    }
    note_buffered(*filling_);
    const Cardinality known = node_.cardinality();
    if (known.is_finite() && !filling_->has_errors() && filling_->slots() == known.count()) {
      publish();
    }
  }

  void publish() { shared_->publish(std::exchange(filling_, nullptr)); }

  /// This pass needs the content no more; from now on it is the dataset's alone.
  void release() {
    memory_.shrink(memory_.bytes());
    counters().buffered_elements.store(0, std::memory_order_relaxed);
    counters().buffered_bytes.store(0, std::memory_order_relaxed);
  }

  void give_up(const Error& error) {
    filling_ = nullptr;
    release();
    pending_error_ = std::make_shared<const Error>(
        error.code(),
        fmt::format("the elements can't be kept in memory and come uncached in this pass: {}; "
                    "cache them in files with infeed::cache({{.path = ...}}), or cache less",
                    error.message()));
  }

  void note_buffered(const CachedElements& content) {
    counters().buffered_elements.store(content.slots(), std::memory_order_relaxed);
    counters().buffered_bytes.store(content.bytes(), std::memory_order_relaxed);
  }

  StageScope input_scope_;
  const Node& node_;
  const std::shared_ptr<SharedContent> shared_;
  RigidMemory memory_;
  bool begun_ = false;
  Content content_;  ///< read from
  std::uint64_t position_ = 0;
  std::shared_ptr<CachedElements> filling_;
  ErrorPointer pending_error_;
  std::unique_ptr<Stage> input_;
};

class MemoryCacheNode final : public Node {
 public:
  explicit MemoryCacheNode(NodePointer input)
      : Node("cache", input->type(), {input}), shared_(std::make_shared<SharedContent>()) {}

  Cardinality cardinality() const override { return input().cardinality(); }
  std::uint64_t buffer_bytes_min() const override {
    return input()
        .cardinality()
        .transform([this](std::uint64_t n) { return n * type().size; })
        .count();
  }

 protected:
  std::unique_ptr<Stage> make_stage(const StageScope& scope) const override {
    return std::make_unique<MemoryCacheStage>(scope, shared_, input());
  }

 private:
  const std::shared_ptr<SharedContent> shared_;
};

}  // namespace

NodePointer make_memory_cache(NodePointer input) {
  return std::make_shared<MemoryCacheNode>(std::move(input));
}

}  // namespace infeed::detail
