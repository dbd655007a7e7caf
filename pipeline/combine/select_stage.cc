#include "combine/select_stage.h"

#include <algorithm>
#include <mutex>

#include "engine/iterator_context.h"
#include "engine/move_values.h"
#include "engine/recording/place_log.h"
#include "engine/resume/bookmark_numbers.h"
#include "engine/work/passing_error.h"

namespace infeed::detail {
namespace {

struct Input {
  std::unique_ptr<Stage> stage;
  Chunk in;
  bool ended = false;
  std::uint64_t taken = 0;
};

class SelectStage final : public Stage, public Bookmarked {
 public:
  SelectStage(const StageContext& context, std::unique_ptr<Selector> selector,
              std::vector<std::unique_ptr<Stage>> inputs, bool stop_on_empty)
      : Stage(context),
        Bookmarked(context),
        selector_(std::move(selector)),
        sees_elements_(selector_->sees_elements()),
        stop_on_empty_(stop_on_empty),
        open_(inputs.size()) {
    for (auto& input : inputs) inputs_.push_back(Input{std::move(input), Chunk(type())});
  }

  Pull do_pull(Chunk& out, std::size_t want) override {
    if (every() != 0) {
      const std::uint64_t behind = position() % every();
      if (behind == 0 && position() > 0 && !has_chosen_) note_place();
      want = static_cast<std::size_t>(std::min<std::uint64_t>(want, every() - behind));
    }
    const Pull pulled =
        with_size(type(), [&](auto size) { return pull<decltype(size)::value>(out, want); });
    write_choices();
    return pulled;
  }

 protected:
  std::uint64_t do_skip(std::uint64_t count, Known known) override {
    if (sees_elements_) return Stage::do_skip(count, known);
    std::uint64_t skipped = 0;
    while (skipped < count && !over()) {
      ErrorPointer error;
      if (!choose(error, true)) break;
      if (error != nullptr) {
        end_if_passing(*error, known);
        note_choice(ChoiceLog::kNone);
        ++skipped;
        continue;
      }
      Input& input = inputs_[chosen_];
      if (!input.in.empty()) {
        drop_slots(input.in, 1, known);
      } else if (input.stage->skip(1, known) == 0) {
        if (run().cancelled()) break;
        end_input(input);
        continue;
      }
      note_choice(chosen_);
      has_chosen_ = false;
      ++input.taken;
      ++skipped;
    }
    write_choices();
    return skipped;
  }

  /// The inputs: the elements taken from each, and the choices. The state: how many inputs have
  /// ended, which, and what the selector keeps.
  bool go_to(const Bookmark& bookmark, Known known) override {
    const std::size_t count = inputs_.size();
    if (bookmark.inputs.size() != count + 1) throw bad_bookmark();
    if (position() > 0) return false;
    BookmarkNumbers state(bookmark.state, bad_bookmark());
    std::uint64_t lowest = 0;  // they are noted in ascending order
    for (std::uint64_t left = state.take(0, count); left > 0; --left) {
      const std::uint64_t ended = state.take(lowest, count - 1);
      lowest = ended + 1;
      end_input(inputs_[static_cast<std::size_t>(ended)]);
    }
    const std::uint64_t made = bookmark.inputs[count];
    if (!selector_->go_behind(made, state.rest())) throw bad_bookmark();
    Stage* const choices = selector_->choices();
    if (choices != nullptr && !pass_over(*choices, made, known)) return false;
    for (std::size_t i = 0; i < count; ++i) {
      Input& input = inputs_[i];
      input.taken = bookmark.inputs[i];
      if (!input.ended && !pass_over(*input.stage, input.taken, known)) return false;
    }
    choices_.begin_behind(bookmark.given, {bookmark.inputs.begin(), bookmark.inputs.end() - 1});
    return true;
  }
  TracedPlace do_trace(std::uint64_t position) const override {
    const auto origin = choices_.find(position);
    if (!origin) return TracedPlace::unknown("it lies too far back");
    const std::lock_guard lock(stages_mutex_);
    const Stage* const stage = inputs_[origin->input].stage.get();
    if (stage == nullptr) return TracedPlace::unknown("the dataset that it came from has ended");
    return stage->trace(origin->position);
  }

 private:
  void note_place() const {
    std::vector<std::uint64_t> inputs;
    std::vector<std::uint64_t> state(1);
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      inputs.push_back(inputs_[i].taken);
      if (inputs_[i].ended) state.push_back(i);
    }
    state.front() = state.size() - 1;
    selector_->add_state(state);
    if (inputs.size() + state.size() > kNumbersMax) return;
    inputs.push_back(selector_->made());
    note_bookmark(position(), inputs, state);
  }

  template <std::size_t kSize>
  Pull pull(Chunk& out, std::size_t want) {
    while (out.size() < want) {
      if (over()) return out.empty() ? Pull::end : Pull::values;
      ErrorPointer error;
      if (!choose(error, out.empty())) {
        if (!out.empty()) return Pull::values;
        return over() ? Pull::end : Pull::cancelled;
      }
      if (error != nullptr) {
        note_choice(ChoiceLog::kNone);
        out.set_error(std::move(error));
        return Pull::values;
      }
      Input& input = inputs_[chosen_];
      if (input.in.empty()) {
        if (!out.empty()) return Pull::values;
        const Pull pulled = input.stage->pull(input.in, input.in.capacity());
        if (pulled == Pull::cancelled) return pulled;
        if (pulled == Pull::end) end_input(input);
        continue;
      }
      note_choice(chosen_);
      has_chosen_ = false;
      ++input.taken;
      const bool is_error = input.in.size() == 0;
      if (sees_elements_) error = selector_->see(chosen_, is_error ? nullptr : input.in.front());
      if (is_error || error != nullptr) {
        out.set_error(is_error ? input.in.take_error() : std::move(error));
        if (!is_error) drop_slots(input.in, 1, Known::nothing);
        return Pull::values;
      }
      move_one<kSize>(type(), static_cast<std::byte*>(out.back()), input.in.front());
      input.in.drop_front(1);
      out.grow(1);
    }
    return Pull::values;
  }

  /// Notes the choice if the run is recorded.
  void note_choice(std::size_t input) {
    if (!run().keeps_places()) return;
    drawn_.push_back(static_cast<std::uint16_t>(std::min<std::size_t>(input, ChoiceLog::kNone)));
    if (drawn_.size() == kChoicesAtOnce) write_choices();
  }
  void write_choices() {
    if (drawn_.empty()) return;
    choices_.add(drawn_);
    drawn_.clear();
  }

  bool over() const { return selector_ended_ || open_ == 0; }

  /// Sets chosen_ to an input that has not ended, or sets the error. Returns false at the end, when
  /// cancelled, and when it would have to wait but may not.
  bool choose(ErrorPointer& error, bool may_wait) {
    while (!has_chosen_ || inputs_[chosen_].ended) {
      if (run().cancelled()) return false;
      has_chosen_ = false;
      const Selector::Next next = selector_->next(chosen_, error, may_wait);
      if (next == Selector::Next::end) selector_ended_ = true;
      if (next == Selector::Next::error) return true;
      if (next != Selector::Next::input) return false;
      has_chosen_ = true;
    }
    return true;
  }

  void end_input(Input& input) {
    input.ended = true;
    selector_->note_end(static_cast<std::size_t>(&input - inputs_.data()));
    {
      const std::lock_guard lock(stages_mutex_);
      input.stage = nullptr;
    }
    --open_;
    if (stop_on_empty_) open_ = 0;
  }

  const std::unique_ptr<Selector> selector_;
  const bool sees_elements_;
  const bool stop_on_empty_;
  std::vector<Input> inputs_;
  std::size_t open_;  ///< inputs that may still be drawn from
  std::size_t chosen_ = 0;
  bool has_chosen_ = false;  ///< but has not taken from it yet
  bool selector_ended_ = false;
  static constexpr std::size_t kChoicesAtOnce = 4096;
  static constexpr std::size_t kNumbersMax =
      400;                            ///< more would make a checkpoint longer than 4 KB
  std::vector<std::uint16_t> drawn_;  ///< choices that aren't in choices_ yet
  ChoiceLog choices_;                 ///< only if the iterator records
  mutable std::mutex stages_mutex_;   ///< guards inputs that end while they are traced
};

}  // namespace

std::unique_ptr<Stage> make_select_stage(const StageContext& context,
                                         std::unique_ptr<Selector> selector,
                                         std::vector<std::unique_ptr<Stage>> inputs,
                                         bool stop_on_empty) {
  return std::make_unique<SelectStage>(context, std::move(selector), std::move(inputs),
                                       stop_on_empty);
}

std::vector<std::unique_ptr<Stage>> open_inputs(const StageContext& context,
                                                const std::vector<NodePointer>& nodes,
                                                std::size_t count) {
  std::vector<std::unique_ptr<Stage>> inputs;
  StageContext below = context;
  for (std::size_t i = 0; i < count; ++i) {
    below.input_ordinal = i;
    inputs.push_back(nodes[i]->open(below));
  }
  return inputs;
}

}  // namespace infeed::detail
