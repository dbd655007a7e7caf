#include <mutex>
#include <thread>

#include "fault_kind.h"

namespace infeed::blaming {
namespace {

using namespace std::chrono_literals;
using test::compute_for;
using test::Judgement;
using test::PlantedRecords;
using test::run_recorded;
using test::StallLog;
using tools::Cause;

constexpr auto kStall = 40ms;
constexpr double kSlowShare = 0.01;
constexpr int kSteps = 300;

/// Counts a cache behind the map as blamed falsely: each pass would have the shuffle's order, and
/// the draws, of the first.
void judge_advice(const test::ExplainedRun& explained, Judgement& judged) {
  for (const tools::WhatIf& what_if : explained.report.what_ifs) {
    if (what_if.kind != tools::ChangeKind::cache) continue;
    if (explained.run.stages.at(static_cast<std::size_t>(what_if.stage)).name != "map") continue;
    ++judged.false_blame;
    judged.wrong += "advises " + what_if.change + "\n";
  }
}

/// 1 % of the records are slow; `describe` makes a pipeline of batches.
template <class Stalls, class Describe>
FaultKind slow_function(std::string name, Cause cause, Stalls stall, Describe describe) {
  const auto run = [cause, stall, describe](const Round& round) {
    PlantedRecords records(round.folder, {});
    records.plant(kSlowShare, round.seed);
    StallLog log;
    const auto explained = run_recorded(describe(records, records.slow_function(stall, &log)),
                                        round.folder + "/run.profile", {.steps_max = kSteps});
    return judge(explained, log.stalls(), names_record(cause));
  };
  return {std::move(name), run};
}

/// Judges slow calls rather than late steps: cheap elements come so far ahead of the steps that few
/// of them make one late. Right is the record alone.
Judgement judge_calls(const test::ExplainedRun& explained, const PlantedRecords& records) {
  Judgement judged;
  for (const tools::SlowCall& call : explained.run.slow_calls) {
    if (explained.run.stages.at(static_cast<std::size_t>(call.stage)).name != "map") continue;
    if (std::chrono::nanoseconds(call.took_ns) < kStall) continue;
    ++judged.injected;
    if (call.place && call.place->count == 1) {
      ++(records.is_slow(*call.place) ? judged.blamed_right : judged.false_blame);
    } else {
      judged.wrong += "element " + std::to_string(call.position) + ": " + call.untraceable + "\n";
    }
  }
  return judged;
}

/// Cheap elements, a few of which wait; `describe` makes a pipeline of batches that draws.
template <class Describe>
FaultKind cheap_function(std::string name, Describe describe) {
  const auto run = [describe](const Round& round) {
    PlantedRecords records(round.folder, {.records_per_file = 10'000});
    records.plant(kSlowShare, round.seed);
    const auto stall = [] { std::this_thread::sleep_for(kStall); };
    const auto explained =
        run_recorded(describe(records, records.slow_function(stall, nullptr, 0us)),
                     round.folder + "/run.profile", {.steps_max = kSteps});
    Judgement judged = judge_calls(explained, records);
    judge_advice(explained, judged);
    return judged;
  };
  return {std::move(name), run};
}

void compute_long() { compute_for(kStall); }

/// Waits for a lock that another thread holds.
void wait_for_lock() {
  std::mutex mutex;
  std::mutex has_begun;
  has_begun.lock();
  std::thread holder([&] {
    const std::lock_guard lock(mutex);
    has_begun.unlock();
    std::this_thread::sleep_for(kStall);
  });
  has_begun.lock();
  { const std::lock_guard lock(mutex); }
  holder.join();
}

}  // namespace

test::IsRight names_record(Cause cause) {
  return
      [cause](const tools::LateStep& late, const tools::SlowCall* call, const test::Stall& stall) {
        if (late.cause != cause || call == nullptr || !call->place || !stall.place) return false;
        const auto& [file, record] = *stall.place;
        return call->place->file == file && record >= call->place->record &&
               record < call->place->record + call->place->count;
      };
}

std::vector<FaultKind> function_faults() {
  const auto serial = [](const PlantedRecords& records, auto function) {
    return infeed::records(records.files()) | map(function) | batch(16) | prefetch();
  };
  const auto shuffled = [](const PlantedRecords& records, auto function) {
    return infeed::records(records.files()) | shuffle({.buffer = 300, .seed = 5}) |
           map(function, {.parallelism = 2}) | batch(16) | prefetch();
  };
  const auto one_file = [](const std::string& file) { return infeed::records(file); };
  const auto interleaved = [one_file](const PlantedRecords& records, auto function) {
    return slices(records.files()) |
           interleave(one_file, {.cycle_length = 3, .block_length = 2, .parallelism = 2}) |
           map(function) | batch(16) | prefetch();
  };
  const auto behind_a_large_shuffle = [](const PlantedRecords& records, auto function) {
    return infeed::records(records.files()) | shuffle({.buffer = 10'000, .seed = 5}) |
           map(function) | batch(16) | prefetch();
  };
  const auto on_two_threads = [](const PlantedRecords& records, auto function) {
    return infeed::records(records.files()) | shuffle({.buffer = 10'000, .seed = 5}) |
           map(function, {.parallelism = 2}) | batch(16) | prefetch();
  };
  const auto interleaved_and_shuffled = [one_file](const PlantedRecords& records, auto function) {
    return slices(records.files()) |
           interleave(one_file, {.cycle_length = 3, .block_length = 2, .parallelism = 2}) |
           shuffle({.buffer = 10'000, .seed = 5}) | map(function, {.parallelism = 2}) | batch(16) |
           prefetch();
  };
  const auto drawing = [](const PlantedRecords& records, auto function) {
    const auto augment = [function](const Record& record, Rng& rng) {
      return function(record) + static_cast<std::int64_t>(rng() % 2);
    };
    return infeed::records(records.files()) | shuffle({.buffer = 10'000, .seed = 5}) |
           map(augment, {.parallelism = 2}) | batch(16) | prefetch();
  };
  const auto sleep = [] { std::this_thread::sleep_for(kStall); };
  return {
      slow_function("slow map on 1 % of elements", Cause::slow_element, compute_long, serial),
      slow_function("the same, two threads behind a shuffle", Cause::slow_element, compute_long,
                    shuffled),
      slow_function("a function that sleeps behind an interleave", Cause::waiting_function, sleep,
                    interleaved),
      slow_function("lock held by the user's function", Cause::waiting_function, wait_for_lock,
                    serial),
      cheap_function("cheap elements behind a shuffle of 10,000, 1 % wait", behind_a_large_shuffle),
      cheap_function("the same, on two threads", on_two_threads),
      cheap_function("the same, behind an interleave and the shuffle", interleaved_and_shuffled),
      cheap_function("a map that draws, behind a shuffle of 10,000; no cache is advised", drawing),
  };
}

}  // namespace infeed::blaming
