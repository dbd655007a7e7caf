#include "infeed/device/step_accounting.h"

#include <vector>

#include <infeed/error.h>

#include "seeded_random.h"
#include "thrown_error.h"

namespace infeed {
namespace {

TEST(StepAccounting, ASlowReplicaCountsForTheWholeStep) {
  StepAccounting accounting(2);
  accounting.add(std::vector<StepEvent>{{.step = 0,
                                         .replica = 0,
                                         .examples = 4,
                                         .infeed_wait_ps = 10,
                                         .idle_ps = 20,
                                         .compute_ps = 60,
                                         .all_reduce_ps = 10},
                                        {.step = 0,
                                         .replica = 1,
                                         .examples = 3,
                                         .infeed_wait_ps = 25,
                                         .transfer_ps = 5,
                                         .compute_ps = 60,
                                         .all_reduce_ps = 10}});
  const StepSummary s = accounting.summary();
  EXPECT_EQ(s.steps, 1);
  EXPECT_EQ(s.examples, 7);
  EXPECT_EQ(s.infeed_wait_ps, 25);
  EXPECT_EQ(s.transfer_ps, 5);
  EXPECT_EQ(s.idle_ps, 0);
  EXPECT_EQ(s.step_ps, 100);
  EXPECT_DOUBLE_EQ(s.infeed_wait_share, 0.25);
  EXPECT_DOUBLE_EQ(s.duty_cycle, 0.7);
  EXPECT_DOUBLE_EQ(s.steps_per_s, 1e10);
  EXPECT_DOUBLE_EQ(s.examples_per_s, 7e10);
  EXPECT_EQ(s.verdict, InputVerdict::highly_bound);
}

TEST(StepAccounting, PartsAddUpToTheSpanOverAnyRun) {
  test::SeededRandom random;
  for (int run = 0; run < 50; ++run) {
    const int replicas = 1 + static_cast<int>(random() % 8);
    StepAccounting accounting(replicas);
    std::int64_t begin = static_cast<std::int64_t>(random() % 1000);
    const std::int64_t origin = begin;
    const int steps = 1 + static_cast<int>(random() % 40);
    std::int64_t busy = 0;
    for (int step = 0; step < steps; ++step) {
      const auto draw = [&] { return static_cast<std::int64_t>(random() % 1'000'000); };
      const std::int64_t gap = draw(), compute = draw() + 1, all_reduce = draw();
      std::vector<StepEvent> events;
      for (int r = 0; r < replicas; ++r) {
        StepEvent event{.step = step,
                        .replica = r,
                        .examples = 1,
                        .begin_ps = begin,
                        .compute_ps = compute,
                        .all_reduce_ps = all_reduce};
        event.infeed_wait_ps = gap == 0 ? 0 : draw() % gap;
        event.transfer_ps = (gap - event.infeed_wait_ps) / 2;
        event.idle_ps = gap - event.infeed_wait_ps - event.transfer_ps;
        events.push_back(event);
      }
      accounting.add(events);
      begin = events[0].end_ps();
      busy += compute + all_reduce;
    }
    const StepSummary s = accounting.summary();
    EXPECT_EQ(s.infeed_wait_ps + s.transfer_ps + s.idle_ps + s.compute_ps + s.all_reduce_ps,
              s.step_ps);
    EXPECT_EQ(s.step_ps, s.span_ps);
    EXPECT_EQ(s.span_ps, begin - origin);
    EXPECT_EQ(s.examples, std::int64_t{replicas} * steps);
    EXPECT_NEAR(s.duty_cycle, static_cast<double>(busy) / static_cast<double>(s.span_ps), 1e-12);
  }
}

TEST(StepAccounting, OverlappingBusyIntervalsCountOnce) {
  StepAccounting accounting(1);
  accounting.add(std::vector<StepEvent>{{.step = 0, .begin_ps = 0, .compute_ps = 100}});
  accounting.add(std::vector<StepEvent>{{.step = 1, .begin_ps = 50, .compute_ps = 100}});
  EXPECT_EQ(accounting.summary().span_ps, 150);
  EXPECT_DOUBLE_EQ(accounting.summary().duty_cycle, 1.0);
}

TEST(StepAccounting, NothingAddedIsAllZero) {
  const StepSummary s = StepAccounting(8).summary();
  EXPECT_EQ(s.steps, 0);
  EXPECT_EQ(s.duty_cycle, 0);
  EXPECT_EQ(s.infeed_wait_share, 0);
  EXPECT_EQ(s.verdict, InputVerdict::not_bound);
}

TEST(StepAccounting, WrongEventsAreRefusedAndNotCounted) {
  StepAccounting accounting(2);
  const StepEvent a{.step = 0, .replica = 0, .compute_ps = 5};
  StepEvent b{.step = 0, .replica = 1, .compute_ps = 5};
  EXPECT_THROW(accounting.add(std::vector<StepEvent>{a}), Error);
  EXPECT_THROW(accounting.add(std::vector<StepEvent>{b, a}), Error);
  b.compute_ps = 6;  // doesn't end together
  EXPECT_THROW(accounting.add(std::vector<StepEvent>{a, b}), Error);
  b.compute_ps = 6;
  b.idle_ps = -1;
  EXPECT_THROW(accounting.add(std::vector<StepEvent>{a, b}), Error);
  EXPECT_EQ(accounting.summary().steps, 0);
  EXPECT_THROW(StepAccounting(0), Error);
  EXPECT_EQ(error_of([&] { accounting.add(std::vector<StepEvent>{a}); }).message(),
            "step accounting got 1 events for a step of 2 replicas; give one event a replica");
}

StepSummary summary_with_share(std::int64_t wait, std::int64_t total) {
  StepAccounting accounting(1);
  accounting.add(std::vector<StepEvent>{{.infeed_wait_ps = wait, .compute_ps = total - wait}});
  return accounting.summary();
}

TEST(InputVerdict, TheBordersBelongToTheWorseVerdict) {
  EXPECT_EQ(summary_with_share(200, 1000).verdict, InputVerdict::highly_bound);
  EXPECT_EQ(summary_with_share(199, 1000).verdict, InputVerdict::moderately_bound);
  EXPECT_EQ(summary_with_share(50, 1000).verdict, InputVerdict::moderately_bound);
  EXPECT_EQ(summary_with_share(49, 1000).verdict, InputVerdict::not_bound);
  EXPECT_EQ(summary_with_share(0, 1000).verdict, InputVerdict::not_bound);
  EXPECT_EQ(summary_with_share(1000, 1000).verdict, InputVerdict::highly_bound);
}

TEST(InputVerdict, SentencesAreXprofs) {
  EXPECT_EQ(summary_with_share(421, 1000).sentence(),
            "Your program is HIGHLY input-bound because 42.1% of the total step time sampled is "
            "waiting for input. Therefore, you should first focus on reducing the input time.");
  EXPECT_EQ(summary_with_share(70, 1000).sentence(),
            "Your program is MODERATELY input-bound because 7.0% of the total step time sampled is "
            "waiting for input. Therefore, you would need to reduce both the input time and other "
            "time.");
  EXPECT_EQ(summary_with_share(4, 1000).sentence(),
            "Your program is NOT input-bound because only 0.4% of the total step time sampled is "
            "waiting for input. Therefore, you should focus on reducing other time.");
  EXPECT_EQ(to_string(InputVerdict::moderately_bound), "MODERATELY");
}

}  // namespace
}  // namespace infeed
