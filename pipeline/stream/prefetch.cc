#include "infeed/pipeline/prefetch.h"

#include <algorithm>
#include <fmt/format.h>

#include "engine/iterator_context.h"
#include "engine/threads/thread_budget.h"
#include "engine/work/chunk_queue.h"
#include "engine/work/keeps_ready.h"

namespace infeed::detail {
namespace {

constexpr std::uint64_t kDepthMin = 2;

/// One thread or, with depth autotune, perhaps none.
KnobSpec driver_knob(const QueueLimits& limits) {
  return {.shape = KnobShape::driver, .value = 1, .min = limits.adaptive ? 0 : 1, .max = 1};
}

KnobSpec depth_knob(const QueueLimits& limits) {
  const auto depth = static_cast<std::int64_t>(limits.elements_max);
  const bool adaptive = limits.adaptive;
  return {.kind = KnobKind::depth,
          .shape = KnobShape::driver,
          .value = depth,
          .min = depth,
          .max = adaptive ? static_cast<std::int64_t>(QueueLimits::kAdaptiveDepthMax) : depth};
}

class PrefetchStage final : public PassThroughStage, public KeepsReady {
 public:
  PrefetchStage(const StageContext& context, const QueueLimits& limits, ThreadShare thread,
                std::unique_ptr<Stage> input)
      : PassThroughStage(context, std::move(input)),
        thread_(std::move(thread)),
        front_(type()),
        queue_(run(), counters(), "prefetch", this->input(), type(), limits),
        waker_(run(), [this] { queue_.stop(); }),
        driver_knob_(run().knobs(), counters(), driver_knob(limits),
                     [this](std::int64_t threads) { set_serial(threads == 0); }),
        depth_knob_(run().knobs(), counters(), depth_knob(limits), [this](std::int64_t depth) {
          queue_.set_depth(static_cast<std::uint64_t>(depth));
        }) {
    counters().has_threads = true;
    if (!limits.adaptive) return;
    set_serial(driver_knob_.value() == 0);
    queue_.set_depth(static_cast<std::uint64_t>(depth_knob_.value()));
    queue_.set_depth_knob(depth_knob_);
  }

  bool return_after(std::chrono::nanoseconds wait_max) override {
    queue_.return_after(wait_max);
    return true;
  }

  Pull do_pull(Chunk& out, std::size_t want) override {
    has_begun_ = true;
    if (front_.empty()) {
      const Pull popped = queue_.pop(front_);
      if (popped != Pull::values) return popped;
      if (front_.empty()) return queue_.has_input() ? queue_.pull_here(out, want) : Pull::values;
    }
    if (front_.slots() <= want && front_.capacity() == out.capacity()) {
      out.swap(front_);
      return Pull::values;
    }
    if (out.append_from(front_, want) == want) return Pull::values;
    if (front_.size() == 0 && front_.has_error()) out.set_error(front_.take_error());
    return Pull::values;
  }

 protected:
  std::uint64_t do_skip(std::uint64_t count, Known known) override {
    return has_begun_ ? Stage::do_skip(count, known) : input().skip(count, known);
  }

 private:
  void set_serial(bool serial) {
    queue_.set_serial(serial);
    counters().parallelism.store(serial ? 0 : 1, std::memory_order_relaxed);
  }

  const ThreadShare thread_;
  Chunk front_;  ///< popped, not yet handed over
  ChunkQueue queue_;
  CancellationWaker waker_;
  bool has_begun_ = false;
  Knob driver_knob_;
  Knob depth_knob_;
};

/// Stands in the place of a queue behind a stage that keeps its elements ready itself. It is still a
/// stage, so that the statistics show it.
class WithoutQueue final : public PassThroughStage, public KeepsReady {
 public:
  WithoutQueue(const StageContext& context, std::unique_ptr<Stage> input)
      : PassThroughStage(context, std::move(input)),
        ready_(dynamic_cast<KeepsReady*>(&this->input())) {}

  bool return_after(std::chrono::nanoseconds wait_max) override {
    return ready_ != nullptr && ready_->return_after(wait_max);
  }

 private:
  KeepsReady* const ready_;
};

class PrefetchNode final : public Node {
 public:
  PrefetchNode(const QueueLimits& limits, NodePointer input)
      : Node("prefetch", input->type(), {input}), limits_(limits) {}

  std::string signature() const override { return {}; }
  Cardinality cardinality() const override { return input().cardinality(); }
  StreamPlace input_resumed(std::size_t, const ResumedStage& stage) const override {
    return stage.place;
  }
  std::optional<std::uint64_t> input_taken(std::uint64_t given) const override { return given; }
  std::uint64_t element_bytes_min() const override { return input().element_bytes_min(); }

 protected:
  std::unique_ptr<Stage> make_stage(const StageContext& context) const override {
    std::unique_ptr<Stage> below = input().open(context);
    const bool serial = context.run.is_inline() || limits_.elements_max == 0 ||
                        (limits_.adaptive && below->runs_ahead());
    ThreadShare thread(context.run.threads(), !serial);
    if (thread.count() == 0) return std::make_unique<WithoutQueue>(context, std::move(below));
    return std::make_unique<PrefetchStage>(context, limits_, std::move(thread), std::move(below));
  }

 private:
  const QueueLimits limits_;
};

}  // namespace

NodePointer make_prefetch(std::int64_t depth, NodePointer input) {
  if (depth < 0 && depth != autotune) {
    throw Error(
        ErrorCode::invalid_argument,
        fmt::format("prefetch: depth is {}; give 0 (none) or more, or infeed::autotune", depth));
  }
  const bool adaptive = depth == autotune;
  QueueLimits limits = QueueLimits::of_depth(kDepthMin, adaptive);
  if (!adaptive) limits.elements_max = static_cast<std::uint64_t>(depth);
  return std::make_shared<PrefetchNode>(limits, std::move(input));
}

}  // namespace infeed::detail
