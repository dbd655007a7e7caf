#include <algorithm>
#include <atomic>
#include <chrono>
#include <fmt/format.h>
#include <functional>
#include <gtest/gtest.h>
#include <mutex>
#include <semaphore>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <infeed/infeed.h>
#include <infeed/pipeline/step_timer.h>

#include "profile/profile_report.h"
#include "quiet_run.h"
#include "temporary_folder.h"
#include "tools/profile/planted_stalls.h"
#include "tools/profile/slow_reads.h"

/// Stalls of known kinds at known records, in real pipelines. Each late step must be traced to the
/// stage, the cause and the record that made it late, and no other step to anything.
namespace infeed::tools {
namespace {

using namespace std::chrono_literals;
using test::compute_for;
using test::ExplainedRun;
using test::is_not_of_pipeline;
using test::PlantedRecords;
using test::run_recorded;
using test::SlowRead;
using test::SlowReads;

constexpr auto kStall = 60ms;

class Blame : public ::testing::Test {
 protected:
  // One record in 400, here and there.
  Blame() { records_.plant_every(123, 397); }

  template <class Do>
  auto slow_function(Do stall) const {
    return records_.slow_function(stall);
  }

  template <class T>
  ProfileReport report_of(const Dataset<T>& dataset, int steps_max = 400) {
    ExplainedRun explained =
        run_recorded(dataset, folder_.file("run.profile"), {.steps_max = steps_max});
    run_ = std::move(explained.run);
    return explained.report;
  }

  using IsRight = std::function<bool(const ProfileReport&)>;

  /// There are late steps that waited for the planted stalls, and they name this cause, a stage of
  /// this kind and one of the slow records. 95 % of them must: of a dozen, all.
  template <class T>
  void expect_blamed(
      const Dataset<T>& dataset, Cause cause, const std::string& stage,
      const IsRight& is_right = [](const ProfileReport&) { return true; }) {
    std::string wrong;
    EXPECT_TRUE(test::holds_in_a_quiet_run([&] {
      const ProfileReport report = report_of(dataset);
      return are_blamed(report, cause, stage, wrong) && is_right(report);
    })) << wrong;
  }

  bool are_blamed(const ProfileReport& report, Cause cause, const std::string& stage,
                  std::string& wrong) const {
    int late = 0;
    int right = 0;
    wrong.clear();
    for (const LateStep& step : report.late_steps) {
      if (is_of_machine(step)) continue;
      const SlowCall* const call = call_of(step);
      ++late;
      const bool is_right = step.cause == cause && call != nullptr && call->place &&
                            run_.stages[static_cast<std::size_t>(step.stage)].name == stage &&
                            records_.is_slow(*call->place);
      right += is_right ? 1 : 0;
      if (!is_right) wrong += fmt::format("step {}: {}\n", step.step, step.sentence);
    }
    wrong = fmt::format("{} of {}; the others:\n{}", right, late, wrong);
    return right >= 3 && 20 * right >= 19 * late;  // a busy machine makes others later
  }

  const SlowCall* call_of(const LateStep& step) const {
    return step.slow_call < 0 ? nullptr
                              : &run_.slow_calls[static_cast<std::size_t>(step.slow_call)];
  }

  /// The machine took the core, and the profiler says so; or the machine made a call slow, which is
  /// also true, but shorter than the planted stall.
  bool is_of_machine(const LateStep& step) const {
    const SlowCall* const call = call_of(step);
    return is_not_of_pipeline(step) ||
           (call != nullptr && std::chrono::nanoseconds(call->took_ns) < kStall);
  }

  TemporaryFolder folder_;
  PlantedRecords records_{folder_.path(), {}};
  const std::vector<std::string>& files_ = records_.files();
  RecordedRun run_;
};

TEST_F(Blame, ASlowElementOfASerialMap) {
  const auto stall = [] { compute_for(kStall); };
  expect_blamed(records(files_) | map(slow_function(stall)) | batch(16) | prefetch(),
                Cause::slow_element, "map");
}

TEST_F(Blame, ASlowElementOfAParallelMapBehindAShuffle) {
  const auto stall = [] { compute_for(kStall); };
  expect_blamed(records(files_) | shuffle({.buffer = 300, .seed = 5}) |
                    map(slow_function(stall), {.parallelism = 2}) | batch(16) | prefetch(),
                Cause::slow_element, "map");
}

TEST_F(Blame, AFunctionThatSleepsBehindAnInterleave) {
  const auto stall = [] { std::this_thread::sleep_for(kStall); };
  const auto one_file = [](const std::string& file) { return records(file); };
  for (const int parallelism : {1, 2}) {
    expect_blamed(
        slices(files_) |
            interleave(one_file,
                       {.cycle_length = 3, .block_length = 2, .parallelism = parallelism}) |
            map(slow_function(stall)) | batch(16) | prefetch(),
        Cause::waiting_function, "map");
  }
}

/// Elements that are cheap are timed in blocks, until one of them is slow.
TEST_F(Blame, ACheapElementThatWaitsBehindALargeShuffle) {
  const TemporaryFolder folder;
  PlantedRecords records(folder.path(), {.records_per_file = 5000});
  records.plant_every(123, 197);
  const auto one_file = [](const std::string& file) { return infeed::records(file); };
  const auto stall = [] { std::this_thread::sleep_for(kStall); };
  for (const int parallelism : {1, 2}) {
    const auto function = records.slow_function(stall, nullptr, 0us);
    const auto dataset = slices(records.files()) |
                         interleave(one_file, {.cycle_length = 3, .block_length = 2}) |
                         shuffle({.buffer = 10'000, .seed = 5}) |
                         map(function, {.parallelism = parallelism}) | batch(16) | prefetch();
    std::string others;
    EXPECT_TRUE(test::holds_in_a_quiet_run([&] {
      report_of(dataset);
      int slow = 0;
      int to_one_record = 0;
      others.clear();
      for (const SlowCall& call : run_.slow_calls) {
        if (run_.stages[static_cast<std::size_t>(call.stage)].name != "map") continue;
        if (std::chrono::nanoseconds(call.took_ns) < kStall) continue;
        ++slow;
        const bool is_right = call.place && call.place->count == 1 && records.is_slow(*call.place);
        to_one_record += is_right ? 1 : 0;
        if (!is_right) others += call.untraceable + "\n";
      }
      others = fmt::format("{} of {}; the others:\n{}", to_one_record, slow, others);
      return slow >= 20 && 10 * to_one_record >= 9 * slow;
    })) << others;
  }
}

TEST_F(Blame, ALockThatAnotherThreadHolds) {
  auto mutex = std::make_shared<std::mutex>();
  // Another thread holds it each time for the length of the stall.
  const auto stall = [mutex] {
    std::binary_semaphore begun(0);
    std::thread holder([&] {
      const std::lock_guard lock(*mutex);
      begun.release();
      std::this_thread::sleep_for(kStall);
    });
    begun.acquire();
    { const std::lock_guard lock(*mutex); }
    holder.join();
  };
  // On a busy machine one of them may not have been sampled.
  const auto are_most_locks = [this](const ProfileReport& report) {
    int waiting = 0;
    int locks = 0;
    for (const LateStep& step : report.late_steps) {
      if (step.cause != Cause::waiting_function) continue;
      ++waiting;
      locks += call_of(step)->waited_in == "lock" ? 1 : 0;
    }
    return 2 * locks > waiting;
  };
  expect_blamed(records(files_) | map(slow_function(stall)) | batch(16) | prefetch(),
                Cause::waiting_function, "map", are_most_locks);
}

/// Takes long to move in the thread that works ahead, which moves it while it holds its queue's lock.
struct SlowToMove {
  explicit SlowToMove(std::int64_t its_number) : number(its_number) {}
  SlowToMove(SlowToMove&& other) noexcept : number(other.number) {
    if (std::this_thread::get_id() == worker.load()) std::this_thread::sleep_for(2ms);
  }
  SlowToMove& operator=(SlowToMove&&) noexcept = default;
  ~SlowToMove() = default;

  std::int64_t number;
  static inline std::atomic<std::thread::id> worker = {};
};

/// Somebody who held the lock and lost the core made "the function of prefetch" wait.
TEST_F(Blame, NobodyForTheLockOfAQueue) {
  const auto make = [](std::int64_t number) {
    std::this_thread::sleep_for(200us);  // they come one by one
    return SlowToMove(number);
  };
  const auto dataset = range(200) | map(make) | prefetch(16);
  std::string wrong;
  EXPECT_TRUE(test::holds_in_a_quiet_run([&] {
    wrong.clear();
    const auto note_worker = [](std::string_view name) {
      if (name == "prefetch") SlowToMove::worker = std::this_thread::get_id();
    };
    const ExplainedRun explained =
        run_recorded(dataset, folder_.file("run.profile"),
                     {.step = 5ms, .iterate = {.on_thread_start = note_worker}});
    for (const SlowCall& call : explained.run.slow_calls) {
      const std::string& name = explained.run.stages[static_cast<std::size_t>(call.stage)].name;
      const std::uint64_t waited_ns = call.took_ns - call.cpu_ns - call.preempted_ns;
      if (name != "prefetch" || 2 * waited_ns < call.took_ns) continue;
      wrong += fmt::format("element {}: {} us\n", call.position, waited_ns / 1000);
    }
    return wrong.empty();
  })) << wrong;
}

TEST_F(Blame, ASlowRead) {
  if (!test::kCanSlowReads) return;
  records_.clear();
  std::vector<SlowRead> reads;
  // In the middle of each file; the beginning of the first would be the start of the run.
  for (std::size_t i = 0; i < files_.size(); ++i) {
    const std::uint64_t bytes = std::filesystem::file_size(files_[i]);
    reads.push_back({files_[i], bytes / 2, bytes / 2 + 1, kStall});
  }
  const SlowReads slow(reads);
  // Nothing is read ahead of a step, or it would hide the reads of such small files.
  const auto dataset = records(files_, {.block_bytes = 16 << 10}) |
                       map([](const Record& record) { return record.bytes().size(); }) | batch(16);
  std::string wrong;
  EXPECT_TRUE(test::holds_in_a_quiet_run([&] {
    std::set<std::string> found;
    wrong.clear();
    for (const LateStep& step : report_of(dataset).late_steps) {
      if (is_of_machine(step)) continue;
      // Nothing is ready before a step asks, so on a slow machine it's true that a stage gives less.
      const bool is_planted = std::chrono::nanoseconds(step.length_ns) >= kStall;
      if (step.cause == Cause::starved && !is_planted) continue;
      const SlowCall* const call = call_of(step);
      const std::uint64_t middle =
          static_cast<std::uint64_t>(records_.shape().records_per_file) / 2;
      if (step.cause != Cause::slow_read || call == nullptr || !call->place ||
          call->place->record > middle || call->place->record + call->place->count + 250 < middle) {
        wrong += step.sentence + "\n";
        continue;
      }
      found.insert(call->place->file);
    }
    return found.size() >= 2 && wrong.empty();
  })) << wrong;
}

TEST_F(Blame, AStepThatComputesLong) {
  std::string named;
  std::string unnamed;
  EXPECT_TRUE(test::holds_in_a_quiet_run([&] {
    const std::string file = folder_.file("run.profile");
    std::filesystem::remove(file);
    auto iterator =
        (records(files_) | batch(16) | prefetch()).iterate({.recording = {.file = file}});
    StepTimer timer(iterator);
    for (int i = 0; i < 200; ++i) {
      EXPECT_TRUE(iterator.next());
      timer.begin(i == 100 ? "recompilation" : "");
      std::this_thread::sleep_for(i == 100 || i == 150 ? 50ms : 2ms);
      timer.end();
    }
    iterator = {};
    const ProfileReport report = explain(read_recorded_run(file));
    const auto of_step = [&report](std::uint64_t step) -> std::string {
      const auto found = std::find_if(report.late_steps.begin(), report.late_steps.end(),
                                      [step](const LateStep& late) { return late.step == step; });
      return found == report.late_steps.end() ? "none" : std::string(name_of(found->cause));
    };
    named = of_step(100);
    unnamed = of_step(150);
    return named == "recompilation" && unnamed == "slow_step";
  })) << fmt::format("{}, {}", named, unnamed);
}

TEST_F(Blame, NobodyWhereNothingIsSlow) {
  records_.clear();
  const auto never = [] {};
  const auto dataset =
      records(files_) | repeat(3) | map(slow_function(never)) | batch(16) | prefetch();
  std::string wrong;
  EXPECT_TRUE(test::holds_in_a_quiet_run([&] {
    wrong.clear();
    const ProfileReport report = report_of(dataset, 1000);
    EXPECT_GE(run_.steps.size(), 1000U);
    for (const LateStep& late : report.late_steps) {
      if (!is_of_machine(late)) wrong += fmt::format("{}: {}\n", late.step, late.sentence);
    }
    return wrong.empty();
  })) << wrong;
}

}  // namespace
}  // namespace infeed::tools
