#include <memory>
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

/// Names the record alone: a block of cheap elements is not enough.
test::IsRight names_one_record(Cause cause) {
  return [named = names_record(cause)](const tools::LateStep& late, const tools::SlowCall* call,
                                       const test::Stall& stall) {
    return named(late, call, stall) && call->place->count == 1;
  };
}

/// The records of a fault, and the usual time of one.
struct Usual {
  PlantedRecords::Shape shape = {};
  std::chrono::microseconds element{10};
  bool advises_no_cache = false;  ///< the map draws, so each pass has others
};

/// 1 % of the records are slow; `describe` makes a pipeline of batches.
template <class Stalls, class Describe>
FaultKind slow_function(std::string name, Cause cause, Stalls stall, Describe describe,
                        Usual usual = {}) {
  const auto run = [cause, stall, describe, usual](const Round& round) {
    PlantedRecords records(round.folder, usual.shape);
    records.plant(kSlowShare, round.seed);
    StallLog log;
    const auto explained =
        run_recorded(describe(records, records.slow_function(stall, &log, usual.element)),
                     round.folder + "/run.profile", {.steps_max = kSteps});
    Judgement judged = judge(explained, log.stalls(), names_one_record(cause));
    for (const tools::WhatIf& what_if : explained.report.what_ifs) {
      if (!usual.advises_no_cache || what_if.kind != tools::ChangeKind::cache) continue;
      if (what_if.stage >= 0 &&
          explained.run.stages[static_cast<std::size_t>(what_if.stage)].name != "map")
        continue;
      ++judged.false_blame;
      judged.wrong += "advises " + what_if.change + "\n";
    }
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
  const Usual cheap{.shape = {.records_per_file = 10'000}, .element = 0us};
  const Usual drawn{.shape = cheap.shape, .element = 10us, .advises_no_cache = true};
  const auto sleep = [] { std::this_thread::sleep_for(kStall); };
  return {
      slow_function("slow map on 1 % of elements", Cause::slow_element, compute_long, serial),
      slow_function("the same, two threads behind a shuffle", Cause::slow_element, compute_long,
                    shuffled),
      slow_function("a function that sleeps behind an interleave", Cause::waiting_function, sleep,
                    interleaved),
      slow_function("lock held by the user's function", Cause::waiting_function, wait_for_lock,
                    serial),
      slow_function("cheap elements behind a shuffle of 10,000, some wait", Cause::waiting_function,
                    sleep, behind_a_large_shuffle, cheap),
      slow_function("the same, on two threads", Cause::waiting_function, sleep, on_two_threads,
                    cheap),
      slow_function("the same, behind an interleave and the shuffle", Cause::waiting_function,
                    sleep, interleaved_and_shuffled, cheap),
      slow_function("a map that draws, behind a shuffle of 10,000; no cache is advised",
                    Cause::waiting_function, sleep, drawing, drawn),
  };
}

}  // namespace infeed::blaming
