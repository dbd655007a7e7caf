#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>

#include <infeed/pipeline/dataset.h>

#include "pipeline/suite/stream.h"
#include "pipeline/suite/test_sources.h"

/// Datasets that the tests of concatenate, flat_map and interleave open late.
namespace infeed::test {

namespace internal {

template <class T>
class UnopenableNode final : public Node {
 public:
  explicit UnopenableNode(std::string message)
      : Node("unopenable", type_info<T>()), message_(std::move(message)) {}

 protected:
  std::unique_ptr<Stage> make_stage(const StageContext&) const override {
    throw Error(ErrorCode::not_found, message_);
  }

 private:
  const std::string message_;
};

template <class T>
class BreakingNode final : public Node {
 public:
  explicit BreakingNode(NodePointer input) : Node("breaking", type_info<T>(), {std::move(input)}) {}

 protected:
  std::unique_ptr<Stage> make_stage(const StageContext& context) const override {
    class BreakingStage final : public Stage {
     public:
      BreakingStage(const StageContext& own, std::unique_ptr<Stage> input)
          : Stage(own), input_(std::move(input)) {}

     protected:
      Pull do_pull(Chunk& out, std::size_t want) override {
        const Pull pulled = input_->pull(out, want);
        if (pulled == Pull::end) throw Error(ErrorCode::internal, "the stage broke");
        return pulled;
      }
      TracedPlace do_trace(std::uint64_t position) const override {
        return input_->trace(position);
      }

     private:
      const std::unique_ptr<Stage> input_;
    };
    return std::make_unique<BreakingStage>(context, this->input().open(context));
  }
};

}  // namespace internal

/// Throws when it is opened.
template <class T>
Dataset<T> unopenable(std::string message) {
  return Dataset<T>(std::make_shared<internal::UnopenableNode<T>>(std::move(message)));
}

/// Gives its input and then throws instead of ending: a stage's own failure, which is terminal.
template <class T>
Dataset<T> breaking(const Dataset<T>& input) {
  return Dataset<T>(std::make_shared<internal::BreakingNode<T>>(input.node()));
}

/// The result of a function of an outer element, in all the ways in which it can succeed or fail.
struct Inner {
  enum class Kind { listed, throws, unopenable } kind = Kind::listed;
  Slots slots;
};

/// Returns inner datasets of different lengths, 0 among them, some with errors, some impossible.
inline Inner inner_of(std::int64_t outer) {
  Inner inner;
  if (outer % 13 == 5) inner.kind = Inner::Kind::throws;
  if (outer % 13 == 9) inner.kind = Inner::Kind::unopenable;
  const std::int64_t size = outer % 7 == 6 ? 40 : outer * outer % 5;
  for (std::int64_t i = 0; i < size; ++i) {
    inner.slots.push_back({1000 * outer + i, (outer + i) % 10 == 8});
  }
  return inner;
}

template <class T>
Dataset<T> make_inner(std::int64_t outer) {
  Inner inner = inner_of(outer);
  if (inner.kind == Inner::Kind::throws) throw std::runtime_error("refused");
  if (inner.kind == Inner::Kind::unopenable) return unopenable<T>("unopenable");
  const Cut cut{static_cast<Cut::Kind>(outer % 3), static_cast<std::uint64_t>(outer)};
  return listed<T>(std::move(inner.slots), cut);
}

/// Returns the elements of an inner dataset; a single error (with `opened` false) if there is none.
inline Stream stream_of_inner(const Slot& outer, bool& opened) {
  opened = false;
  if (outer.fails) return {show(outer)};
  const Inner inner = inner_of(outer.value);
  if (inner.kind == Inner::Kind::throws) return {"! refused"};
  if (inner.kind == Inner::Kind::unopenable) return {"! unopenable"};
  opened = true;
  return show_all(inner.slots);
}

}  // namespace infeed::test
