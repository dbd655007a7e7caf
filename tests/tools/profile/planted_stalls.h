#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <infeed/infeed.h>
#include <infeed/pipeline/step_timer.h>

#include "profile/profile_report.h"

/// Stalls of known kinds at known records, and whether the profiler names them: for the tests named
/// Blame and for benchmarks/blame.sh, which runs many more of them.
namespace infeed::testing {

using StallClock = std::chrono::steady_clock;
using Place = std::pair<std::string, std::uint64_t>;  // file, record

/// Nothing but computing, for so much of the thread's CPU time: longer on a core that others use, too.
void compute_for(std::chrono::nanoseconds time);

/// One that really was.
struct Stall {
  StallClock::time_point begin;
  StallClock::time_point end;
  std::optional<Place> place = std::nullopt;
};

/// What was planted, written down where it happens. Any thread.
class StallLog {
 public:
  void add(Stall stall);
  std::vector<Stall> stalls() const;

 private:
  mutable std::mutex mutex_;
  std::vector<Stall> stalls_;
};

/// Record files of which each record says where it stands; some of the records are slow.
class PlantedRecords {
 public:
  struct Shape {
    int files = 4;
    int records_per_file = 2000;
    int record_bytes = 100;
  };
  PlantedRecords(const std::filesystem::path& folder, const Shape& shape);

  const std::vector<std::string>& files() const { return files_; }
  const Shape& shape() const { return shape_; }
  /// In a file, with its frame: all have the same size.
  std::uint64_t framed_bytes() const { return framed_bytes_; }

  /// From `first` on each `every`th record of each file.
  void plant_every(std::uint64_t first, std::uint64_t every);
  /// Each record with this probability.
  void plant(double share, std::uint64_t seed);
  void clear() { slow_.clear(); }
  const std::set<Place>& slow() const { return slow_; }
  bool is_slow(const tools::RecordedPlace& place) const;

  /// For map(): computes a little, and stalls at the slow ones, which `log` is told if there is one.
  template <class Do>
  auto slow_function(Do stall, StallLog* log = nullptr) const {
    return [slow = slow_, stall, log](const Record& record) {
      const Place place = place_of(record);
      if (!slow.contains(place)) {
        compute_for(std::chrono::microseconds(10));
        return static_cast<std::int64_t>(place.second);
      }
      const auto begin = StallClock::now();
      stall();
      if (log != nullptr) log->add({begin, StallClock::now(), place});
      return static_cast<std::int64_t>(place.second);
    };
  }

  static Place place_of(const Record& record);

 private:
  Shape shape_;
  std::uint64_t framed_bytes_ = 0;
  std::vector<std::string> files_;
  std::set<Place> slow_;
};

/// A run that was recorded, and what the profiler says of it.
struct ExplainedRun {
  tools::RecordedRun run;
  tools::ProfileReport report;
  StallClock::time_point begin;  ///< of the run's own time
};
/// `first_step`: when its first step began. What an iterator needs before its time begins varies by half
/// a millisecond.
ExplainedRun explained_run(const std::string& file, StallClock::time_point first_step);

struct LoopShape {
  int steps_max = 400;
  std::chrono::microseconds step{2000};
  /// Between two steps.
  std::function<void(int step)> between = {};
  IterateOptions iterate = {};
};

/// Runs a training loop that sleeps, and reads the recording in `file`.
template <class T>
ExplainedRun run_recorded(const Dataset<T>& dataset, const std::string& file,
                          const LoopShape& loop = {}) {
  IterateOptions options = loop.iterate;
  options.recording.file = file;
  auto iterator = dataset.iterate(options);
  const auto first_step = StallClock::now();
  StepTimer timer(iterator);
  for (int i = 0; i < loop.steps_max; ++i) {
    if (loop.between) loop.between(i);
    if (!iterator.next()) break;
    timer.begin();
    std::this_thread::sleep_for(loop.step);
    timer.end();
  }
  iterator = {};
  return explained_run(file, first_step);
}

/// Whether none of the pipeline's stages is said to be the cause. On a machine that is shared the core
/// may go away for milliseconds at any place, in a step and between two of them.
bool is_not_of_pipeline(const tools::LateStep& late);

struct Judgement {
  int injected = 0;        ///< late steps that a planted stall made late
  int blamed_right = 0;    ///< of them
  int false_blame = 0;     ///< other late steps of which the pipeline is said to be the cause
  int of_machine = 0;      ///< other late steps that are said to be none of the pipeline's fault
  std::string wrong = {};  ///< a line for each that is blamed wrongly

  Judgement& operator+=(const Judgement& other);
};

/// Of a late step that waited because of this stall. `call` is null where none is blamed.
using IsRight =
    std::function<bool(const tools::LateStep&, const tools::SlowCall* call, const Stall&)>;

/// What of a step a stall can make longer.
enum class Lengthens { wait, whole_step };

/// A late step is the planted stalls' when they lie within its wait (or all of it) for at least half
/// of what the step was late. It is blamed right when that is so for one of them.
Judgement judge(const ExplainedRun& explained, const std::vector<Stall>& stalls,
                const IsRight& is_right, Lengthens lengthens = Lengthens::wait);

}  // namespace infeed::testing
