#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <infeed/pipeline/tuning_policy.h>

#include "tune/pipeline_model.h"

namespace infeed::detail {

/// The policy that `autotune` stands for.
///
/// Objective: the rate that the consumer takes; at that rate the fewest workers and the least
/// memory. All workers are decided together: the model says which rate is possible at all, and then
/// the fewest workers of each stage that reach it. A change is a trial: what was measured before and
/// after decides whether it stays, and what failed isn't tried again until the work changes.
class Tuner final : public TuningPolicy {
 public:
  explicit Tuner(const std::string& profile = {}, bool only_advises = false);

  TuningDecision observe(const TuningObservation& window) override;

 private:
  using Values = std::vector<std::int64_t>;

  /// The gain that a change has to promise, other than one that saves.
  static constexpr double kWorthAChange = 1.05;
  /// The most that threads with a core each may seem to cost, against such as share the cores.
  static constexpr double kSavingForetoldOnOwnCores = 0.96;

  struct Known {
    Values values;
    double rate;
    bool saved;  ///< it had given something back: not worth another try
  };
  struct Trial {
    TuningChange change;
    Values before;
    Values after;
    bool saves = false;            ///< it gives back, rather than asks for more
    bool is_among_others = false;  ///< others_want_cores()
    double settled_at_ns = 0;
    double ns = 0;
    double elements = 0;
    double elements_min = 0;  ///< to be judged
  };
  /// The gain that a cache behind a stage promises.
  struct CacheGain {
    int stage;
    std::uint64_t bytes;
    double rate_now;  ///< both by the model
    double rate_cached;
  };
  /// An optional cache that was asked for.
  struct Caching {
    TuningChange change;
    std::uint64_t knob;
    double ns = 0;  ///< in which it was read
    double elements = 0;
  };
  /// A stage's waits in each window.
  struct Bursts {
    double sum = 0;
    double squares = 0;
  };

  bool start_from_profile(const TuningObservation& seen, TuningDecision& decision);
  std::string profile_text(const TuningObservation& seen) const;
  bool checks_profile(const TuningObservation& seen, TuningDecision& decision);
  void begin_phase();
  void note_length_of_phase();
  void note_cores(const TuningObservation& seen, TuningDecision& decision);
  void note_memory(const TuningObservation& seen, TuningDecision& decision);
  void note_quiet(const TuningObservation& window);
  TuningObservation with_quiet(const TuningObservation& window);
  void note_cores_left(const TuningObservation& window);
  bool accumulate(const TuningObservation& seen);
  bool is_another_phase(const TuningObservation& window) const;
  std::pair<double, double> bounds_of(const Trial& trial, double growth) const;
  void judge(const TuningObservation& window, TuningDecision& decision);
  void decide(const TuningObservation& seen, TuningDecision& decision);
  bool undo_regretted(const TuningObservation& seen, TuningDecision& decision);
  void note_bursts(const TuningObservation& window);
  bool comes_in_bursts(const TuningObservation& seen) const;
  std::optional<Values> serial_instead(const TuningObservation& seen) const;
  Values fewest_workers(const TuningObservation& seen) const;
  std::optional<Values> with_own_cores(const TuningObservation& seen, const Values& workers) const;
  void shrink_buffers(const TuningObservation& seen, Values& values);
  bool has_failed(const Values& values) const;
  void begin(const TuningObservation& seen, const Values& values, double predicted, bool saves,
             std::string why, TuningDecision& decision);
  void apply(const TuningObservation& seen, const Values& values, TuningDecision& decision) const;
  std::optional<CacheGain> best_cache(const TuningObservation& seen,
                                      const std::vector<int>& stages) const;
  double ns_before(const TuningObservation& seen, int stage) const;
  bool place_cache(const TuningObservation& seen, TuningDecision& decision);
  bool follow_cache(const TuningObservation& seen, TuningDecision& decision);
  void finish_caching(TuningChange::Outcome outcome, TuningDecision& decision);
  void give_up_caches(const TuningObservation& seen, TuningDecision& decision) const;
  std::string slowest_text(const TuningObservation& seen, const Values& values) const;
  int slowest_serial_stage(const TuningObservation& seen) const;
  std::string verdict(const TuningObservation& seen) const;
  std::string bound_text(const TuningObservation& seen) const;
  std::string cache_text(const TuningObservation& seen) const;

  const std::string profile_;  ///< from an earlier run
  const bool only_advises_;
  std::map<std::string, double> profile_ns_;  ///< by stage; empty once they were compared
  Values before_profile_;
  bool has_begun_ = false;

  PipelineModel model_;
  TuningObservation window_;  ///< being added up
  TuningObservation last_;    ///< the last whole one
  TuningObservation quiet_;   ///< in which the consumer took nothing and waited for nothing
  double cores_ = 0;
  double cores_left_ = 0;                        ///< by others, when it last changed much
  double phase_rate_ = 0;                        ///< savings are measured by it
  int windows_ = 0;                              ///< so far in this phase
  int other_windows_ = 0;                        ///< in a row that look like another phase
  std::optional<std::uint64_t> phase_began_ns_;  ///< but for the first
  std::uint64_t window_ns_min_ = 0;              ///< longer than others: the work comes in bursts
  int saving_windows_ = 0;                       ///< in a row that would do with less
  int serial_windows_ = 0;                       ///< in a row that would be quicker in one thread
  std::optional<Trial> trial_;
  std::optional<Caching> caching_;
  std::set<std::uint64_t> useless_caches_;  ///< that brought nothing, or had no room
  std::optional<Values> last_saving_;       ///< the values before it
  std::vector<Bursts> bursts_;              ///< by stage
  std::map<std::uint64_t, std::int64_t> shrunk_to_;
  std::uint64_t memory_limit_bytes_ = UINT64_MAX;  ///< the iterator's, from the first look on
  std::optional<std::uint64_t> ready_bytes_max_;   ///< since the control group was nearly full
  std::uint64_t ready_bytes_before_ = 0;           ///< held then
  int memory_windows_ = 0;                         ///< since it was last changed
  std::vector<Known> failed_;                      ///< settings that were no better
  std::map<std::uint64_t, int> idle_buffers_;      ///< windows in a row that a buffer was too large
};

}  // namespace infeed::detail
