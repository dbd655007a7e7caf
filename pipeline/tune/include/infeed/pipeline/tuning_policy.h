#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <infeed/pipeline/tuning.h>

/// Why: deciding is kept apart from running. A policy gets figures and returns settings. It knows
/// no thread and no clock, so a recorded run can be put through it again, and a program may bring a
/// policy of its own:
///
///     class Halves : public infeed::TuningPolicy {  // half of what each stage may have
///       infeed::TuningDecision observe(const infeed::TuningObservation& seen) override {
///         infeed::TuningDecision decision;
///         for (const infeed::KnobState& knob : seen.knobs) {
///           decision.settings.push_back({knob.id, (knob.min + knob.max) / 2});
///         }
///         return decision;
///       }
///     };
///
/// Thread-safety: observe() is called by one thread at a time, never while a setting is applied.
namespace infeed {

/// How the threads of a stage share its work.
enum class KnobShape {
  driver,    ///< one thread pulls the input ahead (prefetch)
  behind,    ///< one thread pulls the input, workers do the stage's own work (map, filter)
  readers,   ///< workers pull the input in turn and do the stage's own work (batch_into, parse)
  inner,     ///< workers pull inner datasets, each one of its own (interleave)
  segments,  ///< workers read and decode segments of files (records)
};

struct KnobState {
  std::uint64_t id = 0;  ///< the same for as long as the iterator lives
  int stage = 0;         ///< index into TuningObservation::stages
  KnobKind kind = KnobKind::workers;
  KnobShape shape = KnobShape::driver;
  std::int64_t value = 0;
  // The bounds of `value`; both are `value` where the user has fixed it.
  std::int64_t min = 0;
  std::int64_t max = 0;
  /// True if the stage's workers were seen to wait for something other than a core.
  bool waits = false;
  /// The least that its buffer held at any time of the window, in bytes (depth).
  std::int64_t low = 0;
};

/// One stage in the window.
struct StageObservation {
  std::string label = {};
  int consumer = -1;  ///< index of the stage that pulls it; -1: the iterator's consumer does
  int inside = -1;    ///< the flat_map or interleave in whose inner datasets it is
  std::uint64_t elements = 0;           ///< handed over
  std::uint64_t buffered_elements = 0;  ///< held at the window's end
  // Time that all threads spent on the stage alone, on a core and off it.
  std::uint64_t cpu_ns = 0;
  std::uint64_t blocked_ns = 0;
  /// Memory that the elements of a whole pass take, about. 0: there is only one pass, or it isn't
  /// known, or random numbers make each pass another one.
  std::uint64_t pass_bytes = 0;
};

/// The figures that were seen in one window of time.
struct TuningObservation {
  std::uint64_t at_ns = 0;      ///< the window's end, since the iteration began
  std::uint64_t window_ns = 0;  ///< how long it was
  std::uint64_t elements = 0;   ///< taken by the consumer
  std::uint64_t consumer_wait_ns = 0;
  std::uint64_t process_cpu_ns = 0;
  double cores = 1;                      ///< allowed by affinity and quotas; may be less than one
  double cores_of_others = 0;            ///< part of cores, on average used by other processes
  std::uint64_t memory_bytes = 0;        ///< in use, as memory_bytes_max counts it
  std::uint64_t memory_limit_bytes = 0;  ///< 0: none
  std::uint64_t ready_bytes = 0;         ///< part of memory_bytes, in queues and jobs in flight
  // Memory of the control group with the least room, without page cache. Limit 0: there is none.
  std::uint64_t group_bytes = 0;
  std::uint64_t group_limit_bytes = 0;
  std::vector<StageObservation> stages = {};
  std::vector<KnobState> knobs = {};
};

struct KnobSetting {
  std::uint64_t id = 0;
  std::int64_t value = 0;  ///< put between the knob's bounds
};

struct TuningDecision {
  std::vector<KnobSetting> settings = {};  ///< the changes to make; empty: none
  /// The most bytes that queues and jobs in flight may hold from now on; UINT64_MAX: no limit.
  std::optional<std::uint64_t> ready_bytes_max = std::nullopt;
  std::vector<TuningChange> finished = {};  ///< earlier changes, with their outcome
  std::optional<TuningChange> begun = std::nullopt;
  std::vector<std::string> notes = {};
  std::string verdict = {};  ///< empty: as before
  std::string profile = {};  ///< TuningReport::profile; empty: as before
  bool is_settled = false;   ///< nothing is under way: look less often
};

class TuningPolicy {
 public:
  virtual ~TuningPolicy() = default;
  virtual TuningDecision observe(const TuningObservation& seen) = 0;
};

/// Returns the policy of autotune, the default of TunerOptions. `profile`: TunerOptions::profile.
std::shared_ptr<TuningPolicy> make_tuner(const std::string& profile = {},
                                         bool only_advises = false);

}  // namespace infeed
