#include "infeed/pipeline/assert_cardinality.h"

#include <algorithm>
#include <fmt/format.h>
#include <string>

#include "engine/iterator_context.h"

namespace infeed::detail {
namespace {

class AssertCardinalityStage final : public PassThroughStage {
 public:
  AssertCardinalityStage(const StageContext& context, std::uint64_t count,
                         std::unique_ptr<Stage> input)
      : PassThroughStage(context, std::move(input)), count_(count) {}

  Pull do_pull(Chunk& out, std::size_t want) override {
    if (position_ == count_) return pull_behind_the_last(out);
    const std::uint64_t left = count_ - position_;
    const Pull pulled =
        input().pull(out, static_cast<std::size_t>(std::min<std::uint64_t>(want, left)));
    if (pulled == Pull::end) refuse_short();
    position_ += out.slots();
    return pulled;
  }

 protected:
  std::uint64_t do_skip(std::uint64_t count, Known known) override {
    const std::uint64_t wanted = std::min(count, count_ - position_);
    const std::uint64_t skipped = input().skip(wanted, known);
    position_ += skipped;
    if (run().cancelled()) return skipped;
    if (skipped < wanted) refuse_short();
    if (skipped < count) {
      Chunk behind(type());
      pull_behind_the_last(behind);
    }
    return skipped;
  }

 private:
  Pull pull_behind_the_last(Chunk& out) {
    const Pull pulled = input().pull(out, 1);
    if (pulled != Pull::values) return pulled;
    const ErrorPointer failed = out.size() == 0 ? out.take_error() : nullptr;
    out.clear();
    const std::string found = fmt::format(
        "assert_cardinality: there are more than the {} elements that were promised", count_);
    if (failed != nullptr) {
      throw Error(failed->reworded(
          ErrorCode::failed_precondition,
          fmt::format("{}; the next one is an error: {}", found, failed->message())));
    }
    throw Error(
        ErrorCode::failed_precondition,
        fmt::format("{}; give their true number, or put take({}) before it", found, count_));
  }

  [[noreturn]] void refuse_short() const {
    throw Error(ErrorCode::failed_precondition,
                fmt::format("assert_cardinality: the input ended after {} elements, {} were "
                            "promised; give their true number, or look where they were lost",
                            position_, count_));
  }

  const std::uint64_t count_;
  std::uint64_t position_ = 0;
};

class AssertCardinalityNode final : public Node {
 public:
  AssertCardinalityNode(std::uint64_t count, NodePointer input)
      : Node("assert_cardinality", input->type(), {input}), count_(count) {}

  std::string signature() const override { return {}; }
  Cardinality cardinality() const override { return Cardinality::finite(count_); }
  bool rests_on_a_promise() const override { return input().cardinality() != cardinality(); }
  bool is_indexable() const override {
    return input().is_indexable() && input().cardinality() == cardinality();
  }
  StreamPlace input_resumed(std::size_t, const ResumedStage& stage) const override {
    return stage.place;
  }
  std::uint64_t element_bytes_min() const override { return input().element_bytes_min(); }

 protected:
  std::unique_ptr<Stage> make_stage(const StageContext& context) const override {
    return std::make_unique<AssertCardinalityStage>(context, count_, input().open(context));
  }

 private:
  const std::uint64_t count_;
};

}  // namespace

NodePointer make_assert_cardinality(std::int64_t count, NodePointer input) {
  if (count < 0) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("assert_cardinality: count is {}; give 0 or more", count));
  }
  return std::make_shared<AssertCardinalityNode>(static_cast<std::uint64_t>(count),
                                                 std::move(input));
}

}  // namespace infeed::detail
