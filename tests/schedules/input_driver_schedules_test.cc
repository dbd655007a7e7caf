#include <gtest/gtest.h>
#include <memory>
#include <optional>
#include <thread>

#include <infeed/pipeline/map.h>
#include <infeed/pipeline/prefetch.h>
#include <infeed/pipeline/range.h>

#include "schedules/explore.h"
#include "schedules/pipeline_run.h"

// The turn to pull the input, the thread's or the consumer's, while the form changes.
namespace infeed::schedules {
namespace {

/// Gives its input's elements one by one, and notices if two threads pull it at the same time.
class OneThreadStage final : public Stage {
 public:
  OneThreadStage(const StageContext& context, std::unique_ptr<Stage> input)
      : Stage(context), input_(std::move(input)) {}

 protected:
  Pull do_pull(Chunk& out, std::size_t) override {
    check(!is_pulled_, "two threads pull the input");
    is_pulled_ = true;
    Scheduler::active()->point();
    const Pull pulled = input_->pull(out, 1);
    is_pulled_ = false;
    return pulled;
  }
  TracedPlace do_trace(std::uint64_t position) const override { return input_->trace(position); }

 private:
  const std::unique_ptr<Stage> input_;
  bool is_pulled_ = false;
};

class OneThreadNode final : public Node {
 public:
  explicit OneThreadNode(const NodePointer& input) : Node("one_thread", input->type(), {input}) {}

 protected:
  std::unique_ptr<Stage> make_stage(const StageContext& context) const override {
    return std::make_unique<OneThreadStage>(context, input().open(context));
  }
};

Dataset<std::int64_t> numbers_of_one_thread(std::int64_t count) {
  return Dataset<std::int64_t>(std::make_shared<OneThreadNode>(range(count).node()));
}

constexpr std::uint64_t kThreads = 0;  // the knob of both: 0 is the serial form

/// All elements come in order, while another thread interferes.
template <class Meanwhile>
void expect_all(const Dataset<std::int64_t>& dataset, std::int64_t first, Meanwhile meanwhile) {
  std::optional<PipelineRun> run;
  {
    const Undisturbed setting_up;
    run.emplace(dataset);
    run->set_knob(kThreads, first);
  }
  std::thread other([&] { meanwhile(*run); });
  const bool is_whole = run->pull(SIZE_MAX) == Pull::end;
  other.join();
  for (std::size_t i = 0; i < run->values().size(); ++i) {
    check(run->values()[i] == static_cast<std::int64_t>(i), "each number once, in order");
  }
  check(!is_whole || run->values().size() == 3, "then the end");
}

class InputDriverSchedules : public ::testing::TestWithParam<bool> {
 protected:
  static Dataset<std::int64_t> dataset() {
    const auto numbers = numbers_of_one_thread(3);
    return GetParam() ? numbers | prefetch()
                      : numbers | map([](std::int64_t x) { return x; }, {.parallelism = autotune});
  }
  static constexpr ExploreOptions kMany{.schedules_max = 3'000, .random = 1'000};
};

TEST_P(InputDriverSchedules, FormsChangeAtAnyMoment) {
  expect_no_finding("serial and back", kMany, [dataset = dataset()] {
    expect_all(dataset, 1, [](PipelineRun& run) {
      run.set_knob(kThreads, 0);
      run.set_knob(kThreads, 1);
    });
  });
}

TEST_P(InputDriverSchedules, BeginsSerial) {
  expect_no_finding("parallel and back", kMany, [dataset = dataset()] {
    expect_all(dataset, 0, [](PipelineRun& run) {
      run.set_knob(kThreads, 1);
      run.set_knob(kThreads, 0);
    });
  });
}

TEST_P(InputDriverSchedules, StopsAtAnyMoment) {
  expect_no_finding("serial and stop", kMany, [dataset = dataset()] {
    expect_all(dataset, 1, [](PipelineRun& run) {
      run.set_knob(kThreads, 0);
      run.cancel();
    });
  });
}

TEST_P(InputDriverSchedules, WaitsThatEndForNothing) {
  ExploreOptions options = kMany;
  options.run.surprises_max = 1;
  expect_no_finding("serial, woken for nothing", options, [dataset = dataset()] {
    expect_all(dataset, 1, [](PipelineRun& run) { run.set_knob(kThreads, 0); });
  });
}

INSTANTIATE_TEST_SUITE_P(Forms, InputDriverSchedules, ::testing::Bool(),
                         [](const auto& form) { return form.param ? "prefetch" : "map"; });

}  // namespace
}  // namespace infeed::schedules
