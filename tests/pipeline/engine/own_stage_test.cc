// A stage of one's own, as the README of pipeline/ shows it: nothing but public headers.
#include <fmt/format.h>
#include <memory>
#include <string>

#include <infeed/infeed.h>
#include <infeed/pipeline/testing.h>

#include "pipeline/suite/stage_suite.h"

namespace infeed::test {
namespace {

/// Hands on the elements 0, n, 2n, ...
class EveryNthStage final : public Stage {
 public:
  EveryNthStage(const StageContext& scope, std::uint64_t n, std::unique_ptr<Stage> input)
      : Stage(scope), n_(n), input_(std::move(input)) {}

  Pull do_pull(Chunk& out, std::size_t) override {
    input_->skip(owed_);
    const Pull pulled = input_->pull(out, 1);
    // Passed over before the next one, not now: they may be long in coming.
    owed_ = pulled == Pull::values ? n_ - 1 : 0;
    return pulled;
  }

 private:
  const std::uint64_t n_;
  const std::unique_ptr<Stage> input_;
  std::uint64_t owed_ = 0;
};

class EveryNthNode final : public Node {
 public:
  EveryNthNode(std::uint64_t n, NodePointer input)
      : Node("every_nth", input->type(), {input}), n_(n) {}

  // What changes values or order belongs into the signature: checkpoints are bound to it.
  std::string signature() const override { return fmt::format("every_nth({})", n_); }
  Cardinality cardinality() const override {
    return input().cardinality().transform([this](std::uint64_t n) { return (n + n_ - 1) / n_; });
  }

 protected:
  std::unique_ptr<Stage> make_stage(const StageContext& scope) const override {
    return std::make_unique<EveryNthStage>(scope, n_, input().open(scope));
  }

 private:
  const std::uint64_t n_;
};

auto every_nth(std::uint64_t n) {
  return [n]<class T>(const Dataset<T>& input) {
    return Dataset<T>(std::make_shared<EveryNthNode>(n, input.node()));
  };
}

TEST(OwnStage, PassesTheSuite) {
  run_stage_suite([](auto dataset) { return dataset | every_nth(3); },
                  [](const Slots& in) {
                    Stream stream;
                    for (std::size_t i = 0; i < in.size(); i += 3) stream.push_back(show(in[i]));
                    return stream;
                  });
}

TEST(OwnStage, StandsAmongTheOthers) {
  const auto describe = [] {
    return range(100) | every_nth(10) | shuffle({.buffer = 3, .seed = 1}) | batch(4);
  };
  const auto dataset = describe();
  EXPECT_EQ(dataset.cardinality(), Cardinality::finite(3));
  EXPECT_EQ(dataset.iterate().checkpoint().signature[1], "every_nth(10)");
  EXPECT_TRUE(testing::expect_equal_after_resume(describe).end_reached);
}

}  // namespace
}  // namespace infeed::test
