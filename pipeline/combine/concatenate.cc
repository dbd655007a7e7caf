#include "infeed/pipeline/concatenate.h"

#include <algorithm>

#include <infeed/pipeline/errors_in_flight.h>

#include "engine/iterator_context.h"
#include "engine/recording/note_calls.h"
#include "engine/recording/place_log.h"
#include "engine/work/passing_error.h"

namespace infeed::detail {
namespace {

class ConcatenateStage final : public Stage, public Bookmarked {
 public:
  ConcatenateStage(const StageContext& context, const Node& first, const Node& second)
      : Stage(context),
        Bookmarked(context),
        context_(context),
        second_(second),
        current_(first.open(context)) {}

  Pull do_pull(Chunk& out, std::size_t want) override {
    while (current_ != nullptr) {
      const Pull pulled = current_->pull(out, want);
      if (pulled == Pull::values && run().keeps_places())
        note_places(run(), places_, position(), out.size(), *current_, position() - began_at_);
      if (pulled != Pull::end) return pulled;
      began_at_ = position() + out.slots();
      if (ErrorPointer error = open_second(began_at_)) {
        out.set_error(std::move(error));
        return Pull::values;
      }
    }
    return Pull::end;
  }

 protected:
  std::uint64_t do_skip(std::uint64_t count, Known known) override {
    std::uint64_t skipped = 0;
    while (current_ != nullptr) {
      skipped += current_->skip(count - skipped, known);
      if (skipped == count || run().cancelled()) break;
      if (const ErrorPointer error = open_second(position() + skipped)) {
        end_if_passing(*error, known);
        ++skipped;
      }
      began_at_ = position() + skipped;
    }
    return skipped;
  }

  /// Begins the second input.
  bool go_to(const Bookmark& bookmark, Known) override {
    if (bookmark.inputs.size() != 2 || !bookmark.state.empty()) throw bad_bookmark();
    if (second_opened_) return false;
    began_at_ = bookmark.given;
    if (ErrorPointer error = open_second(bookmark.given)) throw Error(*error);
    return true;
  }
  TracedPlace do_trace(std::uint64_t position) const override { return places_.find(position); }

 private:
  /// Opens the second input when the current one has ended. Afterwards current_ is the second
  /// input, or null if it was the second already, or if the second can't be opened.
  ErrorPointer open_second(std::uint64_t given) {
    current_ = nullptr;
    if (second_opened_) return nullptr;
    second_opened_ = true;
    try {
      StageContext context = context_;
      context.input_ordinal = 1;
      context.set_pass(epoch());
      current_ = second_.open(context);
      if (every() != 0 && given > 0) note_bookmark(given, {given, 0});
      return nullptr;
    } catch (...) {
      return error_of_opening();
    }
  }

  const StageContext context_;
  const Node& second_;
  std::unique_ptr<Stage> current_;
  bool second_opened_ = false;
  std::uint64_t began_at_ = 0;  ///< position of this stage where current_ began
  PlaceLog places_;             ///< only if the iterator records
};

class ConcatenateNode final : public Node {
 public:
  ConcatenateNode(NodePointer first, NodePointer second)
      : Node("concatenate", first->type(), {first, std::move(second)}) {}

  Cardinality cardinality() const override {
    const Cardinality first = input().cardinality();
    const Cardinality second = inputs()[1]->cardinality();
    if (first.is_infinite() || second.is_infinite()) return Cardinality::infinite();
    if (first.is_unknown() || second.is_unknown()) return Cardinality::unknown();
    std::uint64_t both = 0;
    if (__builtin_add_overflow(first.count(), second.count(), &both))
      return Cardinality::infinite();
    return Cardinality::finite(both);
  }
  bool needs_bookmark(Known) const override { return !input().cardinality().is_finite(); }
  StreamPlace input_resumed(std::size_t i, const ResumedStage& stage) const override {
    const Cardinality first = input().cardinality();
    const std::uint64_t at = stage.place.position;
    std::uint64_t length = first.is_finite() ? first.count() : at;
    if (stage.bookmark != nullptr) length = stage.bookmark->given;
    return stage.place.at(i == 0 ? std::min(at, length) : at - std::min(at, length));
  }

 protected:
  std::unique_ptr<Stage> make_stage(const StageContext& context) const override {
    return std::make_unique<ConcatenateStage>(context, input(), *inputs()[1]);
  }
};

}  // namespace

NodePointer make_concatenate(NodePointer first, NodePointer second) {
  return std::make_shared<ConcatenateNode>(std::move(first), std::move(second));
}

}  // namespace infeed::detail
