#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string_view>

#include <infeed/pipeline/checkpoint.h>
#include <infeed/pipeline/executor.h>
#include <infeed/pipeline/recording.h>
#include <infeed/pipeline/tuning.h>

/// What one iteration of a dataset may use, and where it begins:
///
///     auto iterator = dataset.iterate({.memory_bytes_max = 512 << 20, .threads_max = 4});
namespace infeed {

/// How far a resume has come that can't seek and has to look at the elements again.
struct ResumeProgress {
  std::uint64_t position;           ///< of the checkpoint: elements of the pipeline's end
  std::uint64_t elements_replayed;  ///< by the stage that handed over most of them
  std::chrono::milliseconds elapsed;
};

struct IterateOptions {
  /// The hard limit for all that the iteration holds: in buffers, queues, jobs and pools, and ready
  /// for the consumer; 0 means none. A limit that can't suffice is refused before the start, or by a
  /// terminal Error(resource_exhausted) once a stage needs more.
  ///
  /// How large a result is shows when it is there. So one element for each call of a user's function
  /// (or batch in the making) that is under way may come on top, and the next calls wait until there
  /// is room; an element that is larger than all is handed on alone. Iterator::memory() has the
  /// bytes in use and their peak, these included. Not counted are up to 64 KiB that move from stage to
  /// stage at once, and what the consumer was given. After the iterator's end nothing is held.
  ///
  /// What the C library keeps of freed elements comes on top: with elements of about 1 KB glibc's
  /// arenas took 90 to 150 MB for 77, and 84 with MALLOC_ARENA_MAX=1 in the environment.
  std::uint64_t memory_bytes_max = 0;
  /// Go on where this checkpoint was taken; refused when it belongs to another pipeline.
  std::optional<Checkpoint> resume = std::nullopt;
  /// Runs the functions of parallel stages; if null, the iterator has threads of its own for them.
  std::shared_ptr<Executor> executor = nullptr;
  /// The most threads that the iterator may start: the pool that runs functions (half of them), and
  /// those of prefetch, parallel map, interleave and readers. A stage for which none is left works
  /// in its consumer's thread; elements and their order are the same. 0: no limit. Not among them
  /// are those of a given executor, of the watchdog, of the tuner and of URLs.
  int threads_max = 0;
  /// Who chooses what is marked autotune (tuning.h).
  TunerOptions tuner = {};
  /// Each thread that the iterator starts, but for those of URLs, calls it first, with the thread's
  /// name ("prefetch", "worker", ...): for affinity, priorities, a profiler. It must not throw.
  std::function<void(std::string_view)> on_thread_start = {};
  /// Which iteration of the dataset this is (it keys shuffles); by default they are counted.
  std::optional<std::uint64_t> epoch = std::nullopt;
  /// When nothing has moved for this long while the consumer waits or resumes, next() or iterate()
  /// throws Error(deadline_exceeded) that says who waits for whom; 0: never.
  std::chrono::milliseconds watchdog{0};
  /// Ends the iteration as cancel() does; during a resume iterate() then throws Error(cancelled).
  std::stop_token stop = {};
  /// It is called every so often while a resume is under way, in a thread of its own, and must not
  /// throw.
  std::function<void(const ResumeProgress&)> on_resume = {};
  std::chrono::milliseconds on_resume_every{1000};  ///< at least 1 ms
  /// What is written down for `infeed profile` (recording.h).
  RecordingOptions recording = {};
  /// Keep Iterator::order_hash(); costs about 1 ns a number or 8 bytes.
  bool order_hash = false;
};

}  // namespace infeed
