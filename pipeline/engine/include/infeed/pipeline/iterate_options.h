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

/// The resources that one iteration of a dataset may use, and where it begins:
///
///     auto iterator = dataset.iterate({.memory_bytes_max = 512 << 20, .threads_max = 4});
namespace infeed {

/// The progress of a resume that can't seek and has to look at the elements again.
struct ResumeProgress {
  std::uint64_t position;           ///< the checkpoint's, in elements at the pipeline's end
  std::uint64_t elements_replayed;  ///< by the stage that handed over most
  std::chrono::milliseconds elapsed;
};

struct IterateOptions {
  /// The hard limit for everything that the iteration holds: buffers, queues, jobs, pools, and
  /// elements ready for the consumer. 0 means no limit. A limit that can't suffice is refused
  /// before the start, or by a terminal Error(resource_exhausted) once a stage needs more.
  ///
  /// The size of a result is known only when the result is there. So each running call of a user's
  /// function (or batch in the making) may add one element on top; the next calls wait until there
  /// is room. An element larger than the limit is handed on alone. Iterator::memory() has the bytes
  /// in use and their peak, both with these elements. Not counted are up to 64 KiB that move from
  /// stage to stage at once, room that the chunks of queues and jobs have beside their elements (16
  /// KiB each at most), and elements that the consumer was given. After the iterator's end nothing is
  /// held.
  ///
  /// The memory that the C library keeps of freed elements comes on top. For 77 MB in elements of
  /// about 1 KB glibc's arenas took 90 to 150 MB, and 84 MB with MALLOC_ARENA_MAX=1 in the
  /// environment.
  std::uint64_t memory_bytes_max = 0;
  /// The checkpoint to go on from. It is refused if it belongs to another pipeline.
  std::optional<Checkpoint> resume = std::nullopt;
  /// The number of elements to pass over behind the checkpoint, or at the start. Each of them is
  /// looked at, since it may be an error. (Elements before a checkpoint without errors are not.)
  /// They don't count in order_hash().
  std::uint64_t skip = 0;
  /// Runs the functions of parallel stages. If null, the iterator makes one for itself, of oneTBB's
  /// workers and one thread (executor.h).
  std::shared_ptr<Executor> executor = nullptr;
  /// The most threads that the iterator may start; 0: no limit. They are the pool that runs
  /// functions (half of them), and the threads of prefetch, parallel map, interleave and readers. A
  /// stage for which none is left works in its consumer's thread, with the same elements in the
  /// same order. Not counted are the threads of a given executor, of the watchdog, of the tuner and
  /// of URLs.
  int threads_max = 0;
  /// The tuner, which chooses every option marked autotune (tuning.h).
  TunerOptions tuner = {};
  /// A function that each thread of the iterator (except those of URLs) calls first, with the
  /// thread's name ("prefetch", "worker", ...): for affinity, priorities, a profiler. It must not
  /// throw.
  std::function<void(std::string_view)> on_thread_start = {};
  /// The number of this iteration of the dataset, which keys shuffles. By default iterations are
  /// counted.
  std::optional<std::uint64_t> epoch = std::nullopt;
  /// The longest time without progress while the consumer waits or resumes. Then next() or
  /// iterate() throws Error(deadline_exceeded) that says who waits for whom. 0: no limit.
  std::chrono::milliseconds watchdog{0};
  /// Ends the iteration as cancel() does. During a resume iterate() then throws Error(cancelled).
  std::stop_token stop = {};
  /// A function that is called regularly during a resume, in a thread of its own. It must not
  /// throw.
  std::function<void(const ResumeProgress&)> on_resume = {};
  std::chrono::milliseconds on_resume_every{1000};  ///< at least 1 ms
  /// The recording for `infeed profile` (recording.h).
  RecordingOptions recording = {};
  /// The number of elements of a filter's or another such stage's input between two bookmarks, and
  /// so about how many elements a resume makes again (detail/resume.h). 0: checkpoints have none.
  std::uint64_t bookmark_every = 1024;
  /// Keeps what Iterator::rows_of() asks for. A filter then gives its elements one by one.
  bool trace = false;
  /// Keeps Iterator::order_hash(). Costs about 1 ns per number or per 8 bytes.
  bool order_hash = false;
};

}  // namespace infeed
