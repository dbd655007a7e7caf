#include <array>
#include <atomic>
#include <random>
#include <thread>

#include "cpu_group.h"
#include "fault_kind.h"

namespace infeed::blaming {
namespace {

using namespace std::chrono_literals;
using test::compute_for;
using test::Judgement;
using test::PlantedRecords;
using test::run_recorded;
using test::Stall;
using test::StallClock;
using test::StallLog;
using tools::Cause;

constexpr std::int64_t kEndless = std::int64_t{1} << 50;

test::IsRight names(Cause cause) {
  return [cause](const tools::LateStep& late, const tools::SlowCall*, const Stall&) {
    return late.cause == cause;
  };
}

/// Merges stalls that follow each other closely.
std::vector<Stall> together(const std::vector<Stall>& stalls, std::chrono::milliseconds gap) {
  std::vector<Stall> phases;
  for (const Stall& stall : stalls) {
    if (!phases.empty() && stall.begin - phases.back().end < gap) {
      phases.back().end = stall.end;
    } else {
      phases.push_back(stall);
    }
  }
  return phases;
}

std::string recording_in(const Round& round) { return round.folder + "/run.profile"; }

/// For some batches of each hundred the function takes longer than the step, but no call is long.
Judgement starved(const Round& round) {
  constexpr std::int64_t kBatch = 16;
  std::mt19937_64 random(round.seed);
  const auto offset =
      static_cast<std::int64_t>(std::uniform_int_distribution<std::uint64_t>(20, 60)(random));
  StallLog log;
  const auto function = [&log, offset](std::int64_t number) {
    const std::int64_t at = number / kBatch % 100 - offset;
    if (at < 0 || at >= 30) {
      compute_for(20us);
    } else {
      const auto begin = StallClock::now();
      compute_for(400us);
      log.add({begin, StallClock::now(), {}});
    }
    return number;
  };
  const auto explained =
      run_recorded(range(kEndless) | map(function, {.name = "tired"}) | batch(kBatch) | prefetch(4),
                   recording_in(round), {.steps_max = 400});
  return judge(explained, together(log.stalls(), 20ms),
               [&](const tools::LateStep& late, const tools::SlowCall*, const Stall&) {
                 return late.cause == Cause::starved && late.stage >= 0 &&
                        explained.run.stages[static_cast<std::size_t>(late.stage)].name == "map";
               });
}

/// For a while the process may use only a tenth of a core.
Judgement quota(const Round& round) {
  std::mt19937_64 random(round.seed);
  std::uniform_int_distribution<int> between_ms(200, 400);
  const CpuGroup group;
  StallLog log;
  std::atomic<bool> is_over{false};
  const auto function = [](std::int64_t number) {
    compute_for(60us);
    return number;
  };
  std::thread warden([&] {
    group.leave();
    while (!is_over) {
      std::this_thread::sleep_for(std::chrono::milliseconds(between_ms(random)));
      const auto begin = StallClock::now();
      group.set_quota(10);
      std::this_thread::sleep_for(350ms);
      group.set_quota(0);
      log.add({begin, StallClock::now(), {}});
    }
  });
  const auto explained = run_recorded(range(kEndless) | map(function) | batch(16) | prefetch(4),
                                      recording_in(round), {.steps_max = 700});
  is_over = true;
  warden.join();
  return judge(explained, log.stalls(), names(Cause::quota), test::Lengthens::whole_step);
}

/// Between two steps the loop does other work, such as an evaluation.
Judgement paused(const Round& round) {
  const PlantedRecords records(round.folder, {});
  std::mt19937_64 random(round.seed);
  std::bernoulli_distribution pauses(0.05);
  StallLog log;
  const auto pause = [&](int step) {
    if (step == 0 || !pauses(random)) return;
    const auto begin = StallClock::now();
    std::this_thread::sleep_for(50ms);
    log.add({begin, StallClock::now(), {}});
  };
  const auto explained = run_recorded(
      infeed::records(records.files()) | map(records.slow_function([] {})) | batch(16) | prefetch(),
      recording_in(round), {.steps_max = 400, .between = pause});
  return judge(explained, log.stalls(), names(Cause::paused_consumer), test::Lengthens::whole_step);
}

/// Bursts of slow elements, which reading ahead hides unless the memory limit forbids it. The limit
/// caused all late steps: those of bursts, also of the first one behind it, whose queue isn't full
/// again, and those under it and just behind it, for which nothing was read ahead.
Judgement memory_limit(const Round& round) {
  constexpr std::int64_t kBatch = 16;
  constexpr std::int64_t kPeriod = 60;
  using Payload = std::array<float, 4096>;
  std::mt19937_64 random(round.seed);
  const auto offset =
      static_cast<std::int64_t>(std::uniform_int_distribution<std::uint64_t>(30, 55)(random));
  StallLog log;
  const auto function = [&log, offset](std::int64_t number) {
    const std::int64_t at = number / kBatch % kPeriod - offset;
    const bool is_burst = at >= 0 && at < 4;
    const auto begin = StallClock::now();
    compute_for(is_burst ? 400us : 30us);
    if (is_burst) log.add({begin, StallClock::now(), {}});
    Payload payload;
    payload.fill(static_cast<float>(number));
    return payload;
  };
  const std::string file = recording_in(round);
  auto iterator = (range(kEndless) | map(function) | batch(kBatch) | prefetch(64))
                      .iterate({.recording = {.file = file}});
  const auto first_step = StallClock::now();
  StepTimer timer(iterator);
  std::vector<Stall> limited;
  for (int i = 0; i < 500; ++i) {
    // Room for four batches.
    if (i % 200 == 100) {
      iterator.set_memory_limit(1 << 20);
      limited.push_back({StallClock::now(), {}, {}});
    }
    if (i % 200 == 0) iterator.set_memory_limit(0);
    iterator.next();
    if (i % 200 == 0 && !limited.empty()) limited.back().end = StallClock::now();
    timer.begin();
    std::this_thread::sleep_for(2ms);
    timer.end();
  }
  iterator = {};
  const auto explained = test::explained_run(file, first_step);
  std::vector<Stall> planted = together(log.stalls(), 10ms);
  planted.insert(planted.end(), limited.begin(), limited.end());
  return judge(explained, planted, names(Cause::memory_limit));
}

/// Nothing is planted.
Judgement healthy(const Round& round) {
  const PlantedRecords records(round.folder, {});
  const auto explained =
      run_recorded(infeed::records(records.files()) | repeat() | map(records.slow_function([] {})) |
                       batch(16) | prefetch(),
                   recording_in(round), {.steps_max = 1000});
  return judge(explained, {}, names(Cause::unknown));
}

}  // namespace

std::vector<FaultKind> surrounding_faults() {
  return {
      {"a starved queue", starved},
      {"CPU quota by a control group", quota},
      {"paused consumer", paused},
      {"memory limit", memory_limit},
      {"1,000 healthy steps", healthy, true},
  };
}

}  // namespace infeed::blaming
