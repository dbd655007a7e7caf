#include "infeed/pipeline/interleave.h"

#include <algorithm>
#include <fmt/format.h>

#include <infeed/pipeline/errors_in_flight.h>

#include "engine/iterator_context.h"
#include "engine/seeds/has_inner_datasets.h"
#include "interleave/cycle_stage.h"
#include "interleave/interleave_cycle.h"
#include "interleave/parallel_interleave.h"

namespace infeed::detail {

Supply SerialInnerSupplier::open(std::size_t slot, ErrorPointer& error) {
  std::uint64_t position = 0;
  switch (outer_.next(element_, position)) {
    case Pull::end:
      return Supply::end;
    case Pull::cancelled:
      return Supply::cancelled;
    case Pull::values:
      break;
  }
  error = element_.take_error();
  if (error != nullptr) return Supply::values;
  NodePointer node;
  try {
    node = opener_.describe(element_);
  } catch (...) {
    error = current_error();
    return Supply::values;
  }
  try {
    if (streams_.size() <= slot) streams_.resize(slot + 1);
    streams_[slot] = opener_.open(std::move(node), position);
  } catch (...) {
    error = error_of_opening();
  }
  return Supply::values;
}

Supply SerialInnerSupplier::refill(std::size_t slot, Chunk& out) {
  switch (streams_[slot].pull(out, out.capacity())) {
    case Pull::end:
      streams_[slot].close();
      return Supply::end;
    case Pull::cancelled:
      return Supply::cancelled;
    case Pull::values:
      break;
  }
  return Supply::values;
}

namespace {

class InterleaveStage final : public CycleStage {
 public:
  InterleaveStage(const StageContext& context, const InterleaveSpec& spec,
                  const TypeInfo& outer_type, std::unique_ptr<Stage> input)
      : CycleStage(context, spec, true, outer_type, std::move(input)) {}

  Pull do_pull(Chunk& out, std::size_t want) override { return pull_cycle(serial_, out, want); }

 protected:
  std::uint64_t do_skip(std::uint64_t count, Known known) override {
    return cycle_.skip(serial_, count, known, run());
  }
};

class InterleaveNode final : public Node, public HasInnerDatasets {
 public:
  InterleaveNode(InterleaveSpec spec, const TypeInfo& out_type, NodePointer input)
      : Node("interleave", out_type, {std::move(input)}), spec_(std::move(spec)) {}

  std::string signature() const override {
    return fmt::format("interleave(cycle_length={}, block_length={}{})", spec_.cycle_length,
                       spec_.block_length,
                       spec_.inner.seed_by_position ? ", seed_by_position" : "");
  }
  std::optional<Seeds> seeds() const override { return seeds_; }
  std::string signature_with(const Seeds& seeds) const override {
    return with_seed(signature(), seeds.seed);
  }
  StageTraits traits() const override {
    return {.begins = Begins::at_bookmarks, .is_ordered = spec_.ordered || spec_.parallelism == 1};
  }
  Cardinality cardinality() const override { return input().cardinality().unknown_unless_empty(); }

 protected:
  std::unique_ptr<Stage> make_stage(const StageContext& context) const override {
    std::unique_ptr<Stage> below = input().open(context);
    const bool serial = spec_.parallelism == 1 || context.run.is_inline();
    ThreadShare outer_thread(context.run.threads(), !serial);
    ThreadShare reader_threads(context.run.threads(), outer_thread.count() > 0);
    if (reader_threads.count() == 0) {
      return std::make_unique<InterleaveStage>(context, spec_, input().type(), std::move(below));
    }
    return make_parallel_interleave(context, spec_, input().type(), std::move(below),
                                    {std::move(outer_thread), std::move(reader_threads)});
  }

 private:
  const InterleaveSpec spec_;
  const Seeds seeds_{.seed = random_seed(), .drawn = true, .inner = true};
};

}  // namespace

InterleaveSpec interleave_spec(const InterleaveOptions& options, InnerDatasets inner) {
  if (options.cycle_length < 1 || options.block_length < 1) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("interleave: cycle_length is {} and block_length {}; give at least 1",
                            options.cycle_length.value(), options.block_length.value()));
  }
  const int parallelism = checked_parallelism("interleave", options.parallelism);
  if (parallelism > options.cycle_length.value()) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("interleave: parallelism {} is more than cycle_length {}, and threads "
                            "beyond the cycle would have little to read; raise cycle_length (it "
                            "changes the order) or lower parallelism",
                            parallelism, options.cycle_length.value()));
  }
  return {.inner = std::move(inner),
          .cycle_length = options.cycle_length,
          .block_length = options.block_length,
          .parallelism = parallelism,
          .ordered = options.ordered};
}

NodePointer make_interleave(InterleaveSpec spec, const TypeInfo& out_type, NodePointer input) {
  return std::make_shared<InterleaveNode>(std::move(spec), out_type, std::move(input));
}

}  // namespace infeed::detail
