#include "infeed/pipeline/prefetch.h"

#include <algorithm>
#include <fmt/format.h>

#include "engine/threads/chunk_queue.h"
#include "engine/threads/driver.h"
#include "engine/threads/thread_budget.h"

namespace infeed::detail {
namespace {

constexpr std::uint64_t kBytesReady = 32 * 1024;

class PrefetchStage final : public Stage {
 public:
  PrefetchStage(const StageContext& context, const QueueLimits& limits, ThreadShare thread,
                std::unique_ptr<Stage> input)
      : Stage(context),
        thread_(std::move(thread)),
        input_(std::move(input)),
        front_(type()),
        queue_(run(), counters(), type(), limits),
        waker_(run(), [this] { queue_.stop(); }),
        driver_(run(), "prefetch", *input_, type(), queue_) {
    counters().has_threads = true;
  }

  Pull do_pull(Chunk& out, std::size_t want) override {
    driver_.start();
    if (front_.empty()) {
      const Pull popped = queue_.pop(front_);
      if (popped != Pull::values) return popped;
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
    return driver_.started() ? Stage::do_skip(count, known) : input_->skip(count, known);
  }

 private:
  const ThreadShare thread_;
  const std::unique_ptr<Stage> input_;
  Chunk front_;  ///< what was popped and not yet handed over
  ChunkQueue queue_;
  CancellationWaker waker_;
  Driver driver_;
};

/// Without a thread of its own: a stage all the same, so that the statistics show it.
class PassThroughStage final : public Stage {
 public:
  PassThroughStage(const StageContext& context, std::unique_ptr<Stage> input)
      : Stage(context), input_(std::move(input)) {}

 protected:
  Pull do_pull(Chunk& out, std::size_t want) override { return input_->pull(out, want); }
  std::uint64_t do_skip(std::uint64_t count, Known known) override {
    return input_->skip(count, known);
  }

 private:
  const std::unique_ptr<Stage> input_;
};

class PrefetchNode final : public Node {
 public:
  PrefetchNode(const QueueLimits& limits, NodePointer input)
      : Node("prefetch", input->type(), {input}), limits_(limits) {}

  std::string signature() const override { return {}; }
  Cardinality cardinality() const override { return input().cardinality(); }
  std::uint64_t element_bytes_min() const override { return input().element_bytes_min(); }

 protected:
  std::unique_ptr<Stage> make_stage(const StageContext& context) const override {
    std::unique_ptr<Stage> below = input().open(context);
    const bool serial = context.run.is_inline() || limits_.elements_max == 0 ||
                        (limits_.adaptive && below->runs_ahead());
    ThreadShare thread(context.run.threads(), !serial);
    if (thread.count() == 0) return std::make_unique<PassThroughStage>(context, std::move(below));
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
  const QueueLimits limits{.elements_max = adaptive ? 2 : static_cast<std::uint64_t>(depth),
                           .bytes_max = kBytesReady,
                           .adaptive = adaptive};
  return std::make_shared<PrefetchNode>(limits, std::move(input));
}

}  // namespace infeed::detail
