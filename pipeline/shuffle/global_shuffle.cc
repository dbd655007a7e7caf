#include "infeed/pipeline/global_shuffle.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>

#include "shuffle/keyed_permutation.h"

namespace infeed::detail {
namespace {

class GlobalShuffleStage final : public PassThroughStage {
 public:
  GlobalShuffleStage(const StageContext& context, std::uint64_t count,
                     const KeyedPermutation& permutation, std::unique_ptr<Stage> input)
      : PassThroughStage(context, std::move(input)), count_(count), permutation_(permutation) {}

  Pull do_pull(Chunk& out, std::size_t want) override {
    if (position_ == count_) return Pull::end;
    const std::size_t count =
        static_cast<std::size_t>(std::min<std::uint64_t>(want, count_ - position_));
    for (std::size_t i = 0; i < count; ++i) sources_[i] = permutation_(position_ + i);
    const Pull pulled = input().pull_at(out, {sources_.data(), count});
    position_ += out.slots();
    return pulled;
  }

 protected:
  std::uint64_t do_skip(std::uint64_t count, Known) override {
    count = std::min(count, count_ - position_);
    position_ += count;
    return count;
  }
  Pull do_pull_at(Chunk& out, std::span<const std::uint64_t> positions) override {
    std::transform(positions.begin(), positions.end(), sources_.begin(), permutation_);
    return input().pull_at(out, {sources_.data(), positions.size()});
  }

  std::uint64_t input_position(std::uint64_t position) const override {
    // A last batch that isn't full asks for elements behind the end, which have no other place.
    return position < count_ ? permutation_(position) : position;
  }

 private:
  const std::uint64_t count_;
  const KeyedPermutation permutation_;
  std::array<std::uint64_t, kChunkElementsMax> sources_;
  std::uint64_t position_ = 0;
};

class GlobalShuffleNode final : public Node {
 public:
  GlobalShuffleNode(const Seeds& seeds, bool reshuffle_each_iteration, NodePointer input)
      : Node("global_shuffle", input->type(), {input}),
        seeds_(seeds),
        reshuffle_each_iteration_(reshuffle_each_iteration) {}

  std::string signature() const override { return signature_with(seeds_); }
  std::optional<Seeds> seeds() const override { return seeds_; }
  std::string signature_with(const Seeds& seeds) const override {
    return fmt::format("global_shuffle(seed={}, reshuffle={})", seeds.seed,
                       reshuffle_each_iteration_);
  }
  Cardinality cardinality() const override { return input().cardinality(); }
  bool is_indexable() const override { return true; }
  std::uint64_t element_bytes_min() const override { return input().element_bytes_min(); }

 protected:
  std::unique_ptr<Stage> make_stage(const StageContext& context) const override {
    const std::uint64_t count = input().cardinality().count();
    const KeyedPermutation permutation(count, context.seeds.seed,
                                       reshuffle_each_iteration_ ? context.epoch : 0);
    return std::make_unique<GlobalShuffleStage>(context, count, permutation, input().open(context));
  }

 private:
  const Seeds seeds_;
  const bool reshuffle_each_iteration_;
};

}  // namespace

NodePointer make_global_shuffle(const GlobalShuffleOptions& options, NodePointer input) {
  if (!input->is_indexable()) {
    throw Error(
        ErrorCode::invalid_argument,
        fmt::format(
            "global_shuffle: elements of '{}' can't be asked for by position; put it "
            "right behind range, slices or indexed_records (or a serial map of them) and the rest "
            "behind it, or use shuffle with a buffer",
            input->name()));
  }
  const Seeds seeds = given_or_random(options.seed);
  return std::make_shared<GlobalShuffleNode>(seeds, options.reshuffle_each_iteration,
                                             std::move(input));
}

}  // namespace infeed::detail
