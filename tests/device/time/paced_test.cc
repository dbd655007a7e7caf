#include "infeed/device/paced.h"

#include <algorithm>
#include <condition_variable>
#include <cstdint>
#include <cstdlib>
#include <future>
#include <mutex>
#include <span>
#include <thread>

#include <infeed/error.h>

#include "device/error_message.h"
#include "quiet_run.h"
#include "thrown_error.h"

namespace infeed {
namespace {

using std::chrono::milliseconds;
using test::holds_in_a_quiet_run;
using SteadyClock = std::chrono::steady_clock;

constexpr std::int64_t kPsPerMs = 1'000'000'000;

BatchSource endless(std::int64_t examples = 64) {
  return {.next = [examples](DeviceBatch& out) {
    out = {.examples = examples, .bytes = examples * 784};
    return true;
  }};
}

/// Works for `duration` for every batch, as a pipeline would.
BatchSource busy(std::chrono::microseconds duration) {
  return {.next = [duration](DeviceBatch& out) {
    const auto until = SteadyClock::now() + duration;
    while (SteadyClock::now() < until) {
    }
    out = {.examples = 64, .bytes = 64 * 784};
    return true;
  }};
}

void expect_adds_up(const StepSummary& s) {
  EXPECT_EQ(s.infeed_wait_ps + s.transfer_ps + s.idle_ps + s.compute_ps + s.all_reduce_ps,
            s.step_ps);
  EXPECT_EQ(s.step_ps, s.span_ps);
}

TEST(Paced, AFastSourceIsNotInputBoundAndKeepsTheDeadlines) {
  PacedResult result;
  EXPECT_TRUE(holds_in_a_quiet_run([&] {
    const auto begin = SteadyClock::now();
    result = run_paced(Slice::parse("v3-8"), endless(),
                       {.step = {.compute_ps = 2 * kPsPerMs},
                        .queue_depth = 16,
                        .steps_max = 50,
                        .warmup_steps = 3});
    // No step is shorter than the model says.
    EXPECT_GE(SteadyClock::now() - begin, milliseconds(106));
    EXPECT_EQ(result.end, RunEnd::steps_max);
    EXPECT_EQ(result.warmup_steps, 3);
    EXPECT_EQ(result.summary.steps, 50);
    EXPECT_EQ(result.summary.examples, 50 * 64);
    EXPECT_EQ(result.summary.compute_ps, 50 * 2 * kPsPerMs);
    expect_adds_up(result.summary);
    return result.summary.verdict == InputVerdict::not_bound && result.summary.duty_cycle > 0.9;
  })) << result.summary.sentence();
}

TEST(Paced, ASlowSourceIsHighlyInputBound) {
  PacedResult result;
  EXPECT_TRUE(holds_in_a_quiet_run([&] {
    result = run_paced(
        Slice::parse("v3-8"), busy(milliseconds(4)),
        {.step = {.compute_ps = kPsPerMs, .all_reduce_ps = kPsPerMs / 2}, .steps_max = 25});
    expect_adds_up(result.summary);
    return result.summary.verdict == InputVerdict::highly_bound &&
           result.summary.infeed_wait_share >= 0.55 &&  // 2.5 of 4 ms
           result.summary.duty_cycle < 0.6;
  })) << result.summary.sentence();
}

TEST(Paced, WithoutOverlapTheFetchIsPaidInEveryStep) {
  std::int64_t least_wait_ps = 0;
  const auto run = [&](InfeedFeed feed) {
    least_wait_ps = INT64_MAX;
    return run_paced(Slice::parse("v3-8"), busy(milliseconds(2)),
                     {.step = {.compute_ps = 3 * kPsPerMs},
                      .feed = feed,
                      .steps_max = 25,
                      .warmup_steps = 3,
                      .on_step = [&](std::span<const StepEvent> step) {
                        least_wait_ps = std::min(least_wait_ps, step[0].infeed_wait_ps);
                      }});
  };
  const PacedResult serial = run(InfeedFeed::on_demand);
  EXPECT_GE(serial.summary.infeed_wait_ps, 25 * 2 * kPsPerMs);
  EXPECT_GE(least_wait_ps, 2 * kPsPerMs);
  EXPECT_LE(serial.summary.steps_per_s, 200);
  expect_adds_up(serial.summary);
  // The quickest step alone: a busy machine holds others up.
  EXPECT_TRUE(holds_in_a_quiet_run([&] {
    expect_adds_up(run(InfeedFeed::ahead).summary);
    return least_wait_ps < 2 * kPsPerMs;
  }));
}

TEST(Paced, EndsAfterItsDurationNotCountingTheWarmUp) {
  EXPECT_TRUE(holds_in_a_quiet_run([] {
    const PacedResult result = run_paced(
        Slice::parse("v3-8"), endless(),
        {.step = {.compute_ps = kPsPerMs}, .duration = milliseconds(40), .warmup_steps = 10});
    EXPECT_EQ(result.end, RunEnd::duration);
    EXPECT_GE(result.summary.span_ps, 40 * kPsPerMs);
    return result.summary.steps > 10;
  }));
}

TEST(Paced, EndsWithTheDataAndCountsTheUnevenLastBatch) {
  int batches = 0;
  std::int64_t events = 0;
  const PacedResult result =
      run_paced(Slice::parse("v3-8"),
                {.next =
                     [&](DeviceBatch& out) {
                       out = {.examples = ++batches == 5 ? 3 : 16, .bytes = 1};
                       return batches <= 5;
                     }},
                {.step = {.compute_ps = kPsPerMs / 10}, .on_step = [&](auto step) {
                   events += static_cast<std::int64_t>(step.size());
                   EXPECT_EQ(step[7].replica, 7);
                 }});
  EXPECT_EQ(result.end, RunEnd::end_of_data);
  EXPECT_EQ(result.summary.steps, 5);
  EXPECT_EQ(result.summary.examples, 4 * 16 + 3);
  EXPECT_EQ(events, 5 * 8);
}

TEST(Paced, AnEmptySourceGivesAnEmptyAccount) {
  for (const InfeedFeed feed : {InfeedFeed::ahead, InfeedFeed::on_demand}) {
    const PacedResult result =
        run_paced(Slice::parse("v3-8"), {.next = [](DeviceBatch&) { return false; }},
                  {.step = {.compute_ps = 1}, .feed = feed, .warmup_steps = 4});
    EXPECT_EQ(result.end, RunEnd::end_of_data);
    EXPECT_EQ(result.summary.steps, 0);
    EXPECT_EQ(result.warmup_steps, 0);
  }
}

TEST(Paced, OfSeveralHostsOneIsPacedAndItSaysSo) {
  const Slice slice = Slice::parse("v3-32");
  std::size_t events = 0;
  const PacedResult result =
      run_paced(slice, endless(8),
                {.step = {.compute_ps = kPsPerMs}, .steps_max = 15, .on_step = [&](auto step) {
                   events += step.size();
                 }});
  EXPECT_EQ(result.summary.examples, 15 * 8);
  EXPECT_EQ(events, 15U * 8);
  EXPECT_EQ(result.hosts, 4);
  EXPECT_EQ(result.replicas, 8);
  EXPECT_EQ(result.share, "v3-32 has 4 hosts; the share of one of them is paced: 8 of 32 replicas");
  expect_adds_up(result.summary);
  const PacedResult one = run_paced(Slice::parse("v3-8"), endless(),
                                    {.step = {.compute_ps = kPsPerMs}, .steps_max = 1});
  EXPECT_EQ(one.share, "");
  EXPECT_EQ(one.hosts, 1);
}

TEST(Paced, AStoppedPacingThreadIsNoInfeedWait) {
  // 50 ms, of which the queue's 8 batches and the one in the host's hand cover 18.
  const PacedOptions options{.step = {.compute_ps = 2 * kPsPerMs},
                             .queue_depth = 8,
                             .steps_max = 60,
                             .warmup_steps = 12,
                             .on_step = [](std::span<const StepEvent> step) {
                               if (step[0].step != 30) return;
                               const auto until = SteadyClock::now() + milliseconds(50);
                               while (SteadyClock::now() < until) {
                               }
                             }};
  PacedResult result;
  EXPECT_TRUE(holds_in_a_quiet_run([&] {
    result = run_paced(Slice::parse("v3-8"), endless(), options);
    EXPECT_EQ(result.lateness.wakes, 60);
    EXPECT_GE(result.wall_ns, 150'000'000);
    expect_adds_up(result.summary);
    // No time is lost: the account is the wall's, but for the last wake-up.
    const auto lost_ns =
        static_cast<double>(result.wall_ns) - static_cast<double>(result.summary.span_ps) / 1e3;
    // The host's thread may itself wait for a core, which counts as the input's time.
    return result.lateness.max_ns >= 48'000'000 && result.summary.infeed_wait_ps < 5 * kPsPerMs &&
           result.summary.idle_ps >= 25 * kPsPerMs &&
           result.summary.verdict == InputVerdict::not_bound &&
           std::abs(lost_ns) < 0.1 * static_cast<double>(result.wall_ns);
  })) << result.summary.sentence();
}

TEST(Paced, TellsHowLongTheSourceTook) {
  std::vector<std::int64_t> service_ns;
  run_paced(Slice::parse("v3-8"), busy(milliseconds(2)),
            {.step = {.compute_ps = kPsPerMs},
             .steps_max = 8,
             .warmup_steps = 2,
             .on_service = [&](std::int64_t ns) { service_ns.push_back(ns); }});
  EXPECT_EQ(service_ns.size(), 8U);
  for (const std::int64_t ns : service_ns) EXPECT_GE(ns, 2'000'000);
}

TEST(Paced, ASlowLinkShowsAsTransfer) {
  // 4 chips at 15 GB/s: 180 MB take 3 ms, the step 1 ms.
  const BatchSource source{.next = [](DeviceBatch& out) {
    out = {.examples = 8, .bytes = 180'000'000};
    return true;
  }};
  PacedResult result;
  EXPECT_TRUE(holds_in_a_quiet_run([&] {
    result = run_paced(Slice::parse("v3-8"), source,
                       {.step = {.compute_ps = kPsPerMs}, .steps_max = 20, .warmup_steps = 2});
    expect_adds_up(result.summary);
    return result.summary.verdict == InputVerdict::not_bound &&
           std::abs(result.summary.transfer_ps - 20 * 2 * kPsPerMs) < 5 * kPsPerMs;
  })) << result.summary.sentence();
}

TEST(Paced, ErrorsOfTheSourceComeOut) {
  for (const InfeedFeed feed : {InfeedFeed::ahead, InfeedFeed::on_demand}) {
    int batches = 0;
    const BatchSource source{.next = [&](DeviceBatch& out) {
      if (++batches == 4) throw Error(ErrorCode::data_loss, "broken").at_file("a.tfrecord");
      out = {.examples = 8};
      return true;
    }};
    const Error error = error_of([&] {
      run_paced(Slice::parse("v3-8"), source, {.step = {.compute_ps = kPsPerMs}, .feed = feed});
    });
    EXPECT_EQ(error.message(), "broken");
    EXPECT_EQ(error.file(), "a.tfrecord");
  }
}

/// A source that hands out `ready` batches and then blocks until it is cancelled.
struct BlockingSource {
  std::mutex mutex;
  std::condition_variable changed;
  bool cancelled = false;
  int left = 3;
  std::promise<void> blocked;

  BatchSource source() {
    return {.next =
                [this](DeviceBatch& out) {
                  std::unique_lock lock(mutex);
                  if (left-- > 0) {
                    out = {.examples = 8};
                    return true;
                  }
                  blocked.set_value();
                  changed.wait(lock, [this] { return cancelled; });
                  return false;
                },
            .cancel =
                [this] {
                  const std::lock_guard lock(mutex);
                  cancelled = true;
                  changed.notify_all();
                }};
  }
};

TEST(Paced, AStopWakesABlockedSourceWithin100Ms) {
  for (const InfeedFeed feed : {InfeedFeed::ahead, InfeedFeed::on_demand}) {
    EXPECT_TRUE(holds_in_a_quiet_run([feed] {
      BlockingSource blocking;
      std::stop_source stop;
      SteadyClock::time_point asked;
      PacedResult result;
      {
        std::jthread stopper([&] {
          blocking.blocked.get_future().wait();
          asked = SteadyClock::now();
          stop.request_stop();
        });
        result =
            run_paced(Slice::parse("v3-8"), blocking.source(),
                      {.step = {.compute_ps = kPsPerMs}, .feed = feed, .stop = stop.get_token()});
      }
      EXPECT_EQ(result.end, RunEnd::cancelled);
      EXPECT_LE(result.summary.steps, 3);
      return SteadyClock::now() - asked < milliseconds(100);
    }));
  }
}

TEST(Paced, AStopEndsALongStepWithin100Ms) {
  EXPECT_TRUE(holds_in_a_quiet_run([] {
    std::stop_source stop;
    std::promise<void> first;
    SteadyClock::time_point asked;
    bool told = false;
    const BatchSource source{.next = [&](DeviceBatch& out) {
      if (!told) first.set_value();
      told = true;
      out = {.examples = 8};
      return true;
    }};
    std::jthread stopper([&] {
      first.get_future().wait();
      asked = SteadyClock::now();
      stop.request_stop();
    });
    const PacedResult result =
        run_paced(Slice::parse("v3-8"), source,
                  {.step = {.compute_ps = 3600 * 1000 * kPsPerMs}, .stop = stop.get_token()});
    EXPECT_EQ(result.end, RunEnd::cancelled);
    EXPECT_EQ(result.summary.steps, 0);
    return SteadyClock::now() - asked < milliseconds(100);
  }));
}

TEST(Paced, WrongOptionsAreRefused) {
  const Slice slice = Slice::parse("v3-8");
  const auto message = [&](const PacedOptions& options) {
    return error_message([&] { run_paced(slice, endless(), options); });
  };
  const PacedOptions good{.step = {.compute_ps = 1}, .steps_max = 1};
  PacedOptions options = good;
  options.step = {};
  EXPECT_EQ(message(options),
            "a step of 0 ps compute and 0 ps all-reduce cannot be paced; take it from step_time(): "
            "above 0, and a day at most");
  for (const std::int64_t ps : {25 * 3600 * 1000 * kPsPerMs, INT64_MAX}) {
    options.step = {.compute_ps = ps, .all_reduce_ps = 1};
    EXPECT_THAT(message(options), testing::HasSubstr("and a day at most"));
  }
  options = good;
  options.duration = std::chrono::nanoseconds::max();
  EXPECT_THAT(message(options), testing::HasSubstr("is longer than 100 days"));
  options = good;
  options.warmup_steps = -1;
  EXPECT_EQ(message(options),
            "steps_max 1, duration 0 ns and warmup_steps -1 must not be negative");
  options = good;
  options.queue_depth = 0;
  EXPECT_THAT(message(options), testing::HasSubstr("depth of 1"));
}

}  // namespace
}  // namespace infeed
