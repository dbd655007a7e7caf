#include "infeed/pipeline/generate.h"

#include <infeed/pipeline/errors_in_flight.h>
#include <infeed/pipeline/hand_over.h>

#include "engine/iterator_context.h"

namespace infeed::detail {
namespace {

class GenerateStage final : public Stage {
 public:
  GenerateStage(const StageContext& context, const GenerateSpec& spec)
      : Stage(context), spec_(spec) {}

  Pull do_pull(Chunk& out, std::size_t want) override {
    if (ended_ || !start(out)) return out.empty() ? Pull::end : Pull::values;
    // The function may block, so the clock is checked after each element.
    HandOver hand_over(out);
    do {
      if (!append_next(out)) return out.empty() ? Pull::end : Pull::values;
    } while (out.slots() < want && !out.has_error() && !run().cancelled() && !hand_over.is_due());
    return Pull::values;
  }
  TracedPlace do_trace(std::uint64_t position) const override { return Stage::do_trace(position); }

 private:
  bool start(Chunk& out) {
    if (generator_ != nullptr) return true;
    try {
      generator_ = spec_.start(spec_.make.get(), epoch());
      return true;
    } catch (...) {
      out.set_error(current_error());
      ended_ = true;
      return false;
    }
  }

  bool append_next(Chunk& out) {
    try {
      if (spec_.next(generator_.get(), out.back())) {
        out.grow(1);
        return true;
      }
    } catch (const Error& error) {
      // An iterator inside the function that failed for good would fail at every call.
      if (error.is_terminal()) throw;
      out.set_error(current_error());
      return true;
    } catch (...) {
      out.set_error(current_error());
      return true;
    }
    ended_ = true;
    generator_ = nullptr;
    return false;
  }

  const GenerateSpec spec_;
  std::shared_ptr<void> generator_;
  bool ended_ = false;
};

class GenerateNode final : public Node {
 public:
  explicit GenerateNode(const GenerateSpec& spec) : Node("generate", *spec.type), spec_(spec) {}

 protected:
  std::unique_ptr<Stage> make_stage(const StageContext& context) const override {
    return std::make_unique<GenerateStage>(context, spec_);
  }

 private:
  const GenerateSpec spec_;
};

}  // namespace

NodePointer make_generate(const GenerateSpec& spec) { return std::make_shared<GenerateNode>(spec); }

}  // namespace infeed::detail
