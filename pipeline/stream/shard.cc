#include "infeed/pipeline/shard.h"

#include <algorithm>
#include <fmt/format.h>
#include <limits>

#include "engine/move_values.h"

namespace infeed::detail {
namespace {

class ShardStage final : public PassThroughStage {
 public:
  ShardStage(const StageContext& context, const ShardOptions& options, std::unique_ptr<Stage> input)
      : PassThroughStage(context, std::move(input)),
        options_(options),
        begin_(context.taken.elements),
        begin_read_(begin_ - std::min(begin_, context.taken.shards)),
        in_(type()),
        before_(options.index) {}

  Pull do_pull(Chunk& out, std::size_t want) override {
    if (!pass_to_begin()) return cancelled() ? Pull::cancelled : Pull::end;
    // Elements far apart are better skipped: the stages before may do that cheaply.
    if (options_.count > kSkipFrom) return pull_by_skipping(out);
    while (true) {
      if (in_.empty()) {
        const Pull pulled = input().pull(in_, in_.capacity());
        if (pulled != Pull::values) return out.empty() ? pulled : Pull::values;
      }
      pick(out, want);
      if (!out.empty()) return Pull::values;
    }
  }

 protected:
  std::uint64_t do_skip(std::uint64_t count, Known known) override {
    const bool is_countable = count <= std::numeric_limits<std::uint64_t>::max() / options_.count;
    // A run that has read elements behind the begin has seen those before it, too. Only one skip
    // from the start finds the input's bookmark.
    const bool is_at_once = known == Known::no_errors && passed_ == 0 && is_countable;
    if (!is_at_once && !pass_to_begin()) return 0;
    if (!in_.empty() || !is_countable) return Stage::do_skip(count, known);
    // Skips the gap before this shard's next element, then whole rounds, each of which begins with
    // an element of this shard.
    const std::uint64_t gap = begin_ - passed_ + before_;
    std::uint64_t rounds = (count - 1) * options_.count + 1;
    if (__builtin_add_overflow(rounds, gap, &rounds)) return 0;
    const std::uint64_t passed = input().skip(rounds, known);
    passed_ += std::min(passed, begin_ - passed_);
    if (passed < gap) return 0;
    before_ = options_.count - 1;
    return (passed - gap + options_.count - 1) / options_.count;
  }
  std::uint64_t input_position(std::uint64_t position) const override {
    return begin_ + options_.index + position * options_.count;
  }

 private:
  static constexpr std::uint64_t kSkipFrom = 64;

  /// Passes over what other shards took together before this run. Returns false if the input ends
  /// before that, or at a cancellation.
  bool pass_to_begin() {
    if (passed_ < begin_read_) passed_ += input().skip(begin_read_ - passed_, Known::no_errors);
    if (passed_ >= begin_read_ && passed_ < begin_) passed_ += input().skip(begin_ - passed_);
    return passed_ == begin_;
  }

  Pull pull_by_skipping(Chunk& out) {
    if (input().skip(before_) < before_) return Pull::end;
    before_ = 0;
    const Pull pulled = input().pull(out, 1);
    if (pulled == Pull::values) before_ = options_.count - 1;
    return pulled;
  }

  /// Moves this shard's elements from in_ to out. Drops the others.
  void pick(Chunk& out, std::size_t want) {
    const std::size_t available = in_.size();
    const std::size_t stride = static_cast<std::size_t>(options_.count);
    std::size_t at = static_cast<std::size_t>(before_);
    if (at < available) {
      const std::size_t taken = std::min((available - at - 1) / stride + 1, want);
      move_strided(type(), out.back(), in_.front(), at, stride, taken);
      out.grow(taken);
      at += (taken - 1) * stride + 1;
      in_.drop_front(at);
      before_ = options_.count - 1;
      return;
    }
    type().destroy(in_.front(), available);
    in_.drop_front(available);
    before_ -= available;
    if (in_.has_error()) {
      ErrorPointer error = in_.take_error();
      if (before_ == 0) out.set_error(std::move(error));
      before_ = before_ == 0 ? options_.count - 1 : before_ - 1;
    }
  }

  const ShardOptions options_;
  const std::uint64_t begin_;       ///< elements of the input that earlier shards took
  const std::uint64_t begin_read_;  ///< how many of them a shard read that saw no error in them
  std::uint64_t passed_ = 0;        ///< those of begin_ that it has passed over
  Chunk in_;
  std::uint64_t before_;  ///< other shards' elements before this one's next
};

class ShardNode final : public Node {
 public:
  ShardNode(const ShardOptions& options, NodePointer input)
      : Node("shard", input->type(), {input}), options_(options) {}

  std::string signature() const override {
    return fmt::format("shard(count={}, index={})", options_.count.value(), options_.index.value());
  }
  UnshardedPositions unsharded_positions() const override {
    const UnshardedPositions before = input().unsharded_positions();
    return {before.of(options_.index), before.stride * options_.count};
  }
  Cardinality cardinality() const override {
    return input().cardinality().transform([this](std::uint64_t n) {
      return n <= options_.index ? 0 : (n - options_.index - 1) / options_.count + 1;
    });
  }
  StreamPlace input_resumed(std::size_t, const ResumedStage& stage) const override {
    const std::uint64_t whole_rounds = std::max<std::uint64_t>(stage.place.position, 1) - 1;
    return stage.place.at(stage.taken + options_.index + whole_rounds * options_.count);
  }
  std::uint64_t element_bytes_min() const override { return input().element_bytes_min(); }

 protected:
  std::unique_ptr<Stage> make_stage(const StageContext& context) const override {
    StageContext before = context;
    before.taken = {};
    return std::make_unique<ShardStage>(context, options_, input().open(before));
  }

 private:
  const ShardOptions options_;
};

}  // namespace

NodePointer make_shard(const ShardOptions& options, NodePointer input) {
  const std::uint64_t count = options.count.of("shard", "count");
  const std::uint64_t index = options.index.of("shard", "index");
  if (index >= count) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("shard: index {} of {} shards; the index must be less than the count, "
                            "and the count at least 1",
                            index, count));
  }
  return std::make_shared<ShardNode>(options, std::move(input));
}

}  // namespace infeed::detail
