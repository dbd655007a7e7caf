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

#include "pipeline/suite/busy.h"
#include "profile/profile_report.h"

/// Stalls of known kinds at known records, and whether the profiler names them: for the tests named
/// Blame and for benchmarks/blame.sh, which runs many more.
namespace infeed::test {

using StallClock = std::chrono::steady_clock;
using Place = std::pair<std::string, std::uint64_t>;  // file, record

/// A stall that really happened.
struct Stall {
  StallClock::time_point begin;
  StallClock::time_point end;
  std::optional<Place> place = std::nullopt;
};

/// The planted stalls, written down where they happen. Any thread.
class StallLog {
 public:
  void add(Stall stall);
  std::vector<Stall> stalls() const;

 private:
  mutable std::mutex mutex_;
  std::vector<Stall> stalls_;
};

/// Record files in which each record holds its own place; some of the records are slow.
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
  /// Bytes in the file, with the frame: all records have the same size.
  std::uint64_t framed_bytes() const { return framed_bytes_; }

  /// Plants a stall at `first` and each `every`th record after it, in each file.
  void plant_every(std::uint64_t first, std::uint64_t every);
  /// Plants a stall at each record with this probability.
  void plant(double share, std::uint64_t seed);
  void clear() { slow_.clear(); }
  const std::set<Place>& slow() const { return slow_; }
  bool is_slow(const tools::RecordedPlace& place) const;

  /// For map(): computes for `usual`, and stalls at the slow records, which go into `log` if there
  /// is one.
  template <class Do>
  auto slow_function(Do stall, StallLog* log = nullptr,
                     std::chrono::microseconds usual = std::chrono::microseconds(10)) const {
    return [slow = slow_, stall, log, usual](const Record& record) {
      const Place place = place_of(record);
      if (!slow.contains(place)) {
        if (usual.count() > 0) compute_for(usual);
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

/// A recorded run, and the profiler's explanation.
struct ExplainedRun {
  tools::RecordedRun run;
  tools::ProfileReport report;
  StallClock::time_point begin;  ///< start of the run's time
};
/// `first_step`: when its first step began. The iterator's start before its time begins varies by
/// half a millisecond.
ExplainedRun explained_run(const std::string& file, StallClock::time_point first_step);

struct LoopShape {
  int steps_max = 400;
  std::chrono::microseconds step{2000};
  /// Called between two steps.
  std::function<void(int step)> between = {};
  IterateOptions iterate = {};
};

/// Runs a training loop that sleeps, and reads the recording in `file`.
template <class T>
ExplainedRun run_recorded(const Dataset<T>& dataset, const std::string& file,
                          const LoopShape& loop = {}) {
  IterateOptions options = loop.iterate;
  options.recording.file = file;
  std::filesystem::remove(file);  // a second recording would go beside that of a run before
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

/// True if none of the pipeline's stages is named as the cause. On a shared machine the core may go
/// away for milliseconds at any place, in a step and between two.
bool is_not_of_pipeline(const tools::LateStep& late);

struct Judgement {
  int injected = 0;        ///< late steps that a planted stall made late
  int blamed_right = 0;    ///< late steps among these that are blamed rightly
  int false_blame = 0;     ///< other late steps for which the pipeline is blamed
  int of_machine = 0;      ///< other late steps for which no stage is blamed
  std::string wrong = {};  ///< a line for each wrongly blamed step

  Judgement& operator+=(const Judgement& other);
};

/// Judges a late step that waited because of this stall. `call` is null if none is blamed.
using IsRight =
    std::function<bool(const tools::LateStep&, const tools::SlowCall* call, const Stall&)>;

/// The part of a step that a stall can make longer.
enum class Lengthens { wait, whole_step };

/// A late step belongs to the planted stalls if they lie within its wait (or the whole step) for at
/// least half of its lateness. It is blamed right if one of them is named.
Judgement judge(const ExplainedRun& explained, const std::vector<Stall>& stalls,
                const IsRight& is_right, Lengthens lengthens = Lengthens::wait);

}  // namespace infeed::test
