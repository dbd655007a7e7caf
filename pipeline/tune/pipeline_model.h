#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <infeed/pipeline/tuning_policy.h>

namespace infeed::detail {

/// Why: the gain of a setting is predicted before it is tried. The model is the operational bound
/// of a closed network: nothing is quicker than its slowest lane.
///
///     X <= 1 / lane      a lane is one thread, or p workers: ns an element of the consumer, over p
///     X <= cores / cpu   what all lanes together spend on cores
///
/// A stage's time is the time of one of its elements, times its visits: the elements that it
/// handles for one element of the consumer in the long run (filling or draining a buffer doesn't
/// count). Cores and threads are counted apart: a worker that waits for storage needs no core. The
/// bound leaves out hand-offs and uneven elements. These stay about the same from one setting to
/// the next, so forecasts are used as ratios to the measured rate.
///
/// Times are means over the windows of about the last two seconds.
class PipelineModel {
 public:
  struct Forecast {
    double rate = 0;         ///< elements/s
    int stage = -1;          ///< the one with the slowest lane; kConsumer or kCores
    double consumer_ns = 0;  ///< time of the consumer's thread for an element, with its step
  };
  static constexpr int kConsumer = -1;
  static constexpr int kCores = -2;

  /// Adds a window to the sums, in which the last windows count most.
  void add(const TuningObservation& window);
  /// Forgets everything but the visits.
  void forget();
  int windows() const { return windows_; }  ///< added since forget()

  /// Predicts the rate at `values`, one for each knob of `of`. Workers, and the consumer's thread
  /// in the pipeline, are taken to be slower by `headroom`, for uneven elements.
  Forecast forecast(const TuningObservation& of, std::span<const std::int64_t> values,
                    double headroom = 1) const;
  /// Predicts the rate with a full cache behind `stage`: it and the stages before it do nothing
  /// then.
  Forecast forecast_cached(const TuningObservation& of, std::span<const std::int64_t> values,
                           int stage) const;
  /// Predicts the rate if the consumer's thread did everything.
  double serial_rate(const TuningObservation& of) const;
  double measured_rate() const;
  double consumer_ns() const { return consumer_ns_ / elements_; }
  /// Returns the share of the time for which the consumer waited.
  double wait_share() const { return weight_ns_ == 0 ? 0 : 1 - consumer_ns_ / weight_ns_; }
  double stage_ns(int stage) const;        ///< for one element of the consumer
  double stage_calls_ns(int stage) const;  ///< for one element of the stage
  double cpu_ns() const { return cpu_ns_ / elements_; }
  /// Returns the share of the work's time in which it used no core.
  double blocked_share() const;
  /// True if a stage waits for long now and then, rather than all the time.
  bool comes_in_bursts(const TuningObservation& seen) const;
  /// Returns the elements in buffers, converted to elements of the consumer.
  double elements_on_the_way(const TuningObservation& seen) const;

 private:
  struct Cost {
    double cpu_ns = 0;
    double blocked_ns = 0;
    double elements = 0;
  };
  /// A stage's waits: sums over the windows.
  struct Waits {
    double sum = 0;
    double squares = 0;
  };

  void count_visits(const TuningObservation& window);
  void count_waits(const TuningObservation& window);

  // Sums in which older windows fade.
  std::vector<Cost> stages_;
  // Sums for the visits. They fade slowly.
  std::vector<double> handled_;
  double taken_ = 0;
  std::vector<double> visits_;
  double elements_ = 0;
  double weight_ns_ = 0;
  double consumer_ns_ = 0;
  double cpu_ns_ = 0;
  // Sums to which all windows count alike.
  std::vector<Waits> waits_;
  int windows_ = 0;
};

/// Returns the cores that the process gets when other processes want theirs.
double cores_for(const TuningObservation& seen);
/// True if other processes want a good part of the cores. The kernel then shares cores by threads,
/// not by programs, and moves threads about: with a busy process on each of two cores a single
/// thread has 0.70 of a core, and 0.53 beside a second thread that works for a fiftieth of the
/// time.
bool others_want_cores(const TuningObservation& seen);

}  // namespace infeed::detail
