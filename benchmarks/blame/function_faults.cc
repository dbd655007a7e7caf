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
  const auto interleaved = [](const PlantedRecords& records, auto function) {
    const auto one_file = [](const std::string& file) { return infeed::records(file); };
    return slices(records.files()) |
           interleave(one_file, {.cycle_length = 3, .block_length = 2, .parallelism = 2}) |
           map(function) | batch(16) | prefetch();
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
  };
}

}  // namespace infeed::blaming
