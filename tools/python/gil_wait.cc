#include "python/gil_wait.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>

#include <infeed/pipeline/stage.h>

namespace infeed::python {
namespace {

constexpr std::array<std::string_view, 1> kCounts = {"gil_wait_ns"};
constexpr std::uint64_t kShownMinNs = 500'000;

std::string wait_text(std::string_view label, std::span<const std::uint64_t> counts) {
  if (counts[0] < kShownMinNs) return {};
  return fmt::format("{} waited {:.3f} s for Python's interpreter lock\n", label,
                     static_cast<double>(counts[0]) * 1e-9);
}

class GilWaitStage final : public PassThroughStage {
 public:
  GilWaitStage(const StageContext& context, std::unique_ptr<Stage> input)
      : PassThroughStage(context, std::move(input)), in_(this->input().type()) {}

 protected:
  Pull do_pull(Chunk& out, std::size_t want) override {
    const Pull pulled = input().pull(in_, std::min(want, in_.capacity()));
    if (pulled != Pull::values) return pulled;
    std::uint64_t wait_ns = 0;
    for (TimedBatch& timed : in_.values<TimedBatch>()) {
      wait_ns += timed.gil_wait_ns;
      out.append(std::move(timed.batch));
    }
    if (in_.has_error()) out.set_error(in_.take_error());
    in_.clear();
    note_count(0, wait_ns);
    return Pull::values;
  }

 private:
  Chunk in_;
};

class GilWaitNode final : public Node {
 public:
  GilWaitNode(const std::string& kind, NodePointer input)
      : Node(kind, type_info<ColumnBatch>(), {std::move(input)}) {}

  std::string signature() const override { return {}; }
  StageTraits traits() const override { return {.counts = kCounts, .text = &wait_text}; }
  Cardinality cardinality() const override { return input().cardinality(); }
  StreamPlace input_resumed(std::size_t, const ResumedStage& stage) const override {
    return stage.place;
  }
  std::optional<std::uint64_t> input_taken(std::uint64_t given) const override { return given; }

 protected:
  std::unique_ptr<Stage> make_stage(const StageContext& context) const override {
    return std::make_unique<GilWaitStage>(context, input().open(context));
  }
};

}  // namespace

Dataset<ColumnBatch> with_gil_waits(const Dataset<TimedBatch>& input, const std::string& kind) {
  return Dataset<ColumnBatch>(std::make_shared<GilWaitNode>(kind, input.node()));
}

}  // namespace infeed::python
