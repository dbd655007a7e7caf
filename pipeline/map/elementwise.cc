#include "map/elementwise.h"

#include <fmt/format.h>
#include <optional>

#include "engine/iterator_context.h"
#include "engine/recording/note_calls.h"
#include "engine/recording/place_log.h"
#include "engine/work/passing_error.h"
#include "map/guard.h"

namespace infeed::detail {
namespace {

class ElementwiseStage final : public Stage, public Bookmarked {
 public:
  ElementwiseStage(const StageContext& context, std::shared_ptr<const ElementwiseSpec> spec,
                   const TypeInfo& in_type, std::unique_ptr<Stage> input)
      : Stage(context),
        Bookmarked(context),
        spec_(std::move(spec)),
        input_(std::move(input)),
        in_(in_type),
        state_(spec_->make_state == nullptr ? nullptr : spec_->make_state(spec_->function.get())),
        recorder_(context.run.recorder()),
        bookmark_every_(spec_->one_to_one || state_ != nullptr ? 0 : every()) {
    if (recorder_ != nullptr) pacer_.tell_apart(recorder_->clock().slow_ticks());
  }

  Pull do_pull(Chunk& out, std::size_t want) override {
    const std::uint64_t before = position_;
    // One by one, the last input that was taken is the one that was kept.
    if (run().traces() && !spec_->one_to_one) want = 1;
    const Pull pulled = pull_blocks(out, want);
    if (run().keeps_places()) note_pull(out, before);
    return pulled;
  }

 protected:
  std::uint64_t do_skip(std::uint64_t count, Known known) override {
    if (!spec_->one_to_one || state_ != nullptr || !in_.empty())
      return Stage::do_skip(count, known);
    const std::uint64_t skipped = input_->skip(count, known);
    position_ += skipped;
    return skipped;
  }
  bool go_to(const Bookmark& bookmark, Known known) override {
    const bool notes_some = !spec_->one_to_one && state_ == nullptr;
    if (!notes_some || bookmark.inputs.size() != 1 || !bookmark.state.empty()) throw bad_bookmark();
    const std::uint64_t read = position_ + in_.slots();
    if (bookmark.inputs[0] < read) return false;
    if (!pass_over(*input_, bookmark.inputs[0] - read, known)) return false;
    drop_slots(in_, in_.slots(), known);
    position_ = bookmark.inputs[0];
    return true;
  }
  TracedPlace do_trace(std::uint64_t position) const override {
    if (spec_->one_to_one) return input_->trace(position);
    return traced_through(kept_, position, *input_);
  }

  Pull do_pull_at(Chunk& out, std::span<const std::uint64_t> positions) override {
    // Uses a chunk of its own: in_ belongs to the elements in order.
    if (!at_) at_.emplace(in_.type());
    pacer_.start();
    for (std::size_t done = 0; done < positions.size();) {
      const std::size_t block =
          std::min({positions.size() - done, pacer_.block(), at_->capacity()});
      const Pull pulled = input_->pull_at(*at_, positions.subspan(done, block));
      if (pulled != Pull::values) return out.empty() ? pulled : Pull::values;
      run_at(out, positions.subspan(done));
      done = out.slots();
      if (out.has_error() || pacer_.done()) break;
    }
    return Pull::values;
  }

 private:
  /// Returns how many elements to pull. Notes a bookmark if it is due.
  std::size_t begin_chunk(std::size_t want) {
    if (spec_->one_to_one) return std::min(want, in_.capacity());
    if (bookmark_every_ == 0) return in_.capacity();
    if (position_ % bookmark_every_ == 0 && position() > 0) note_bookmark(position(), {position_});
    return static_cast<std::size_t>(
        std::min<std::uint64_t>(in_.capacity(), bookmark_every_ - position_ % bookmark_every_));
  }

  Pull pull_blocks(Chunk& out, std::size_t want) {
    pacer_.start();
    while (true) {
      if (in_.empty()) {
        if (ended_) return out.empty() ? Pull::end : Pull::values;
        const Pull pulled = input_->pull(in_, begin_chunk(want));
        if (pulled != Pull::values) return out.empty() ? pulled : Pull::values;
      }
      if (in_.size() == 0) {
        ++position_;
        out.set_error(in_.take_error());
        return Pull::values;
      }
      if (run_blocks(out, want)) return Pull::values;
      // Hands over even the one output of a rare filter: the next input may take long.
      if (!out.empty()) return Pull::values;
      if (run().cancelled()) return Pull::cancelled;
    }
  }

  /// Notes the pull, if the iterator records. A pull serves as well as a block, since one with slow
  /// elements is short.
  void note_pull(const Chunk& out, std::uint64_t before) {
    const std::uint64_t consumed = position_ - before;
    note_calls(consumed);
    if (spec_->one_to_one || out.empty()) return;
    kept_.add(position(), out.slots(),
              run().traces() ? PositionLog::Inputs{position_ - 1, 1}
                             : PositionLog::Inputs{before, consumed});
  }

  /// Runs elements one by one, since neighbours in at_ aren't neighbours in the input, and
  /// functions may depend on the position. Stops after an error.
  void run_at(Chunk& out, std::span<const std::uint64_t> positions) {
    ErrorPointer error;
    for (std::size_t i = 0; at_->size() > 0 && error == nullptr; ++i) {
      const KernelResult result =
          spec_->kernel(spec_->function.get(), nullptr, at_->front(), out.back(), 1,
                        Place{positions[i], epoch(), spec_->key, &run(), &counters()}, error);
      at_->drop_front(result.consumed);
      out.grow(result.produced);
    }
    if (error == nullptr) error = at_->take_error();
    if (error != nullptr) out.set_error(std::move(error));
    at_->clear();
  }

  /// Returns true if `out` should be handed over now.
  bool run_blocks(Chunk& out, std::size_t want) {
    while (in_.size() > 0) {
      const std::size_t room = want - out.size();
      if (room == 0) return true;
      const std::size_t count = std::min({in_.size(), room, pacer_.block()});
      ErrorPointer error;
      const KernelResult result =
          spec_->kernel(spec_->function.get(), state_.get(), in_.front(), out.back(), count,
                        Place{position_, epoch(), spec_->key, &run(), &counters()}, error);
      in_.drop_front(result.consumed);
      out.grow(result.produced);
      position_ += result.consumed;
      if (result.ended) {
        ended_ = true;
        in_.clear();
        return !out.empty();
      }
      if (error != nullptr) {
        out.set_error(std::move(error));
        return true;
      }
      const bool is_due = pacer_.done();
      if (recorder_ != nullptr) note_block(position_ - result.consumed, result.consumed);
      if (is_due && !out.empty()) return true;
      if (run().cancelled()) return !out.empty();
    }
    return false;
  }

  void note_block(std::uint64_t position, std::uint64_t count) {
    const OwnTime* const block = pacer_.long_block();
    if (block != nullptr && recorder_->clock().is_slow(*block))
      note_slow_calls(*recorder_, counters(), *block, {epoch(), position, count}, *input_);
  }

  const std::shared_ptr<const ElementwiseSpec> spec_;
  const std::unique_ptr<Stage> input_;
  Chunk in_;
  BlockPacer pacer_;
  const std::shared_ptr<void> state_;
  Recorder* const recorder_;
  const std::uint64_t bookmark_every_;  ///< elements of the input; 0: none, or none is needed
  std::optional<Chunk> at_;             ///< for pull_at()
  PositionLog kept_;                    ///< only if some elements are left out
  std::uint64_t position_ = 0;
  bool ended_ = false;
};

class ElementwiseNode final : public Node {
 public:
  ElementwiseNode(ElementwiseSpec spec, NodePointer input)
      : Node(spec.name, *spec.out_type, {std::move(input)}),
        spec_(std::make_shared<const ElementwiseSpec>(std::move(spec))) {}

  std::string signature() const override {
    return spec_->seeds ? signature_with(*spec_->seeds) : spec_->signature;
  }
  std::optional<Seeds> seeds() const override { return spec_->seeds; }
  std::string signature_with(const Seeds& seeds) const override {
    return with_seed(spec_->signature, seeds.seed);
  }
  StageTraits traits() const override {
    StageTraits traits = spec_->counts;
    traits.has_parallelism = spec_->has_parallelism;
    traits.is_ordered = spec_->ordered || spec_->parallelism == 1;
    if (spec_->make_state != nullptr) {
      traits.begins = Begins::at_start;
    } else if (!spec_->one_to_one) {
      traits.begins = traits.is_ordered ? Begins::at_bookmarks : Begins::at_start;
    }
    return traits;
  }
  std::optional<std::uint64_t> input_taken(std::uint64_t given) const override {
    if (!spec_->one_to_one || spec_->make_state != nullptr || spec_->shows_position) return {};
    return given;
  }
  StreamPlace input_resumed(std::size_t input, const ResumedStage& stage) const override {
    const bool hands_on = spec_->one_to_one && spec_->make_state == nullptr;
    return hands_on ? stage.place : Node::input_resumed(input, stage);
  }
  Cardinality cardinality() const override {
    const Cardinality upstream = input().cardinality();
    return spec_->one_to_one ? upstream : upstream.unknown_unless_empty();
  }
  /// Parallel stages work only on neighbours.
  bool is_indexable() const override {
    return input().is_indexable() && spec_->one_to_one && spec_->make_state == nullptr &&
           spec_->parallelism == 1;
  }

 protected:
  std::unique_ptr<Stage> make_stage(const StageContext& context) const override {
    std::unique_ptr<Stage> below = input().open(context);
    const bool serial = spec_->parallelism == 1 || context.run.is_inline();
    ThreadShare driver(context.run.threads(), !serial);
    if (driver.count() == 0) {
      return std::make_unique<ElementwiseStage>(context, spec_of(context), input().type(),
                                                std::move(below));
    }
    return make_parallel_elementwise(context, spec_of(context), std::move(below),
                                     std::move(driver));
  }

 private:
  /// Returns the spec with the run's seed and place, which may differ from the node's own.
  std::shared_ptr<const ElementwiseSpec> spec_of(const StageContext& context) const {
    if (context.seeds.seed == spec_->key.seed && context.taken.elements == 0) return spec_;
    ElementwiseSpec spec = *spec_;
    spec.key = {context.seeds.seed, context.in_this_run(spec.key.positions)};
    return std::make_shared<const ElementwiseSpec>(std::move(spec));
  }

  const std::shared_ptr<const ElementwiseSpec> spec_;
};

}  // namespace

NodePointer make_elementwise(ElementwiseSpec spec, NodePointer input) {
  spec.parallelism = checked_parallelism(spec.name, spec.parallelism);
  if (spec.signature.empty()) spec.signature = spec.name;
  if (spec.seeds) spec.key = {spec.seeds->seed, input->unsharded_positions()};
  if (spec.guard.retries != 0) spec = guarded(std::move(spec), input->type());
  return std::make_shared<ElementwiseNode>(std::move(spec), std::move(input));
}

std::string versioned_signature(const std::string& name, const std::string& version) {
  if (version.find_first_of("\r\n") != version.npos) {
    throw Error(ErrorCode::invalid_argument,
                name + ": version has a line break; give one line, such as \"2\"");
  }
  return version.empty() ? name : fmt::format("{}(version={})", name, version);
}

}  // namespace infeed::detail
