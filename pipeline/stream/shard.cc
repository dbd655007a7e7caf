#include "infeed/pipeline/shard.h"

#include <algorithm>
#include <fmt/format.h>
#include <limits>
#include <utility>

#include "engine/iterator_context.h"
#include "engine/move_values.h"
#include "engine/work/passing_error.h"

namespace infeed::detail {
namespace {

/// The places of this shard's elements in the input: [index, index + width) of each `count`.
struct Rounds {
  std::uint64_t count;
  std::uint64_t index;
  std::uint64_t width;

  /// Returns the place of this shard's element number `own`.
  std::uint64_t place_of(std::uint64_t own) const {
    return width == 1 ? index + own * count : index + own / width * count + own % width;
  }
  /// Returns how many of the input's first elements are this shard's.
  std::uint64_t own_of(std::uint64_t first) const {
    const std::uint64_t rest = first % count;
    return first / count * width + std::min(rest - std::min(rest, index), width);
  }
};

class ShardStage final : public PassThroughStage {
 public:
  ShardStage(const StageContext& context, const Rounds& rounds, bool skips_gaps,
             std::unique_ptr<Stage> input)
      : PassThroughStage(context, std::move(input)),
        rounds_(rounds),
        skips_gaps_(skips_gaps),
        begin_(context.taken.elements),
        begin_read_(begin_ - std::min(begin_, context.taken.shards)),
        known_of_taken_(context.known_of_taken),
        in_(type()) {}

  Pull do_pull(Chunk& out, std::size_t want) override {
    if (!pass_to_begin()) return cancelled() ? Pull::cancelled : Pull::end;
    while (true) {
      if (in_.empty()) {
        if (skips_gaps_ && !skip_gap()) return cancelled() ? Pull::cancelled : Pull::end;
        const Pull pulled = input().pull(in_, skips_gaps_ ? left_in_round() : in_.capacity());
        if (pulled != Pull::values) return pulled;
      }
      pick(out, want);
      if (!out.empty()) return Pull::values;
    }
  }

 protected:
  std::uint64_t do_skip(std::uint64_t count, Known known) override {
    const std::uint64_t countable = std::numeric_limits<std::uint64_t>::max() / rounds_.count;
    const bool is_countable = given_ < countable && count < countable - given_;
    // A run that has read elements behind the begin has seen those before it, too. Only one skip
    // from the start finds the input's bookmark.
    const bool is_at_once = known == Known::no_errors && passed_ == 0 && is_countable;
    if (!is_at_once && !pass_to_begin()) return 0;
    if (!in_.empty() || !is_countable || count == 0) return Stage::do_skip(count, known);
    std::uint64_t places = rounds_.place_of(given_ + count - 1) + 1 - place_;
    if (__builtin_add_overflow(places, begin_ - passed_, &places)) return 0;
    const std::uint64_t passed = input().skip(places, known);
    const std::uint64_t before_begin = std::min(passed, begin_ - passed_);
    passed_ += before_begin;
    place_ += passed - before_begin;
    return rounds_.own_of(place_) - std::exchange(given_, rounds_.own_of(place_));
  }
  std::uint64_t input_position(std::uint64_t position) const override {
    return begin_ + rounds_.place_of(position);
  }

 private:
  /// Passes over what other shards took together before this run. Returns false if the input ends
  /// before that, or at a cancellation.
  bool pass_to_begin() {
    if (passed_ < begin_read_) passed_ += input().skip(begin_read_ - passed_, Known::no_errors);
    if (passed_ >= begin_read_ && passed_ < begin_)
      passed_ += input().skip(begin_ - passed_, known_of_taken_);
    return passed_ == begin_;
  }

  /// Returns the number of other shards' elements before this one's next.
  std::uint64_t gap() const { return rounds_.place_of(given_) - place_; }
  std::size_t left_in_round() const {
    const std::uint64_t left = rounds_.width - given_ % rounds_.width;
    return static_cast<std::size_t>(std::min<std::uint64_t>(left, in_.capacity()));
  }

  /// Returns false if the input ends before this shard's next element.
  bool skip_gap() {
    const std::uint64_t others = gap();
    if (others == 0) return true;
    const std::uint64_t skipped = input().skip(others);
    place_ += skipped;
    return skipped == others;
  }

  /// Moves this shard's elements from in_ to out. Drops the others.
  void pick(Chunk& out, std::size_t want) {
    while (!in_.empty() && out.slots() < want && !out.has_error()) {
      const std::uint64_t others = gap();
      if (others >= in_.size()) {
        drop(in_.size());
        if (in_.has_error()) take_error(out);
      } else if (rounds_.width == 1) {
        pick_strided(out, static_cast<std::size_t>(others), want);
      } else {
        drop(static_cast<std::size_t>(others));
        const std::size_t taken =
            out.append_from(in_, std::min(left_in_round(), want - out.size()));
        place_ += taken;
        given_ += taken;
      }
    }
  }

  void pick_strided(Chunk& out, std::size_t first, std::size_t want) {
    const auto stride = static_cast<std::size_t>(rounds_.count);
    const std::size_t taken = std::min((in_.size() - first - 1) / stride + 1, want - out.size());
    move_strided(type(), out.back(), in_.front(), first, stride, taken);
    out.grow(taken);
    const std::size_t passed = first + (taken - 1) * stride + 1;
    in_.drop_front(passed);
    place_ += passed;
    given_ += taken;
  }

  void drop(std::size_t count) {
    type().destroy(in_.front(), count);
    in_.drop_front(count);
    place_ += count;
  }

  void take_error(Chunk& out) {
    ErrorPointer error = in_.take_error();
    if (gap() == 0) {
      out.set_error(std::move(error));
      ++given_;
    } else {
      end_if_passing(*error, Known::nothing);
    }
    ++place_;
  }

  const Rounds rounds_;
  const bool skips_gaps_;           ///< rather than to read what other shards have, and to drop it
  const std::uint64_t begin_;       ///< elements of the input that earlier shards took
  const std::uint64_t begin_read_;  ///< how many of them a shard read that saw no error in them
  const Known known_of_taken_;      ///< knowledge about the others of them
  std::uint64_t passed_ = 0;        ///< those of begin_ that it has passed over
  Chunk in_;
  std::uint64_t place_ = 0;  ///< elements behind begin_ that were taken out of in_, or skipped
  std::uint64_t given_ = 0;  ///< those of them that are this shard's
};

/// Returns true if the stage's elements are read by position, so that those that are skipped are not
/// read at all.
bool is_read_by_position(const Node& node) {
  return node.is_indexable() || (node.traits().skips_input && is_read_by_position(node.input()));
}

class ShardNode final : public Node {
 public:
  ShardNode(const char* name, const Rounds& rounds, NodePointer input)
      : Node(name, input->type(), {input}), rounds_(rounds) {
    if (this->input().unsharded_positions().width == 1) return;
    throw Error(ErrorCode::invalid_argument,
                fmt::format("{} stands behind own_rows, whose elements can't be divided again; "
                            "leave one of them out",
                            name));
  }

  std::string signature() const override {
    return name() == "shard"
               ? fmt::format("shard(count={}, index={})", rounds_.count, rounds_.index)
               : fmt::format("own_rows(batch={}, first={}, rows={})", rounds_.count, rounds_.index,
                             rounds_.width);
  }
  UnshardedPositions unsharded_positions() const override {
    const UnshardedPositions before = input().unsharded_positions();
    return {.offset = before.of(rounds_.index),
            .stride = before.stride * rounds_.count,
            .width = rounds_.width,
            .step = before.stride};
  }
  Cardinality cardinality() const override {
    return input().cardinality().transform([this](std::uint64_t n) { return rounds_.own_of(n); });
  }
  StreamPlace input_resumed(std::size_t, const ResumedStage& stage) const override {
    const std::uint64_t last = std::max<std::uint64_t>(stage.place.position, 1) - 1;
    return stage.place.at(stage.taken + rounds_.place_of(last));
  }
  std::uint64_t element_bytes_min() const override { return input().element_bytes_min(); }

 protected:
  std::unique_ptr<Stage> make_stage(const StageContext& context) const override {
    StageContext before = context;
    before.taken = {};
    return std::make_unique<ShardStage>(context, rounds_, skips_gaps(), input().open(before));
  }

 private:
  static constexpr std::uint64_t kSkipFrom = 64;

  /// Elements far apart are better skipped: the stages before may do that cheaply. So are records
  /// that are read by position, unless it would be one at a time.
  bool skips_gaps() const {
    if (rounds_.count - rounds_.width >= kSkipFrom) return true;
    const bool owns_more = type().payload_bytes_run != nullptr;
    return rounds_.width > 1 && owns_more && is_read_by_position(input());
  }

  const Rounds rounds_;
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
  return std::make_shared<ShardNode>("shard", Rounds{count, index, 1}, std::move(input));
}

NodePointer make_own_rows(Count batch, Count first, Count rows, NodePointer input) {
  const Rounds own{batch.of("own_rows", "batch"), first.of("own_rows", "first"),
                   rows.of("own_rows", "rows")};
  if (own.width == 0 || own.index >= own.count || own.width > own.count - own.index) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("own_rows: {} rows from row {} on aren't rows of a batch of {}",
                            own.width, own.index, own.count));
  }
  return std::make_shared<ShardNode>("own_rows", own, std::move(input));
}

}  // namespace infeed::detail
