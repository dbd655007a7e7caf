#include "infeed/pipeline/random_integers.h"

#include <fmt/format.h>

#include <infeed/pipeline/detail/seeds.h>
#include <infeed/pipeline/philox.h>

#include "engine/seeds/word_stream.h"

namespace infeed {
namespace {

class RandomStage final : public Stage {
 public:
  RandomStage(const StageContext& context, const Philox& words) : Stage(context), words_(words) {}

  Pull do_pull(Chunk& out, std::size_t want) override {
    auto* const values = static_cast<std::int64_t*>(out.back());
    for (std::size_t i = 0; i < want; ++i) values[i] = std::int64_t{words_()};
    out.grow(want);
    position_ += want;
    return Pull::values;
  }

 protected:
  std::uint64_t do_skip(std::uint64_t count, Known) override {
    position_ += count;
    words_.seek(position_);
    return count;
  }
  TracedPlace do_trace(std::uint64_t position) const override { return Stage::do_trace(position); }

 private:
  detail::WordStream words_;
  std::uint64_t position_ = 0;
};

class RandomNode final : public Node {
 public:
  RandomNode(const Seeds& seeds, bool rerandomize)
      : Node("random_integers", type_info<std::int64_t>()),
        seeds_(seeds),
        rerandomize_(rerandomize) {}

  std::string signature() const override { return signature_with(seeds_); }
  std::optional<Seeds> seeds() const override { return seeds_; }
  std::string signature_with(const Seeds& seeds) const override {
    return fmt::format("random_integers(seed={}, seed2={}, rerandomize={})", seeds.seed,
                       seeds.seed2, rerandomize_);
  }
  Cardinality cardinality() const override { return Cardinality::infinite(); }

 protected:
  std::unique_ptr<Stage> make_stage(const StageContext& context) const override {
    return std::make_unique<RandomStage>(
        context, detail::pass_generator(context.seeds, context.passes_opened, rerandomize_));
  }

 private:
  const Seeds seeds_;
  const bool rerandomize_;
};

}  // namespace

Dataset<std::int64_t> random_integers(RandomIntegersOptions options) {
  return Dataset<std::int64_t>(detail::named(
      std::make_shared<RandomNode>(detail::choose_seeds(options.seed, options.global_seed, 0),
                                   options.rerandomize_each_iteration),
      options.name));
}

}  // namespace infeed
