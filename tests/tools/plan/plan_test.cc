#include "plan/plan.h"

#include <algorithm>
#include <cmath>
#include <queue>
#include <random>
#include <stop_token>
#include <vector>

#include <infeed/device/cost_model.h>
#include <infeed/device/slice.h>

#include "test_seed.h"
#include "thrown_error.h"
#include "tools/profile/made_recording.h"

/// Plans from recordings whose batches' times are known.
namespace infeed::tools {
namespace {

constexpr std::int64_t kPsOfMs = 1'000'000'000;
constexpr double kMsOfPs = 1e-9;

/// A normal batch takes 5 to 8 ms; `slow_of_1000` of a thousand take 60.
std::vector<std::int64_t> with_slow_ones(std::size_t count, int slow_of_1000) {
  std::mt19937_64 random(test::test_seed());
  std::vector<std::int64_t> times;
  for (std::size_t i = 0; i < count; ++i) {
    const bool is_slow = std::uniform_int_distribution(1, 1000)(random) <= slow_of_1000;
    times.push_back(is_slow ? 60 * kPsOfMs
                            : std::uniform_int_distribution(5'000, 8'000)(random) * kPsOfMs / 1000);
  }
  return times;
}

/// Its device was so quick that each step waited: the recording shows each batch's time.
RecordedRun waiting_run(const std::vector<std::int64_t>& times, int threads = 4) {
  return test::parallel_recording_of({.service_ps = times, .step_ps = kPsOfMs}, threads);
}

/// Simulates hosts by brute force: each batch is drawn for itself, and needs one of the places of
/// its host's queue or the one in the maker's hands, which it gives back when it is taken. Returns
/// the duty cycle.
double brute_force_duty_cycle(const std::vector<std::int64_t>& times, int hosts, int queue_depth,
                              double step_ms) {
  constexpr int kWarmUp = 2'000;
  constexpr int kSteps = 20'000;
  std::mt19937_64 random(test::test_seed() + 1);
  struct Host {
    double made_ms = 0;
    std::queue<double> places_free_ms = {};
  };
  std::vector<Host> all(static_cast<std::size_t>(hosts));
  for (Host& host : all) {
    for (int place = 0; place < queue_depth + 1; ++place) host.places_free_ms.push(0);
  }
  double end_ms = 0;
  double begin_ms = 0;
  for (int step = 0; step < kWarmUp + kSteps; ++step) {
    if (step == kWarmUp) begin_ms = end_ms;
    double start_ms = end_ms;
    for (Host& host : all) {
      const std::size_t drawn =
          std::uniform_int_distribution<std::size_t>(0, times.size() - 1)(random);
      host.made_ms = std::max(host.made_ms, host.places_free_ms.front()) +
                     static_cast<double>(times[drawn]) * kMsOfPs;
      host.places_free_ms.pop();
      host.places_free_ms.push(end_ms);  // it is taken when the device has nothing else to do
      start_ms = std::max(start_ms, host.made_ms);
    }
    end_ms = start_ms + step_ms;
  }
  return kSteps * step_ms / (end_ms - begin_ms);
}

TEST(Plan, TheDutyCycleIsThatOfABruteForceSimulation) {
  const std::vector<std::int64_t> times = with_slow_ones(12'000, 3);
  const RecordedRun run = waiting_run(times);
  // The recording's queue of 2 is also the simulated one.
  const Plan made = plan(run, {.slice = "v4-128", .step_ps = 10 * kPsOfMs, .queue_max = 16});
  ASSERT_EQ(made.rows.size(), 5u);
  for (const PlannedHosts& row : made.rows) {
    SCOPED_TRACE(row.hosts);
    const double expected = brute_force_duty_cycle(times, row.hosts, 2, 10);
    // Hosts that replay one recording are slow together a little more or less often than by chance.
    EXPECT_NEAR(row.as_recorded.duty_cycle, expected, 0.015) << "seed " << test::test_seed();
    EXPECT_EQ(row.as_recorded.queue_depth, 2);
    EXPECT_EQ(row.device_step_ps, 10 * kPsOfMs);
  }
  EXPECT_LT(made.rows.back().as_recorded.duty_cycle, 0.93) << "else nothing was to be found";
}

TEST(Plan, TheQueueIsTheShortestThatHolds) {
  const std::vector<std::int64_t> times = with_slow_ones(12'000, 3);
  const Plan made =
      plan(waiting_run(times), {.slice = "v4-128", .step_ps = 10 * kPsOfMs, .queue_max = 32});
  for (const PlannedHosts& row : made.rows) {
    SCOPED_TRACE(row.hosts);
    ASSERT_TRUE(row.queue_with_recorded_cores);
    const int depth = *row.queue_with_recorded_cores;
    EXPECT_GT(brute_force_duty_cycle(times, row.hosts, depth, 10), 0.985);
    if (depth == 1) continue;
    EXPECT_LT(brute_force_duty_cycle(times, row.hosts, depth - 1, 10), 0.997);
  }
  EXPECT_GT(*made.rows.back().queue_with_recorded_cores,
            *made.rows.front().queue_with_recorded_cores);
}

TEST(Plan, TheSlowestOfManyIsAQuantileOfOne) {
  std::vector<std::int64_t> times = with_slow_ones(4000, 0);
  const Plan made = plan(waiting_run(times), {.step_ps = 10 * kPsOfMs});
  std::ranges::sort(times);
  EXPECT_EQ(made.rows.size(), 11u);
  for (const PlannedHosts& row : made.rows) {
    const double share = std::pow(0.5, 1.0 / row.hosts);
    const double expected = static_cast<double>(
        times[static_cast<std::size_t>(share * static_cast<double>(times.size() - 1))]);
    EXPECT_NEAR(static_cast<double>(row.slowest_p50_ps), expected, 0.03 * expected) << row.hosts;
  }
}

TEST(Plan, MoreCoresMakeTheUsualBatchQuickerAndNotTheSlowOne) {
  // 20 ms on 4 cores are 10 on 8; a slow record's 100 ms stay.
  std::vector<std::int64_t> times(2000, 20 * kPsOfMs);
  const PlanOptions options{.slice = "v4-8", .step_ps = 10 * kPsOfMs, .queue_max = 64};
  const Plan even = plan(waiting_run(times), options);
  ASSERT_TRUE(even.rows[0].need);
  EXPECT_EQ(even.rows[0].need->cores, 8);
  EXPECT_FALSE(even.rows[0].queue_with_recorded_cores);
  EXPECT_NEAR(even.rows[0].as_recorded.duty_cycle, 0.5, 0.01);
  EXPECT_NEAR(even.cpu_s_of_batch, 0.08, 0.001);
  for (std::size_t i = 0; i < times.size(); i += 100) times[i] = 120 * kPsOfMs;
  const Plan uneven = plan(waiting_run(times), options);
  ASSERT_TRUE(uneven.rows[0].need);
  // 101 ms and 99 of 80 / cores must not exceed a hundred steps: nine cores, and a queue that
  // lasts for the slow one.
  EXPECT_EQ(uneven.rows[0].need->cores, 9);
  EXPECT_GE(uneven.rows[0].need->queue_depth, 8);
}

TEST(Plan, SaysWhatNoNumberOfCoresHelps) {
  const RecordedRun run =
      test::recording_of({.service_ps = std::vector<std::int64_t>(500, 20 * kPsOfMs)});
  const Plan made = plan(run, {.slice = "v4-64", .cores_max = 64});
  EXPECT_FALSE(made.rows.back().need);
  EXPECT_EQ(made.verdict,
            "4 cores and a queue of 2 a host, as recorded, reach 50.0 % with 8 hosts, not 99 %: "
            "nothing up to 64 cores and a queue of 64 does, since a batch takes 20 ms with 64 "
            "cores, and the step only 10 ms: infeed profile names the stage that holds it up.");
  ASSERT_EQ(made.measured.size(), 1u);
  EXPECT_NEAR(made.measured[0].duty_cycle, made.rows[0].as_recorded.duty_cycle, 0.01);
}

TEST(Plan, TheVerdictNamesWhereTheTailBegins) {
  std::vector<std::int64_t> times(3000, 8 * kPsOfMs);
  for (std::size_t i = 7; i < times.size(); i += 1000) times[i] = 60 * kPsOfMs;
  const Plan made = plan(waiting_run(times), {.step_ps = 10 * kPsOfMs});
  EXPECT_THAT(made.verdict,
              HasSubstr("Up to 2 hosts 4 cores and a queue of 2 a host, as recorded, "
                        "hold a duty cycle of 99 %; the slowest of 1,024 hosts costs "));
  EXPECT_THAT(made.verdict, HasSubstr(" %: a queue of "));
  EXPECT_EQ(
      plan(waiting_run(std::vector<std::int64_t>(1500, 8 * kPsOfMs)), {.step_ps = 10 * kPsOfMs})
          .verdict,
      "4 cores and a queue of 2 a host, as recorded, hold a duty cycle of 99 % up to 1,024 "
      "hosts.");
}

TEST(Plan, HasAllThatStorageGives) {
  const Plan made =
      plan(waiting_run(std::vector<std::int64_t>(1500, 5 * kPsOfMs)), {.step_ps = 10 * kPsOfMs});
  EXPECT_EQ(made.storage_bytes_of_batch, 3200);
  EXPECT_EQ(made.batch_bytes, 3200);
  EXPECT_EQ(made.batch_examples, 32);
  EXPECT_NEAR(made.rows[0].storage_bytes_per_s, 320'000, 3200);
  EXPECT_NEAR(made.rows[10].storage_bytes_per_s, 1024 * 320'000, 1024 * 3200);
}

TEST(Plan, AModelsStepGrowsWithTheSlice) {
  const RecordedRun run = waiting_run(std::vector<std::int64_t>(1500, 5 * kPsOfMs));
  const Plan made = plan(run, {.slice = "v3-128", .model = "resnet50"});
  ASSERT_EQ(made.rows.size(), 5u);
  EXPECT_EQ(made.rows[0].slice, "v3-8");
  EXPECT_EQ(made.rows[1].slice, "v3:2x4");
  EXPECT_EQ(made.rows[4].slice, "v3-128");
  EXPECT_TRUE(made.measured.empty()) << "it was no step of that model";
  for (const PlannedHosts& row : made.rows) {
    const Slice slice = Slice::parse(row.slice);
    EXPECT_EQ(slice.num_hosts(), row.hosts);
    EXPECT_EQ(row.device_step_ps,
              step_time(workload("resnet50"), slice, 32 * row.hosts).total_ps());
  }
  EXPECT_GT(made.rows[4].device_step_ps, made.rows[0].device_step_ps);
}

TEST(Plan, FewBatchesShowFewHosts) {
  EXPECT_EQ(batches_needed(1), 100u);
  EXPECT_EQ(batches_needed(128), 186u);
  EXPECT_EQ(batches_needed(1024), 1478u);
  const auto run_of = [](std::size_t batches) {
    return waiting_run(std::vector<std::int64_t>(batches, 5 * kPsOfMs));
  };
  const Plan made = plan(run_of(400), {.step_ps = 10 * kPsOfMs});
  EXPECT_EQ(made.rows.back().hosts, 256);
  ASSERT_EQ(made.notes.size(), 1u);
  EXPECT_EQ(made.notes[0], "400 batches show the slowest of 256 hosts; 1,478 are needed for 1,024");
  const auto refused = [&](std::size_t batches, const PlanOptions& options) {
    return error_of([&] { plan(run_of(batches), options); }).message();
  };
  EXPECT_EQ(refused(400, {.slice = "v4-8192"}),
            "the recording has 400 batches, but of the 1,024 hosts of v4-8192 one is slower than "
            "all of these in most steps; record at least 1,478, or plan for up to 256 hosts");
  EXPECT_EQ(refused(57, {}),
            "the recording has too few batches, 57; at least 100 show how slow the slow ones are, "
            "and 1,478 the slowest of 1,024 hosts: record a longer run");
  EXPECT_EQ(refused(1500, {.slice = "v5p-12288"}),
            "v5p-12288 has 1,536 hosts; expected a slice of at most 1,024");
}

/// A rank that waited for others in 19 of 20 steps had a duty cycle of 100 %.
TEST(Plan, WaitingForOtherRanksIsNoWork) {
  constexpr std::uint64_t kMs = 1'000'000;
  RecordedRun run;
  for (std::uint64_t i = 0; i < 100; ++i) {
    run.steps.push_back({.number = i,
                         .begin_ns = run.end_ns(),
                         .compute_ns = 9 * kMs,
                         .all_reduce_ns = (i % 20 == 0 ? 1 : 11) * kMs});
  }
  const MeasuredHosts measured = measured_hosts(run, 4);
  EXPECT_EQ(measured.steps, 100u);
  EXPECT_NEAR(measured.duty_cycle, 10 / 19.5, 1e-9);
}

TEST(Plan, RefusesWhatItCantPlan) {
  RecordedRun run = waiting_run(std::vector<std::int64_t>(200, 5 * kPsOfMs));
  const auto refused = [&](const PlanOptions& options) {
    return error_of([&] { plan(run, options); }).message();
  };
  EXPECT_THAT(refused({.slice = "v4-9"}), HasSubstr("unknown slice 'v4-9'"));
  EXPECT_THAT(refused({.model = "resnet51"}), HasSubstr("resnet51"));
  EXPECT_THAT(refused({.slice = "v3-8", .model = "gpt2-1.5b"}), HasSubstr("no batch fits"));
  EXPECT_THAT(refused({.duty_cycle = 1}), HasSubstr("expected above 0 and below 1"));
  EXPECT_THAT(refused({.duty_cycle = std::nan("")}), HasSubstr("expected above 0"));
  EXPECT_THAT(refused({.queue_max = 0}), HasSubstr("at least 1"));
  for (RecordedStage& stage : run.stages) {
    if (stage.name == "batch") stage.name = "zip";
  }
  EXPECT_THAT(refused({.model = "lenet5"}), HasSubstr("a model's batch isn't known"));
  for (RecordedStep& step : run.steps) step.compute_ns = 0;
  EXPECT_THAT(refused({}), HasSubstr("give a step's time (--step-us)"));
  run.steps.clear();
  EXPECT_THAT(refused({}), HasSubstr("there is no step in the recording"));
  EXPECT_THAT(error_of([&] { measured_hosts(run, 2); }).message(),
              HasSubstr("there is no step in the recording behind its begin"));
  std::stop_source stop;
  stop.request_stop();
  run = waiting_run(std::vector<std::int64_t>(200, 5 * kPsOfMs));
  EXPECT_EQ(error_of([&] { plan(run, {.stop = stop.get_token()}); }).code(), ErrorCode::cancelled);
}

}  // namespace
}  // namespace infeed::tools
