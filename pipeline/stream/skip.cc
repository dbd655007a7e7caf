#include "infeed/pipeline/skip.h"

#include <algorithm>
#include <fmt/format.h>
#include <limits>
#include <utility>

namespace infeed::detail {
namespace {

constexpr std::uint64_t kAll = std::numeric_limits<std::uint64_t>::max();

class SkipStage final : public PassThroughStage {
 public:
  SkipStage(const StageContext& context, std::uint64_t count, std::unique_ptr<Stage> input)
      : PassThroughStage(context, std::move(input)), count_(count) {}

  Pull do_pull(Chunk& out, std::size_t want) override {
    if (!skip_the_head(Known::nothing)) return Pull::end;
    return input().pull(out, want);
  }

 protected:
  std::uint64_t do_skip(std::uint64_t count, Known known) override {
    if (count_ == kAll || count > UINT64_MAX - count_)
      return skip_the_head(known) ? input().skip(count, known) : 0;
    const std::uint64_t head = std::exchange(count_, 0);
    const std::uint64_t passed = input().skip(head + count, known);
    return passed - std::min(passed, head);
  }
  std::uint64_t input_position(std::uint64_t position) const override { return head_ + position; }

 private:
  bool skip_the_head(Known known) {
    if (count_ == kAll) return false;
    if (count_ > 0) input().skip(count_, known);
    count_ = 0;
    return true;
  }

  std::uint64_t count_;
  const std::uint64_t head_ = count_;
};

class SkipNode final : public Node {
 public:
  SkipNode(std::uint64_t count, NodePointer input)
      : Node("skip", input->type(), {input}), count_(count) {}

  StageTraits traits() const override { return {.skips_input = true}; }
  std::string signature() const override {
    return count_ == kAll ? "skip(all)" : fmt::format("skip({})", count_);
  }
  Cardinality cardinality() const override {
    if (count_ == kAll) return Cardinality::finite(0);
    return input().cardinality().transform(
        [this](std::uint64_t n) { return n < count_ ? 0 : n - count_; });
  }
  StreamPlace input_resumed(std::size_t, const ResumedStage& stage) const override {
    return stage.place.at(stage.place.position + count_);
  }
  std::uint64_t element_bytes_min() const override { return input().element_bytes_min(); }

 protected:
  std::unique_ptr<Stage> make_stage(const StageContext& context) const override {
    return std::make_unique<SkipStage>(context, count_, input().open(context));
  }

 private:
  const std::uint64_t count_;
};

}  // namespace

NodePointer make_skip(std::int64_t count, NodePointer input) {
  return std::make_shared<SkipNode>(count < 0 ? kAll : static_cast<std::uint64_t>(count),
                                    std::move(input));
}

}  // namespace infeed::detail
