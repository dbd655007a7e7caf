#include "infeed/device/virtual_run.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>

#include <infeed/pipeline/philox.h>

#include "cpu_time.h"
#include "device/error_message.h"
#include "matchers.h"
#include "test_seed.h"

namespace infeed {
namespace {

/// start of each step, from its events.
struct Starts {
  std::vector<std::int64_t> ps;
  VirtualOptions record(VirtualOptions options) {
    options.on_step = [this](std::span<const StepEvent> step) {
      ps.push_back(step[0].end_ps() - step[0].busy_ps());
    };
    return options;
  }
};

std::vector<std::int64_t> starts(const Slice& slice, const ServiceTimes& service,
                                 const VirtualOptions& options) {
  Starts result;
  run_virtual(slice, service, result.record(options));
  return result.ps;
}

const Slice& one_host() {
  static const Slice slice = Slice::parse("v3-8");  // 4 chips with links of 15 GB/s
  return slice;
}

VirtualOptions steps_of(std::int64_t compute_ps, std::int64_t steps, std::int32_t depth) {
  return {.batches = {{.examples = 64, .step = {.compute_ps = compute_ps}}},
          .steps = steps,
          .queue_depth = depth};
}

// Each expectation is worked out by hand from the recursion in virtual_run.h.

TEST(VirtualRun, ByHandWithDepth1) {
  // produce 30; start 30, end 40. produce 30 + 50 = 80; start 80, end 90. produce 80 + 10 = 90: in
  // time; start 90, end 100. produce max(90, end 40) + 10 = 100.
  const ServiceTimes service = ServiceTimes::in_order({30, 50, 10, 10});
  EXPECT_THAT(starts(one_host(), service, steps_of(10, 4, 1)), ElementsAre(30, 80, 90, 100));
}

TEST(VirtualRun, ByHandWithDepth2) {
  // A slow batch (45) between quick ones (5), steps of 20. Produced: 5; 10; 15; 15 + 45 = 60, as two wait
  // and the first is taken; max(60, end 25) + 5 = 65. start 5, 25, 45, 65, 85.
  const ServiceTimes service = ServiceTimes::in_order({5, 5, 5, 45, 5});
  EXPECT_THAT(starts(one_host(), service, steps_of(20, 5, 2)), ElementsAre(5, 25, 45, 65, 85));
  // Depth 1: the slow one begins when the second is taken, at end 25: 70. Then 75 is there at end 90.
  EXPECT_THAT(starts(one_host(), service, steps_of(20, 5, 1)), ElementsAre(5, 25, 45, 70, 90));
  // Nothing ahead: each step and each service one after the other.
  EXPECT_THAT(starts(one_host(), service, steps_of(20, 5, 0)), ElementsAre(5, 30, 55, 120, 145));
}

TEST(VirtualRun, ByHandTheSlowestHostHoldsUpAll) {
  const Slice slice = Slice::parse("v4-16");
  ASSERT_EQ(slice.num_hosts(), 2);
  const ServiceTimes service =
      ServiceTimes::of_hosts({ServiceTimes::constant(10), ServiceTimes::in_order({10, 100, 10})});
  std::vector<StepEvent> events;
  VirtualOptions options = steps_of(30, 3, 1);
  options.batches[0].examples = 5;
  options.on_step = [&events](std::span<const StepEvent> step) {
    events.insert(events.end(), step.begin(), step.end());
  };
  const VirtualResult result = run_virtual(slice, service, options);
  // starts 10, max(40, 20, 110) = 110, max(140, 120, 120) = 140.
  ASSERT_EQ(events.size(), 6U);
  EXPECT_EQ(events[2].begin_ps, 40);
  EXPECT_EQ(events[2].infeed_wait_ps, 0);
  EXPECT_EQ(events[2].idle_ps, 70);  // it has its data, and waits for the other
  EXPECT_EQ(events[3].infeed_wait_ps, 70);
  EXPECT_EQ(events[3].idle_ps, 0);
  EXPECT_EQ(events[3].end_ps(), 140);
  EXPECT_EQ(events[2].examples, 3);
  EXPECT_EQ(events[3].examples, 2);
  EXPECT_EQ(result.summary.infeed_wait_ps, 10 + 70);
  EXPECT_EQ(result.summary.span_ps, 170);
  EXPECT_EQ(result.summary.step_ps, 170);
  EXPECT_EQ(result.summary.examples, 15);
  EXPECT_EQ(result.steps, 3);
}

TEST(VirtualRun, ByHandTheLinkIsTheBottleneck) {
  // 4 chips share 240,000 bytes: 60,000 a chip at 15 GB/s are 4 us. Steps of 3 us.
  constexpr std::int64_t kPsPerUs = 1'000'000;
  VirtualOptions options = steps_of(3 * kPsPerUs, 3, 4);
  options.batches[0].bytes = 240'000;
  std::vector<StepEvent> events;
  options.on_step = [&events](std::span<const StepEvent> step) { events.push_back(step[0]); };
  run_virtual(one_host(), ServiceTimes::constant(kPsPerUs), options);
  // Produced after 1, 2, 3 us; the link is busy from 1 to 5, to 9, to 13.
  // Steps begin at 5, 9, 13.
  ASSERT_EQ(events.size(), 3U);
  EXPECT_EQ(events[0].infeed_wait_ps, kPsPerUs);
  EXPECT_EQ(events[0].transfer_ps, 4 * kPsPerUs);
  EXPECT_EQ(events[1].begin_ps, 8 * kPsPerUs);
  EXPECT_EQ(events[1].infeed_wait_ps, 0);
  EXPECT_EQ(events[1].transfer_ps, kPsPerUs);
  EXPECT_EQ(events[2].begin_ps, 12 * kPsPerUs);
  EXPECT_EQ(events[2].transfer_ps, kPsPerUs);
  EXPECT_EQ(events[2].idle_ps, 0);
}

TEST(VirtualRun, ByHandStepsShareALaunch) {
  VirtualOptions options = steps_of(10, 6, 2);
  options.launch_ps = 6;
  const ServiceTimes service = ServiceTimes::constant(1);
  EXPECT_THAT(starts(one_host(), service, options), ElementsAre(6, 22, 38, 54, 70, 86));
  options.steps_per_execution = 3;
  EXPECT_THAT(starts(one_host(), service, options), ElementsAre(6, 16, 26, 42, 52, 62));
  const VirtualResult result = run_virtual(one_host(), service, options);
  EXPECT_EQ(result.executions, 2);
  EXPECT_EQ(result.summary.infeed_wait_ps, 1);  // the first batch; the rest is the host's loop
  EXPECT_EQ(result.summary.idle_ps, 5 + 6);
  // A step that waits for input anyway hides the launch.
  options.steps_per_execution = 1;
  EXPECT_THAT(starts(one_host(), ServiceTimes::constant(20), options),
              ElementsAre(20, 40, 60, 80, 100, 120));
}

TEST(VirtualRun, ByHandANewShapeIsCompiledOnce) {
  VirtualOptions options = steps_of(10, 6, 2);
  options.batches = {{.examples = 64, .step = {.compute_ps = 10}},
                     {.examples = 64, .step = {.compute_ps = 10}},
                     {.examples = 7, .step = {.compute_ps = 4}}};
  options.compilation_ps = 100;
  const ServiceTimes service = ServiceTimes::constant(0);
  // 100 to 110, to 120; compiling until 220, to 224; then both are compiled: to 234, 244, 248.
  EXPECT_THAT(starts(one_host(), service, options), ElementsAre(100, 110, 220, 224, 234, 244));
  const VirtualResult result = run_virtual(one_host(), service, options);
  EXPECT_EQ(result.compilations, 2);
  EXPECT_EQ(result.summary.idle_ps, 200);
  EXPECT_EQ(result.summary.infeed_wait_ps, 0);
  EXPECT_EQ(result.summary.examples, 4 * 64 + 2 * 7);
  options.warmup_steps = 3;  // the usual way to leave that out
  options.steps = 3;
  const VirtualResult later = run_virtual(one_host(), service, options);
  EXPECT_EQ(later.summary.idle_ps, 0);
  EXPECT_EQ(later.summary.span_ps, 24);
  EXPECT_EQ(later.compilations, 2);
  EXPECT_EQ(later.steps, 6);
}

std::vector<std::int64_t> some_times(Philox& words, std::size_t count, std::uint32_t below) {
  std::vector<std::int64_t> times;
  for (std::size_t i = 0; i < count; ++i) times.push_back(words() % below);
  return times;
}

std::int64_t total_ps(const Slice& slice, const std::vector<std::vector<std::int64_t>>& hosts,
                      const VirtualOptions& options) {
  std::vector<ServiceTimes> times;
  for (const auto& host : hosts) times.push_back(ServiceTimes::in_order(host));
  return run_virtual(slice, ServiceTimes::of_hosts(times), options).summary.span_ps;
}

TEST(VirtualRun, NeverGetsFasterWhenABatchTakesLonger) {
  const Slice slice = Slice::parse("v3-32");
  Philox words(test::test_seed(), 0);
  for (int round = 0; round < 200; ++round) {
    const std::size_t steps = 1 + words() % 20;
    std::vector<std::vector<std::int64_t>> hosts;
    for (int h = 0; h < 4; ++h) hosts.push_back(some_times(words, steps, 100));
    VirtualOptions options = steps_of(1 + words() % 60, static_cast<std::int64_t>(steps),
                                      static_cast<std::int32_t>(words() % 5));
    options.batches[0].bytes = words() % 40'000;
    options.launch_ps = words() % 20;
    options.steps_per_execution = static_cast<std::int32_t>(1 + words() % 4);
    const std::int64_t before = total_ps(slice, hosts, options);
    hosts[words() % 4][words() % steps] += 1 + words() % 50;
    EXPECT_GE(total_ps(slice, hosts, options), before);
  }
}

TEST(VirtualRun, MoreDepthHelpsUntilTheBoundWithoutAnyLimit) {
  const Slice slice = Slice::parse("v3-32");
  Philox words(test::test_seed(), 1);
  for (int round = 0; round < 100; ++round) {
    constexpr std::int64_t kSteps = 12;
    std::vector<std::vector<std::int64_t>> hosts;
    for (int h = 0; h < 4; ++h) hosts.push_back(some_times(words, kSteps, 100));
    const std::int64_t compute_ps = 1 + words() % 80;
    // Without a limit the hosts never wait: the last end is the longest of all ways to it, which
    // leave the slowest host at some step and go on with steps only.
    std::int64_t bound = 0;
    std::vector<std::int64_t> produced(4);
    for (std::int64_t i = 0; i < kSteps; ++i) {
      for (std::size_t h = 0; h < 4; ++h) produced[h] += hosts[h][static_cast<std::size_t>(i)];
      bound = std::max(bound, *std::ranges::max_element(produced) + (kSteps - i) * compute_ps);
    }
    std::int64_t before = std::numeric_limits<std::int64_t>::max();
    for (const std::int32_t depth : {0, 1, 2, 3, 6, 11, 12, 1000}) {
      const std::int64_t total = total_ps(slice, hosts, steps_of(compute_ps, kSteps, depth));
      EXPECT_LE(total, before) << depth;
      EXPECT_GE(total, bound) << depth;
      before = total;
    }
    EXPECT_EQ(before, bound);
  }
}

TEST(VirtualRun, TheSlowestOf512HostsSitsInTheTailOfOne) {
  // Possible service times of a shared file system: a log-normal of 10 ms, sigma 0.5.
  Philox words(test::test_seed(), 2);
  std::vector<std::int64_t> samples;
  constexpr double kPi = 3.14159265358979;
  for (int i = 0; i < 100'000; ++i) {
    const double u = (words() + 0.5) / 4294967296.0;
    const double v = words() / 4294967296.0;
    const double normal = std::sqrt(-2 * std::log(u)) * std::cos(2 * kPi * v);
    samples.push_back(std::llround(1e10 * std::exp(0.5 * normal)));
  }
  const ServiceTimes service = ServiceTimes::drawn(samples, test::test_seed());
  const auto run = [&](const char* slice, std::int32_t depth) {
    VirtualOptions options = steps_of(15'000'000'000, 1000, depth);
    return run_virtual(Slice::parse(slice), service, options);
  };
  const VirtualResult one = run("v3-8", 2);
  EXPECT_NEAR(one.tail.step_p50_quantile, 0.5, 0.001);
  EXPECT_EQ(one.tail.host_p50_ps, one.tail.step_p50_ps);
  const auto begin = test::process_cpu_time();
  ASSERT_EQ(Slice::parse("v4-4096").num_hosts(), 512);
  const VirtualResult many = run("v4-4096", 2);
  EXPECT_LT(test::process_cpu_time() - begin, std::chrono::seconds(2));
  EXPECT_NEAR(many.tail.step_p50_quantile, std::pow(0.5, 1.0 / 512), 0.0004);  // 0.99865
  EXPECT_GT(many.tail.step_p50_ps, many.tail.host_p99_ps);
  // The same hosts, whose mean of 11.3 ms is well below a step, feed one host's slice with hardly
  // any wait, and hold up the large one.
  EXPECT_EQ(one.summary.verdict, InputVerdict::not_bound) << one.summary.sentence();
  EXPECT_NE(many.summary.verdict, InputVerdict::not_bound) << many.summary.sentence();
  EXPECT_LT(run("v4-4096", 16).summary.infeed_wait_share, many.summary.infeed_wait_share / 4);
}

TEST(VirtualRun, IsTheSameForTheSameSeed) {
  const std::vector<std::int64_t> samples{5, 80, 10, 60, 20};
  const Slice slice = Slice::parse("v3-32");
  const auto run = [&](const ServiceTimes& service) {
    return starts(slice, service, steps_of(30, 40, 2));
  };
  for (const auto kind : {&ServiceTimes::drawn, &ServiceTimes::replayed}) {
    EXPECT_EQ(run(kind(samples, 1)), run(kind(samples, 1)));
    EXPECT_NE(run(kind(samples, 1)), run(kind(samples, 2)));
  }
}

TEST(VirtualRun, TheSpanAloneIsThatOfTheSummary) {
  const Slice slice = Slice::parse("v3-32");
  Philox words(test::test_seed(), 3);
  const auto below = [&words](std::uint32_t limit) {
    return static_cast<std::int64_t>(words() % limit);
  };
  for (int round = 0; round < 200; ++round) {
    VirtualOptions options =
        steps_of(1 + below(60), 1 + below(40), static_cast<std::int32_t>(below(5)));
    options.batches.push_back(
        {.examples = 9, .bytes = below(40'000), .step = {.all_reduce_ps = 1 + below(60)}});
    options.batches[0].bytes = below(40'000);
    options.warmup_steps = below(20);
    options.launch_ps = below(20);
    options.steps_per_execution = static_cast<std::int32_t>(1 + below(4));
    options.compilation_ps = below(50);
    const std::vector<std::int64_t> samples = some_times(words, 1 + words() % 30, 100);
    const ServiceTimes service =
        round % 2 == 0 ? ServiceTimes::replayed(samples, 7) : ServiceTimes::drawn(samples, 7);
    const StepSummary summary = run_virtual(slice, service, options).summary;
    const VirtualSpan span = virtual_span(slice, service, options);
    EXPECT_EQ(span.steps, summary.steps);
    EXPECT_EQ(span.span_ps, summary.span_ps);
    EXPECT_NEAR(span.duty_cycle, summary.duty_cycle, 1e-12);
  }
}

TEST(VirtualRun, EndsWhenItIsStopped) {
  std::stop_source stop;
  VirtualOptions options = steps_of(10, 1'000'000'000'000, 2);
  options.stop = stop.get_token();
  options.on_step = [&stop](std::span<const StepEvent> step) {
    if (step[0].step == 4) stop.request_stop();
  };
  const VirtualResult result = run_virtual(one_host(), ServiceTimes::constant(1), options);
  EXPECT_EQ(result.steps, 5);
  EXPECT_EQ(result.summary.steps, 5);
}

TEST(VirtualRun, SaysWhatIsWrong) {
  const auto message = [](const ServiceTimes& service, VirtualOptions options,
                          void (*change)(VirtualOptions&)) {
    change(options);
    return error_message([&] { run_virtual(one_host(), service, options); });
  };
  const ServiceTimes one = ServiceTimes::constant(1);
  const VirtualOptions good = steps_of(10, 5, 2);
  EXPECT_EQ(message(one, good, [](VirtualOptions& o) { o.batches.clear(); }),
            "a virtual run of no batch; give at least one");
  EXPECT_THAT(message(one, good, [](VirtualOptions& o) { o.batches[0].step = {}; }),
              HasSubstr("0 ps compute and 0 ps all-reduce; expected a step of 1 to"));
  // Its transfer time, which doesn't fit into 64 bits, was none at all.
  EXPECT_THAT(message(one, good, [](VirtualOptions& o) { o.batches[0].bytes = INT64_MAX; }),
              HasSubstr("at most 1000000000000000 bytes"));
  EXPECT_EQ(message(one, good, [](VirtualOptions& o) { o.steps_per_execution = 0; }),
            "steps 5, warmup_steps 0, queue_depth 2, steps_per_execution 0; expected at least 1, "
            "0, 0 and 1, and at most 1000000000000 steps");
  EXPECT_EQ(message(one, good, [](VirtualOptions& o) { o.launch_ps = -1; }),
            "launch_ps -1 and compilation_ps 0; expected 0 to 1000000000000000000");
  EXPECT_EQ(message(ServiceTimes::of_hosts({one, one}), good, [](VirtualOptions&) {}),
            "slice v3-8 has 1 hosts, but service times of 2 were given; give each host's");
  EXPECT_EQ(message(ServiceTimes::constant(900'000'000'000'000'000), good,
                    [](VirtualOptions& o) { o.steps = 6; }),
            "after 6 steps more than 53 days have passed, which is all that a virtual run can "
            "hold; ask for fewer steps or shorter ones");
}

}  // namespace
}  // namespace infeed
