#include "infeed/pipeline/detail/judged_pass.h"

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>
#include <span>
#include <utility>

#include <infeed/pipeline/statistics.h>

#include "engine/iterator_context.h"
#include "engine/work/passing_error.h"

namespace infeed::detail {
namespace {

/// A longer skip isn't looked at, however many records the verdict takes: that would cost a shuffle's
/// jump.
constexpr std::uint64_t kSkippedMax = 4000;

/// Returns the number of elements behind which a pass isn't judged any more, whether they were skipped
/// or too few of them were records.
std::uint64_t looked_at_max(const JudgeSpec& spec) {
  constexpr std::uint64_t kTimes = 4;
  const std::uint64_t most = std::numeric_limits<std::uint64_t>::max();
  return spec.records_max > most / kTimes ? most : kTimes * spec.records_max;
}

/// Counters that are never shown: elements pass through unchanged. They have the input's label, since
/// messages name by it whose elements these are.
struct HiddenCounters {
  StageCounters hidden;
  StageContext context_of(StageContext context, const TypeInfo& type) {
    context.counters = &hidden;
    context.type = &type;
    return context;
  }
};

/// Looks at skipped elements, too. The verdict depends only on the elements of the pass, so a resumed
/// run ends as the original run would.
class JudgedPassStage final : private HiddenCounters, public PassThroughStage {
 public:
  JudgedPassStage(const StageContext& consumer, std::shared_ptr<const JudgeSpec> spec,
                  NodePointer input_node)
      : PassThroughStage(context_of(consumer, input_node->type()), input_node->open(consumer)),
        spec_(std::move(spec)),
        consumer_(consumer),
        input_node_(std::move(input_node)),
        judge_(spec_->begin_pass()),
        // Other hosts have begun the pass, and judged what they took of it.
        is_looking_(consumer.taken.elements == 0) {
    hidden.consumer = consumer.counters;
    hidden.label = input().label();
  }

  Pull do_pull(Chunk& out, std::size_t want) override {
    if (!goes_on_looking()) return input().pull(out, want);
    require_more();
    const Pull pulled = input().pull(out, std::min<std::uint64_t>(want, most_at_once()));
    if (pulled == Pull::end) require_all();
    look_at(out);
    return pulled;
  }

  RecordBlockSource* record_blocks() override {
    return goes_on_looking() ? nullptr : input().record_blocks();
  }

 protected:
  std::uint64_t do_skip(std::uint64_t count, Known known) override {
    const bool is_source = input_node_->inputs().empty();
    // A checkpoint far into the pass was taken after the verdict.
    if (is_looking_ && is_far(count) && !is_source) is_looking_ = false;
    if (!is_looking_) return input().skip(count, known);
    const std::uint64_t before = passed_;
    const std::uint64_t skipped = skip_and_look(count, known);
    if (is_looking_ || skipped == count) return skipped;
    // A source that was begun may have to read what a fresh one could jump over.
    if (is_source && count > kSkippedMax) {
      replace_input(input_node_->open(consumer_));
      const std::uint64_t all = input().skip(before + count, known);
      return all - std::min(all, before);
    }
    return skipped + input().skip(count - skipped, known);
  }

  Pull do_pull_at(Chunk& out, std::span<const std::uint64_t> positions) override {
    if (is_looking_ && look_from_begin() == Pull::cancelled) return Pull::cancelled;
    return input().pull_at(out, positions);
  }

 private:
  bool goes_on_looking() {
    is_looking_ = is_looking_ && (passed_ < looked_at_max_ || records_left() == 0);
    return is_looking_;
  }
  bool is_far(std::uint64_t count) const {
    return count > kSkippedMax || count > looked_at_max_ - passed_;
  }
  std::uint64_t records_left() const { return spec_->records_max - judge_->records(); }
  /// Returns how many elements may be looked at together: the verdict mustn't depend on how many come at
  /// once.
  std::uint64_t most_at_once() const { return std::min(records_left(), looked_at_max_ - passed_); }

  [[noreturn]] void fail() const { throw judge_->error().at_stage(consumer_.counters->path()); }
  /// Called before another element.
  void require_more() const {
    if (judge_->records() == spec_->records_max) fail();
  }
  /// Called at the end of the pass.
  void require_all() const {
    if (judge_->records() == spec_->records_max) fail();
    if (spec_->judges_shorter && judge_->records() > 0) fail();
  }

  void look_at(Chunk& chunk) {
    for (std::size_t i = 0; i < chunk.size() && is_looking_; ++i) {
      judge_->look_at(chunk.value(i));
      is_looking_ = !judge_->is_content();
    }
    passed_ += chunk.slots();
  }

  /// Skips until there is nothing more to look for. Returns how many elements it skipped.
  std::uint64_t skip_and_look(std::uint64_t count, Known known) {
    Chunk dropped(type());
    std::uint64_t skipped = 0;
    // One element first: it is usually enough.
    for (std::uint64_t block = 1; skipped < count && goes_on_looking();
         block = dropped.capacity()) {
      require_more();
      const std::uint64_t want = std::min({block, count - skipped, most_at_once()});
      const Pull pulled = input().pull(dropped, static_cast<std::size_t>(want));
      if (pulled == Pull::end) require_all();
      if (pulled != Pull::values) break;
      look_at(dropped);
      skipped += drop_slots(dropped, dropped.slots(), known);
    }
    return skipped;
  }

  /// Looks at the pass from its beginning, before a random access.
  Pull look_from_begin() {
    Chunk chunk(type());
    const std::uint64_t end = input_node_->cardinality().count();
    for (std::uint64_t position = 0; position < end && goes_on_looking();) {
      require_more();
      std::array<std::uint64_t, 16> positions;
      std::iota(positions.begin(), positions.end(), position);
      const auto count = static_cast<std::size_t>(
          std::min<std::uint64_t>({positions.size(), chunk.capacity(), end - position,
                                   position == 0 ? 1 : most_at_once()}));
      const Pull pulled = input().pull_at(chunk, std::span(positions).first(count));
      if (pulled != Pull::values) return pulled;
      position += chunk.slots();
      look_at(chunk);
      chunk.clear();
    }
    if (goes_on_looking()) require_all();
    return Pull::values;
  }

  const std::shared_ptr<const JudgeSpec> spec_;
  const std::uint64_t looked_at_max_ = looked_at_max(*spec_);
  const StageContext consumer_;
  const NodePointer input_node_;
  const std::unique_ptr<PassJudge> judge_;
  std::uint64_t passed_ = 0;  ///< elements, while it is looking
  bool is_looking_;
};

class JudgedPassNode final : public Node {
 public:
  JudgedPassNode(JudgeSpec spec, NodePointer input)
      : Node("judged_pass", input->type(), {input}),
        spec_(std::make_shared<const JudgeSpec>(std::move(spec))) {}

  std::string signature() const override { return {}; }
  bool has_counters() const override { return false; }
  Cardinality cardinality() const override { return input().cardinality(); }
  StreamPlace input_resumed(std::size_t, const ResumedStage& stage) const override {
    return stage.place;
  }
  std::optional<std::uint64_t> input_taken(std::uint64_t given) const override { return given; }
  bool is_indexable() const override { return input().is_indexable(); }
  std::unique_ptr<Stage> open(const StageContext& consumer) const override {
    return std::make_unique<JudgedPassStage>(consumer, spec_, inputs().front());
  }
  std::uint64_t element_bytes_min() const override { return input().element_bytes_min(); }

 protected:
  std::unique_ptr<Stage> make_stage(const StageContext& context) const override {
    return open(context);
  }

 private:
  const std::shared_ptr<const JudgeSpec> spec_;
};

}  // namespace

NodePointer make_judged_pass(JudgeSpec spec, NodePointer input) {
  return std::make_shared<JudgedPassNode>(std::move(spec), std::move(input));
}

}  // namespace infeed::detail
