#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include <infeed/pipeline/dataset.h>
#include <infeed/pipeline/executor.h>
#include <infeed/pipeline/stage.h>

#include "engine/iterator_context.h"
#include "schedules/explore.h"

namespace infeed::schedules {

/// Hands on its input, and throws a terminal error behind the first elements.
class FailingStage final : public Stage {
 public:
  FailingStage(const StageContext& context, std::uint64_t fails_at, ErrorCode code,
               std::unique_ptr<Stage> input)
      : Stage(context), fails_at_(fails_at), code_(code), input_(std::move(input)) {}

 protected:
  Pull do_pull(Chunk& out, std::size_t) override {
    if (position() == fails_at_) throw Error(code_, "it fails here");
    return input_->pull(out, 1);
  }
  TracedPlace do_trace(std::uint64_t position) const override { return input_->trace(position); }

 private:
  const std::uint64_t fails_at_;
  const ErrorCode code_;
  const std::unique_ptr<Stage> input_;
};

class FailingNode final : public Node {
 public:
  FailingNode(std::uint64_t fails_at, ErrorCode code, const NodePointer& input)
      : Node("failing", input->type(), {input}), fails_at_(fails_at), code_(code) {}

 protected:
  std::unique_ptr<Stage> make_stage(const StageContext& context) const override {
    return std::make_unique<FailingStage>(context, fails_at_, code_, input().open(context));
  }

 private:
  const std::uint64_t fails_at_;
  const ErrorCode code_;
};

template <class T>
Dataset<T> failing(const Dataset<T>& dataset, std::uint64_t fails_at,
                   ErrorCode code = ErrorCode::data_loss) {
  return Dataset<T>(std::make_shared<FailingNode>(fails_at, code, dataset.node()));
}

/// A pipeline that runs in a schedule, with an executor of two threads, like an Iterator but
/// without its threads (tuner, watchdog), whose part the model's threads play.
class PipelineRun {
 public:
  explicit PipelineRun(const Dataset<std::int64_t>& dataset, IterateOptions options = {})
      : run_(with_executor(std::move(options))),
        context_{.run = run_, .counters = nullptr},
        root_(dataset.node()->open(context_)),
        chunk_(dataset.node()->type()) {}
  ~PipelineRun() {
    run_.cancel();
    root_ = nullptr;
  }
  PipelineRun(const PipelineRun&) = delete;
  PipelineRun& operator=(const PipelineRun&) = delete;

  /// Pulls elements one by one until there are so many, it ends or is cancelled, and returns which
  /// of these. Throws the terminal error.
  Pull pull(std::size_t count_max) {
    while (values_.size() < count_max) {
      const Pull pulled = root_->pull(chunk_, 1);
      if (pulled != Pull::values) return pulled;
      for (const std::int64_t value : chunk_.values<std::int64_t>()) values_.push_back(value);
      check(!chunk_.has_error(), "an element's error");
      chunk_.clear();
    }
    return Pull::values;
  }
  const std::vector<std::int64_t>& values() const { return values_; }
  void cancel() { run_.cancel(); }
  void set_elements_wanted(std::uint64_t elements) { run_.set_elements_wanted(elements); }
  void set_knob(std::uint64_t id, std::int64_t value) { run_.knobs().set(id, value); }

 private:
  static IterateOptions with_executor(IterateOptions options) {
    if (options.executor == nullptr) options.executor = Executor::threads(2);
    return options;
  }

  IteratorContext run_;
  StageContext context_;
  std::unique_ptr<Stage> root_;
  Chunk chunk_;
  std::vector<std::int64_t> values_;
};

}  // namespace infeed::schedules
