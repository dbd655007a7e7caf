#include "infeed/pipeline/unique.h"

#include <infeed/pipeline/reservation.h>

#include "engine/iterator_context.h"
#include "engine/recording/note_calls.h"
#include "engine/recording/place_log.h"

namespace infeed::detail {
namespace {

class UniqueStage final : public Stage {
 public:
  UniqueStage(const StageContext& context, std::unique_ptr<SeenValues> seen,
              std::unique_ptr<Stage> input)
      : Stage(context),
        input_(std::move(input)),
        in_(type()),
        seen_(std::move(seen)),
        memory_(run().memory(), "unique") {}

  ~UniqueStage() override { counters().buffered.bytes.store(0, std::memory_order_relaxed); }

  Pull do_pull(Chunk& out, std::size_t want) override {
    if (run().traces()) want = 1;  // it isn't known which one of several inputs was new
    while (true) {
      if (in_.empty()) {
        const Pull pulled = input_->pull(in_, in_.capacity());
        if (pulled != Pull::values) return pulled;
      }
      if (in_.size() == 0) {
        out.set_error(in_.take_error());
        ++taken_;
        return Pull::values;
      }
      keep_new(out, affordable(std::min(want, in_.size())));
      if (!out.empty()) return Pull::values;
    }
  }

 protected:
  TracedPlace do_trace(std::uint64_t position) const override {
    return traced_through(kept_, position, *input_);
  }

 private:
  /// Reserves memory as if the next `count` elements were all new. If that is refused, it reserves
  /// for the next one alone: which element is refused must not depend on how many come at once.
  std::size_t affordable(std::size_t count) {
    const auto reserve_for = [this](std::size_t elements) {
      const std::uint64_t needed = seen_->bytes_with(elements) + payload_bytes(elements);
      if (needed > memory_.bytes()) memory_.grow(needed - memory_.bytes());
    };
    try {
      reserve_for(count);
    } catch (const Error&) {
      if (count == 1) throw;
      reserve_for(1);
      return 1;
    }
    return count;
  }

  void keep_new(Chunk& out, std::size_t count) {
    ErrorPointer error;
    const KernelResult kept = seen_->keep_new(in_.front(), out.back(), count, error);
    in_.drop_front(kept.consumed);
    if (run().keeps_places())
      kept_.add(position() + out.size(), kept.produced, {taken_, kept.consumed});
    taken_ += kept.consumed;
    out.grow(kept.produced);
    if (error != nullptr) out.set_error(std::move(error));
    memory_.shrink(memory_.bytes() - std::min(memory_.bytes(), seen_->bytes()));
    counters().buffered.bytes.store(memory_.bytes(), std::memory_order_relaxed);
  }

  std::uint64_t payload_bytes(std::size_t count) const {
    return type().payload_bytes_run == nullptr ? 0 : type().payload_bytes_run(in_.front(), count);
  }

  const std::unique_ptr<Stage> input_;
  Chunk in_;
  const std::unique_ptr<SeenValues> seen_;
  Reservation memory_;
  std::uint64_t taken_ = 0;  ///< elements of the input
  PositionLog kept_;         ///< only if the iterator records
};

class UniqueNode final : public Node {
 public:
  UniqueNode(std::unique_ptr<SeenValues> (*make_seen)(), NodePointer input)
      : Node("unique", input->type(), {input}), make_seen_(make_seen) {}

  StageTraits traits() const override { return {.begins = Begins::at_start}; }
  Cardinality cardinality() const override { return input().cardinality().unknown_unless_empty(); }
  std::uint64_t element_bytes_min() const override { return input().element_bytes_min(); }

 protected:
  std::unique_ptr<Stage> make_stage(const StageContext& context) const override {
    return std::make_unique<UniqueStage>(context, make_seen_(), input().open(context));
  }

 private:
  std::unique_ptr<SeenValues> (*const make_seen_)();
};

}  // namespace

NodePointer make_unique_values(std::unique_ptr<SeenValues> (*make_seen)(), NodePointer input) {
  return std::make_shared<UniqueNode>(make_seen, std::move(input));
}

}  // namespace infeed::detail
