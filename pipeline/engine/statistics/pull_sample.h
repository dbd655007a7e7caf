#pragma once

#include <algorithm>
#include <cstdint>

#include <infeed/pipeline/chunk.h>
#include <infeed/pipeline/stage.h>

#include "engine/stage_counters.h"

namespace infeed::detail {

/// Returns the time that the calling thread has spent on a core. A reading costs 500 to 800 ns.
std::uint64_t thread_cpu_ns();
/// Returns the time that all threads of the process have spent on cores.
std::uint64_t process_cpu_ns();

/// The state of a thread's samples.
struct SamplingThread {
  int depth = 0;                      ///< pulls that it is inside
  std::uint32_t weight = 0;           ///< weight of the sample that is being taken; 0 for none
  std::uint64_t overhead_ticks = 0;   ///< spent on samples so far
  std::uint64_t overhead_cpu_ns = 0;  ///< the same by the CPU clock, about
};
inline thread_local constinit SamplingThread sampling_thread;

/// Measures, while it lives, one pull in some: how much of it the thread was on a core, and how
/// many bytes it brought.
///
/// A reading of the thread's clock costs more than many a pull. So only every n-th pull that a
/// thread begins is measured, with all pulls within it (what a stage spends itself is the
/// difference to its input's), and n keeps what the samples really took below 1/400 of the time: a
/// pull of 1 ms is always measured, one of 300 ns about once a millisecond. Each sample counts for
/// as many pulls as it stands for, up to 16: enough for the first pull, which opens files, to count
/// for little, and for no single sample to count for all.
///
/// Invariants: the samples of one thread nest as its pulls do. `stride` belongs to the stage that
/// is pulled, so to one thread at a time.
class PullSample {
 public:
  PullSample(StageCounters& counters, SampleStride& stride)
      : counters_(counters), stride_(stride), thread_(sampling_thread) {
    if (thread_.depth++ == 0 && --stride_.left == 0)
      thread_.weight = std::min(stride_.length, kWeightMax);
    if (thread_.weight != 0) begin();
  }
  ~PullSample() {
    if (thread_.weight != 0) end();
    --thread_.depth;
  }
  PullSample(const PullSample&) = delete;
  PullSample& operator=(const PullSample&) = delete;

  bool is_taken() const { return thread_.weight != 0; }
  // To be called only if is_taken():
  /// Returns the time that samples took within this pull, which is no stage's own time.
  std::uint64_t overhead_ticks() const { return thread_.overhead_ticks - overhead_ticks_; }
  void note_elements(const Chunk& out);

 private:
  static constexpr std::uint32_t kWeightMax = 16;

  void begin();
  void end();
  std::uint64_t read_cpu_ns();
  void choose_stride(std::uint64_t price_ticks);

  StageCounters& counters_;
  SampleStride& stride_;
  SamplingThread& thread_;
  std::uint64_t overhead_before_ticks_ = 0;  ///< the thread's, before this sample
  std::uint64_t overhead_ticks_ = 0;         ///< the thread's, with the first reading
  std::uint64_t overhead_cpu_ns_ = 0;
  std::uint64_t begin_ticks_ = 0;
  std::uint64_t begin_cpu_ns_ = 0;
};

}  // namespace infeed::detail
