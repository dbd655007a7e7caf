#include <infeed/pipeline/errors_in_flight.h>
#include <infeed/pipeline/stage.h>
#include <infeed/replace_errors.h>

#include "engine/iterator_context.h"
#include "engine/work/passing_error.h"

namespace infeed::detail {
namespace {

class ReplaceErrorsStage final : public PassThroughStage {
 public:
  ReplaceErrorsStage(const StageContext& context, const MakeReplacement& make,
                     PassingErrors passing, const UnshardedPositions& positions,
                     std::unique_ptr<Stage> input)
      : PassThroughStage(context, std::move(input)),
        make_(make),
        passing_(passing),
        positions_(context.in_this_run(positions)) {}

 protected:
  Pull do_pull(Chunk& out, std::size_t want) override {
    const Pull pulled = input().pull(out, want);
    if (!out.has_error()) return pulled;
    const ErrorPointer error = out.take_error();
    if (is_passing(*error)) {
      if (passing_ == PassingErrors::end_the_pass) throw Error(*error);
      run().counters().note_passing_left_out(counters());
    }
    try {
      make_(out.back(), *error, positions_.of(position() + out.size()));
      out.grow(1);
    } catch (...) {
      out.set_error(current_error());
    }
    return pulled;
  }

 private:
  const MakeReplacement& make_;
  const PassingErrors passing_;
  const UnshardedPositions positions_;
};

class ReplaceErrorsNode final : public Node {
 public:
  ReplaceErrorsNode(MakeReplacement make, NodePointer input, PassingErrors passing)
      : Node("replace_errors", input->type(), {input}), make_(std::move(make)), passing_(passing) {}

  Cardinality cardinality() const override { return input().cardinality(); }
  std::optional<std::uint64_t> input_taken(std::uint64_t given) const override { return given; }
  bool needs_bookmark(Known) const override { return false; }
  StreamPlace input_resumed(std::size_t, const ResumedStage& stage) const override {
    return stage.place;
  }
  std::uint64_t element_bytes_min() const override { return input().element_bytes_min(); }

 protected:
  std::unique_ptr<Stage> make_stage(const StageContext& context) const override {
    return std::make_unique<ReplaceErrorsStage>(
        context, make_, passing_, input().unsharded_positions(), input().open(context));
  }

 private:
  const MakeReplacement make_;
  const PassingErrors passing_;
};

}  // namespace

NodePointer make_replace_errors(MakeReplacement make, NodePointer input, PassingErrors passing) {
  return std::make_shared<ReplaceErrorsNode>(std::move(make), std::move(input), passing);
}

}  // namespace infeed::detail
