#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <infeed/error.h>

/// Why: `autotune` chooses threads and buffers. Users can see what it chose and why, and bound it.
///
///     auto iterator = dataset.iterate({.tuner = {.bounds = {{.stage = "map 'augment'", .max = 4}}}});
///     while (auto batch = iterator.next()) use(*batch);
///     std::puts(iterator.tuning().text().c_str());
///
///     // 0.4 s  map 2 -> 16: map is the slowest; predicted +630 %, got +655 %, kept
///     // 2.1 s  map 16 -> 9: the consumer takes 1,800 elements/s; predicted +0 %, got -1 %, kept
///     // the consumer is slower than the pipeline, it takes 1,800 elements/s: there is nothing to tune
///
/// A tuner looks at its iterator every 100 ms (every 400 ms when nothing changes), predicts what
/// another setting would bring, applies it where that is worth it, and takes back what turns out
/// worse. Values, order, errors and checkpoints never depend on it. pipeline/tune/README.md has
/// the model.
namespace infeed {

enum class TunerMode {
  on,           ///< it changes what is marked autotune, and nothing else
  advice_only,  ///< it says what it would do
  off,          ///< options marked autotune keep the fixed choice that they document
};

/// The thing that a knob sets.
enum class KnobKind {
  /// Threads that work for a stage at the same time; 0: its consumer's thread does the work.
  workers,
  /// Elements that a prefetch keeps ready, or 16 KiB for each of them where that is more.
  depth,
  /// 1 if an optional_cache keeps the elements of its next passes, else 0.
  cache,
};

/// The values that the tuner may choose for one stage. With min == max the value is fixed.
struct KnobBound {
  std::string stage;  ///< its label in the statistics: "map", "map[1]", "map 'augment'"
  KnobKind kind = KnobKind::workers;
  std::int64_t min = 0;
  std::int64_t max = INT64_MAX;
};

class TuningPolicy;

struct TunerOptions {
  TunerMode mode = TunerMode::on;
  /// Bounds of single stages. Error(invalid_argument) if the pipeline has no such stage, or min is
  /// above max.
  std::vector<KnobBound> bounds = {};
  /// Iterator::tuning().profile of an earlier run, with whose settings the tuner begins. Settings
  /// of another pipeline or machine are left aside, and the log says so.
  std::string profile = {};
  /// Length of the windows in which the tuner looks at the figures; at least 1 ms.
  std::chrono::milliseconds look_every{100};
  /// Decides in the tuner's place (tuning_policy.h); null: the tuner.
  std::shared_ptr<TuningPolicy> policy = nullptr;
};

/// "map[1] 1 -> 2".
struct KnobChange {
  std::string stage;
  KnobKind kind = KnobKind::workers;
  std::int64_t from = 0;
  std::int64_t to = 0;

  std::string text() const;
};

/// One decision; its knobs change together.
struct TuningChange {
  enum class Outcome { pending, kept, rolled_back, overtaken, advised };

  double at_seconds = 0;  ///< since the iteration began
  std::vector<KnobChange> knobs = {};
  std::string why = {};
  double rate_before = 0;     ///< elements/s
  double rate_predicted = 0;  ///< with the new setting
  double rate_after = 0;      ///< measured; 0 while it is pending
  Outcome outcome = Outcome::pending;

  /// Returns one line, without a newline.
  std::string text() const;
};

/// A report of what a tuner did so far.
struct TuningReport {
  std::vector<TuningChange> changes = {};  ///< the last 256
  std::uint64_t changes_dropped = 0;       ///< earlier changes that aren't kept
  std::vector<std::string> notes = {};     ///< a stale profile, a quota that changed...
  /// Says what bounds the rate, and whether any setting could change that.
  std::string verdict = {};
  /// Text for TunerOptions::profile of the next run, to be saved beside the checkpoint. Empty while
  /// nothing is known.
  std::string profile = {};

  std::string text() const;
};

}  // namespace infeed
