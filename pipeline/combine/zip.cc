#include "infeed/pipeline/zip.h"

#include <algorithm>
#include <fmt/format.h>
#include <optional>

#include "engine/iterator_context.h"
#include "engine/work/passing_error.h"

namespace infeed::detail {
namespace {

struct Side {
  Side(NodePointer its_node, const StageContext& its_consumer)
      : node(std::move(its_node)),
        consumer(its_consumer),
        input(node->open(consumer)),
        in(node->type()) {}

  NodePointer node;
  StageContext consumer;
  std::unique_ptr<Stage> input;
  Chunk in;
  /// Elements still to be passed over, because another side failed at their positions. That error
  /// was handed over without waiting for them.
  std::uint64_t owed = 0;
  Known known_of_owed = Known::nothing;

  /// Begins anew. `known`: of the elements before `position`, which were passed over before.
  void begin_again(std::uint64_t position, Known known) {
    in.clear();
    input.reset();
    input = node->open(consumer);
    owed = position;
    known_of_owed = known;
  }
  /// Makes sure that an element is ready.
  Pull fill(std::size_t want) {
    if (owed > 0) pass_owed();
    return in.empty() ? input->pull(in, std::min(want, in.capacity())) : Pull::values;
  }
  /// Passes over elements. Returns fewer than asked for only at the end.
  std::uint64_t skip(std::uint64_t count, Known known) {
    return pass_owed() ? pass(count, known) : 0;
  }

 private:
  /// Returns false at the end.
  bool pass_owed() {
    const std::uint64_t count = std::exchange(owed, 0);
    return pass(count, std::exchange(known_of_owed, Known::nothing)) == count;
  }
  std::uint64_t pass(std::uint64_t count, Known known) {
    const std::uint64_t dropped = drop_slots(in, count, known);
    return dropped + input->skip(count - dropped, known);
  }
};

class ZipStage final : public Stage {
 public:
  ZipStage(const StageContext& context, ZipKernel kernel, std::vector<Side> sides)
      : Stage(context), kernel_(kernel), sides_(std::move(sides)), fronts_(sides_.size()) {}

  Pull do_pull(Chunk& out, std::size_t want) override {
    if (ended_) return Pull::end;
    std::size_t count = want;
    for (std::size_t i = 0; i < sides_.size(); ++i) {
      const Pull filled = sides_[i].fill(want);
      if (filled == Pull::end) ended_ = true;
      if (filled != Pull::values) return filled;
      if (sides_[i].in.size() == 0) return hand_over_error(out, i);
      count = std::min(count, sides_[i].in.size());
      fronts_[i] = sides_[i].in.front();
    }
    kernel_(fronts_.data(), out.back(), count);
    for (Side& side : sides_) side.in.drop_front(count);
    out.grow(count);
    return Pull::values;
  }

 protected:
  std::uint64_t do_skip(std::uint64_t count, Known known) override {
    if (ended_) return 0;
    if (known == Known::errors) known_of_given_ = known;
    std::uint64_t common = 0;
    try {
      common = skip_sides(count, known);
    } catch (...) {
      // A skipped side may come further than it would in a run. It may pass the end of another
      // side, or reach an element that a run doesn't ask for because a side to its left failed
      // there. Failures there (a file that can't be read, a check at the end of its pass) aren't
      // errors of this zip. Pulling as a run does finds out.
      for (Side& side : sides_) side.begin_again(position(), known_of_given_);
      return Stage::do_skip(count, known);
    }
    if (common == count || run().cancelled()) return common;
    return common + Stage::do_skip(count - common, known);
  }

  /// All sides are at the same position. The first side that can be traced gives the record.
  TracedPlace do_trace(std::uint64_t position) const override {
    TracedPlace first = sides_.front().input->trace(position);
    for (std::size_t i = 1; i < sides_.size() && !first.place; ++i) {
      if (TracedPlace other = sides_[i].input->trace(position); other.place) return other;
    }
    return first;
  }

 private:
  /// Side `failed` has an error at the current position; all sides pass over that position.
  Pull hand_over_error(Chunk& out, std::size_t failed) {
    out.set_error(sides_[failed].in.take_error());
    known_of_given_ = Known::errors;
    for (std::size_t i = 0; i < sides_.size(); ++i) {
      if (i != failed) ++sides_[i].owed;
    }
    return Pull::values;
  }

  /// Goes from the last side to the first. Then the sides to the left of the one that ends stop
  /// exactly at its end, and an error there comes before the end.
  std::uint64_t skip_sides(std::uint64_t count, Known known) {
    for (std::size_t i = sides_.size(); i-- > 0;) count = sides_[i].skip(count, known);
    return count;
  }

  const ZipKernel kernel_;
  std::vector<Side> sides_;
  std::vector<void*> fronts_;
  Known known_of_given_ = Known::nothing;
  bool ended_ = false;
};

class ZipNode final : public Node {
 public:
  ZipNode(ZipKernel kernel, const TypeInfo& out_type, std::vector<NodePointer> sides)
      : Node("zip", out_type, std::move(sides)), kernel_(kernel) {}

  std::string signature() const override { return fmt::format("zip({})", inputs().size()); }
  Cardinality cardinality() const override {
    std::optional<std::uint64_t> shortest;
    bool unknown = false;
    for (const NodePointer& side : inputs()) {
      const Cardinality length = side->cardinality();
      unknown |= length.is_unknown();
      if (length.is_finite()) {
        shortest = std::min(shortest.value_or(length.count()), length.count());
      }
    }
    if (shortest == 0) return Cardinality::finite(0);
    if (unknown) return Cardinality::unknown();
    return shortest ? Cardinality::finite(*shortest) : Cardinality::infinite();
  }
  StreamPlace input_resumed(std::size_t, const ResumedStage& stage) const override {
    return stage.place;
  }

 protected:
  std::unique_ptr<Stage> make_stage(const StageContext& context) const override {
    std::vector<Side> sides;
    sides.reserve(inputs().size());
    StageContext below = context;
    for (const NodePointer& side : inputs()) {
      sides.emplace_back(side, below);
      ++below.input_ordinal;
    }
    return std::make_unique<ZipStage>(context, kernel_, std::move(sides));
  }

 private:
  const ZipKernel kernel_;
};

}  // namespace

NodePointer make_zip(ZipKernel kernel, const TypeInfo& out_type, std::vector<NodePointer> sides) {
  return std::make_shared<ZipNode>(kernel, out_type, std::move(sides));
}

}  // namespace infeed::detail
