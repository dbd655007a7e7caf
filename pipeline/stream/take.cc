#include "infeed/pipeline/take.h"

#include <algorithm>
#include <fmt/format.h>

namespace infeed::detail {
namespace {

class TakeStage final : public PassThroughStage {
 public:
  TakeStage(const StageContext& context, std::uint64_t count, std::unique_ptr<Stage> input)
      : PassThroughStage(context, std::move(input)), left_(count) {}

  Pull do_pull(Chunk& out, std::size_t want) override {
    if (left_ == 0) return Pull::end;
    const Pull pulled =
        input().pull(out, static_cast<std::size_t>(std::min<std::uint64_t>(want, left_)));
    left_ -= out.slots();
    return pulled;
  }

 protected:
  std::uint64_t do_skip(std::uint64_t count, Known known) override {
    const std::uint64_t skipped = input().skip(std::min(count, left_), known);
    left_ -= skipped;
    return skipped;
  }

 private:
  std::uint64_t left_;
};

class TakeNode final : public Node {
 public:
  TakeNode(std::uint64_t count, NodePointer input)
      : Node("take", input->type(), {input}), count_(count) {}

  StageTraits traits() const override { return {.skips_input = true}; }
  std::string signature() const override { return fmt::format("take({})", count_); }
  Cardinality cardinality() const override {
    const Cardinality upstream = input().cardinality();
    if (upstream.is_infinite()) return Cardinality::finite(count_);
    return upstream.transform([this](std::uint64_t n) { return std::min(n, count_); });
  }
  StreamPlace input_resumed(std::size_t, const ResumedStage& stage) const override {
    return stage.place.at(std::min(stage.place.position, count_));
  }
  std::uint64_t element_bytes_min() const override { return input().element_bytes_min(); }

 protected:
  std::unique_ptr<Stage> make_stage(const StageContext& context) const override {
    return std::make_unique<TakeStage>(context, count_, input().open(context));
  }

 private:
  const std::uint64_t count_;
};

}  // namespace

NodePointer make_take(std::int64_t count, NodePointer input) {
  if (count < 0) return input;
  return std::make_shared<TakeNode>(static_cast<std::uint64_t>(count), std::move(input));
}

}  // namespace infeed::detail
