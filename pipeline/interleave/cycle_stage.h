#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "engine/iterator_context.h"
#include "interleave/inner_stream.h"
#include "interleave/interleave_cycle.h"
#include "interleave/parallel_interleave.h"

namespace infeed::detail {

inline KeptPlaces kept_places(bool keeps_order, const IteratorContext& run) {
  if (!keeps_order || !run.keeps_places()) return KeptPlaces::none;
  return run.traces() ? KeptPlaces::of_each : KeptPlaces::of_pulls;
}

/// The shared part of both forms of interleave: the cycle, which a resume brings to its place in
/// the calling thread.
class CycleStage : public Stage, public Bookmarked {
 public:
  /// `keeps_order`: whether the elements come in the cycle's order, so that they can be traced.
  CycleStage(const StageContext& context, const InterleaveSpec& spec, bool keeps_order,
             const TypeInfo& outer_type, std::unique_ptr<Stage> input)
      : Stage(context),
        Bookmarked(context),
        opener_(spec.inner, context),
        outer_(outer_type, std::move(input)),
        serial_(outer_type, outer_, opener_),
        cycle_(type(), spec.cycle_length, spec.block_length, kept_places(keeps_order, run())),
        is_ordered_(spec.ordered),
        keeps_order_(keeps_order) {}

  bool go_to(const Bookmark& bookmark, Known known) final {
    if (position() > 0) return false;
    const auto pass_over_outer = [&](std::uint64_t outer) {
      const std::uint64_t left = outer_.drop(outer - outer_.position(), known);
      if (!pass_over(outer_.input(), left, known)) return false;
      outer_.note_skipped(left);
      return true;
    };
    const std::optional<bool> is_there = cycle_.go_to(serial_, bookmark, known, pass_over_outer);
    if (!is_there && !cancelled()) throw bad_bookmark();
    return is_there.value_or(false);
  }

 protected:
  TracedPlace do_trace(std::uint64_t position) const final {
    if (!keeps_order_) return TracedPlace::unknown("an unordered interleave keeps no order");
    return cycle_.trace(position);
  }

  /// Pulls from the cycle, and notes a bookmark where one is due.
  Pull pull_cycle(InnerSupplier& supplier, Chunk& out, std::size_t want) {
    if (every() != 0 && is_ordered_) {
      const std::uint64_t behind = position() % every();
      if (behind == 0 && position() > 0) note_place();
      want = static_cast<std::size_t>(std::min<std::uint64_t>(want, every() - behind));
    }
    return cycle_.pull(supplier, out, want, position());
  }

  const InnerOpener opener_;
  OuterInput outer_;
  SerialInnerSupplier serial_;
  InterleaveCycle cycle_;

 private:
  void note_place() const {
    if (const std::optional<Bookmark> place = cycle_.place())
      note_bookmark(position(), place->inputs, place->state);
  }

  const bool is_ordered_;
  const bool keeps_order_;  ///< also where it needn't: the serial form has no other order
};

}  // namespace infeed::detail
