#include "infeed/pipeline/repeat.h"

#include <algorithm>
#include <fmt/format.h>
#include <limits>
#include <mutex>

#include <infeed/pipeline/detail/record_block_source.h>

#include "engine/find_shard.h"
#include "engine/iterator_context.h"

namespace infeed::detail {
namespace {

constexpr std::uint64_t kForever = std::numeric_limits<std::uint64_t>::max();

/// Returns the input's epoch in a pass of a repeat.
std::uint64_t number_of_pass(std::uint64_t epoch, std::uint64_t count, std::uint64_t pass) {
  return count == kForever ? (epoch << 32) + pass : epoch * count + pass;
}

class RepeatStage final : public Stage, public Bookmarked, private RecordBlockSource {
 public:
  /// `taken` and `pass` say where the first pass begins.
  RepeatStage(const StageContext& context, std::uint64_t count, const Node& input,
              const TakenBefore& taken, std::uint64_t pass)
      : Stage(context),
        Bookmarked(context),
        context_(context),
        count_(count),
        node_(input),
        taken_(taken),
        pass_(std::min(pass, count)) {}

  Pull do_pull(Chunk& out, std::size_t want) override {
    while (open_pass()) {
      const Pull pulled = input_->pull(out, want);
      if (pulled != Pull::end) {
        given_in_pass_ += out.slots();
        return pulled;
      }
      end_pass();
    }
    return Pull::end;
  }

  /// Returns the blocks of one pass: the next pass begins with pull().
  RecordBlockSource* record_blocks() override {
    blocks_ = open_pass() ? input_->record_blocks() : nullptr;
    return blocks_ == nullptr ? nullptr : this;
  }

 protected:
  std::uint64_t do_skip(std::uint64_t count, Known known) override {
    std::uint64_t skipped = 0;
    while (skipped < count) {
      skipped += jump_over_passes(count - skipped, known);
      if (skipped == count || !open_pass()) break;
      const std::uint64_t passed = input_->skip(count - skipped, known);
      given_in_pass_ += passed;
      skipped += passed;
      if (run().cancelled()) break;
      if (skipped < count) end_pass();
    }
    return skipped;
  }
  /// Begins a pass. The state is its number.
  bool go_to(const Bookmark& bookmark, Known) override {
    if (bookmark.inputs.size() != 1 || bookmark.inputs[0] != 0 || bookmark.state.size() != 1)
      throw bad_bookmark();
    {
      const std::lock_guard lock(pass_mutex_);
      input_ = nullptr;
    }
    pass_ = std::min(bookmark.state[0], count_);
    given_ = bookmark.given;
    taken_ = {};
    return true;
  }
  TracedPlace do_trace(std::uint64_t position) const override {
    const std::lock_guard lock(pass_mutex_);
    const bool is_over = input_ == nullptr || position < pass_begin_;
    const Stage* const input = is_over ? input_before_.get() : input_.get();
    const std::uint64_t begin = is_over ? pass_before_begin_ : pass_begin_;
    if (input == nullptr || position < begin) {
      return TracedPlace::unknown("it is of a pass that is over");
    }
    return input->trace(position - begin);
  }

 private:
  /// Jumps over whole passes of a known length, unless errors may have changed the length. If the
  /// length was only promised, the input itself passes over the last pass. A broken promise ends
  /// the run there, and a resume at exactly that place must not go on.
  std::uint64_t jump_over_passes(std::uint64_t count, Known known) {
    const Cardinality length = node_.cardinality();
    const bool exact = known == Known::no_errors && length.is_finite() && length.count() > 0;
    if (input_ != nullptr || !exact || taken_.elements > 0) return 0;
    const std::uint64_t whole = node_.rests_on_a_promise() ? count - 1 : count;
    const std::uint64_t passes = std::min(whole / length.count(), count_ - pass_);
    pass_ += passes;
    given_ += passes * length.count();
    return passes * length.count();
  }

  bool claim(RecordBlock& block) override { return blocks_->claim(block); }
  void note(const Taken& taken) override { blocks_->note(taken); }
  void note_given(std::uint64_t records) override {
    given_in_pass_ += records;
    given_in_blocks_ += records;
    StageCounters::add(counters().elements, records);
    blocks_->note_given(records);
  }
  void note_slow_read(const RecordBlock& block, const SlowRead& read) override {
    blocks_->note_slow_read(block, read);
  }
  void leave(const std::optional<Place>& place) override { blocks_->leave(place); }

  /// Returns false if all passes are done.
  bool open_pass() {
    if (input_ != nullptr) return true;
    if (pass_ >= count_) return false;
    std::unique_ptr<Stage> input = node_.open(context_of_pass());
    const std::lock_guard lock(pass_mutex_);
    input_ = std::move(input);
    pass_begin_ = given_ - given_in_blocks_;
    given_in_pass_ = 0;
    if (given_ > 0 && every() != 0) note_bookmark(given_, {0}, {pass_});
    return true;
  }

  /// The numbers of a pass depend only on its place, never on how many passes were started.
  /// TensorFlow's repeat opens its first pass before reading it, and one more after each pass that
  /// was read.
  StageContext context_of_pass() const {
    StageContext below = context_;
    below.taken = taken_;
    if (count_ == kForever) {
      below.set_pass(number_of_pass(epoch(), count_, pass_));
    } else {
      below.epoch = number_of_pass(epoch(), count_, pass_);
      below.passes_opened = context_.passes_opened + below.epoch;
    }
    return below;
  }

  void end_pass() {
    given_ += given_in_pass_;
    {
      const std::lock_guard lock(pass_mutex_);
      // A prefetch behind may be a pass ahead of the element that is traced. A recording keeps no
      // pass: its threads, memory and knobs would stand beside those of the next one, and change the
      // run.
      if (run().traces()) {
        input_before_ = std::move(input_);
        pass_before_begin_ = pass_begin_;
      }
      input_ = nullptr;
    }
    ++pass_;
    const bool was_whole = taken_.elements == 0;
    taken_ = {};
    if (given_in_pass_ == 0 && was_whole && count_ == kForever) pass_ = count_;
  }

  const StageContext context_;
  const std::uint64_t count_;
  const Node& node_;
  TakenBefore taken_;  ///< elements before the current pass's first
  // Other threads trace through input_, so it is written with pass_mutex_ held.
  mutable std::mutex pass_mutex_;
  std::unique_ptr<Stage> input_;
  std::unique_ptr<Stage> input_before_;  ///< the pass before's, only if run().traces()
  // Positions to trace count no records of blocks, whose places the reader of the blocks knows.
  std::uint64_t pass_before_begin_ = 0;
  std::uint64_t pass_begin_ = 0;         ///< position of the current pass's first element
  std::uint64_t given_ = 0;              ///< elements of finished passes
  RecordBlockSource* blocks_ = nullptr;  ///< the blocks of input_
  std::uint64_t pass_;
  std::uint64_t given_in_pass_ = 0;
  std::uint64_t given_in_blocks_ = 0;  ///< in all passes
};

/// Returns the number of elements of a pass that all shards share; nothing if it isn't known.
std::optional<std::uint64_t> elements_before_shard(const Node& last) {
  const Node* const shard = find_shard(last);
  if (shard == nullptr) return std::nullopt;
  const Cardinality length = shard->input().cardinality();
  return length.is_finite() && length.count() > 0 ? std::optional(length.count()) : std::nullopt;
}

class RepeatNode final : public Node {
 public:
  RepeatNode(std::uint64_t count, NodePointer input)
      : Node("repeat", input->type(), {input}), count_(count) {}

  StageTraits traits() const override { return {.skips_input = true}; }
  std::string signature() const override {
    return count_ == kForever ? "repeat(forever)" : fmt::format("repeat({})", count_);
  }
  Cardinality cardinality() const override {
    const Cardinality once = input().cardinality();
    if (count_ == 0) return Cardinality::finite(0);
    if (count_ != kForever) {
      std::uint64_t all = 0;
      if (!once.is_finite()) return once;
      if (__builtin_mul_overflow(once.count(), count_, &all)) return Cardinality::infinite();
      return Cardinality::finite(all);
    }
    if (once.is_finite()) return once.count() == 0 ? once : Cardinality::infinite();
    return once;
  }
  bool needs_bookmark(Known known) const override {
    return known != Known::no_errors || !input().cardinality().is_finite();
  }
  StreamPlace input_resumed(std::size_t, const ResumedStage& stage) const override {
    const Cardinality length = input().cardinality();
    StreamPlace place = stage.place;
    std::uint64_t pass = 0;
    if (stage.bookmark != nullptr) {
      pass = stage.bookmark->state.empty() ? 0 : stage.bookmark->state[0];
      place.position -= stage.bookmark->given;
    } else if (length.is_finite() && length.count() > 0 && stage.taken == 0) {
      pass = place.position / length.count();
      place.position %= length.count();
    }
    place.pass = number_of_pass(place.pass, count_, pass);
    return place;
  }
  std::uint64_t element_bytes_min() const override { return input().element_bytes_min(); }

 protected:
  std::unique_ptr<Stage> make_stage(const StageContext& context) const override {
    TakenBefore taken = context.taken;
    std::uint64_t pass = 0;
    if (taken.elements > 0) {
      const std::uint64_t length = elements_before_shard(input()).value_or(taken.elements + 1);
      pass = taken.elements / length;
      taken.elements %= length;
    }
    return std::make_unique<RepeatStage>(context, count_, input(), taken, pass);
  }

 private:
  const std::uint64_t count_;
};

}  // namespace

NodePointer make_repeat(std::int64_t count, NodePointer input) {
  return std::make_shared<RepeatNode>(count < 0 ? kForever : static_cast<std::uint64_t>(count),
                                      std::move(input));
}

}  // namespace infeed::detail
