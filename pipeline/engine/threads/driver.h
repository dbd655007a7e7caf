#pragma once

#include <string>
#include <thread>
#include <utility>

#include <infeed/detail/start_threads.h>
#include <infeed/pipeline/stage.h>

#include "engine/threads/chunk_queue.h"

namespace infeed::detail {

/// The thread of a driver, of which there is one at a time: it ends where the stage's consumer takes
/// the input (the serial form), and is started again. Only the consumer's thread uses it.
class DriverThread {
 public:
  DriverThread() = default;
  DriverThread(const DriverThread&) = delete;
  DriverThread& operator=(const DriverThread&) = delete;
  ~DriverThread() {
    if (thread_.joinable()) thread_.join();
  }

  /// Unless it runs. Throws where the system gives no thread, but not when there was one before: the
  /// consumer then reads on by itself, and it is tried again.
  template <class Work>
  void start(InputTurn& turn, Work work) {
    if (!turn.driver_rests()) return;
    if (thread_.joinable()) thread_.join();  // it has nothing left to do
    turn.driver_starts();
    try {
      thread_ = start_thread(std::move(work));
    } catch (const Error&) {
      turn.driver_did_not_start();
      if (!has_run_) throw;
    }
    has_run_ = true;
  }

 private:
  std::thread thread_;
  bool has_run_ = false;
};

/// A thread of a stage's own that pulls `input` into `queue` until the end, an exception or a stop.
///
/// Invariants: the thread starts with the first start() (the skips of a resume go upstream before
/// that), is the only one that touches `input` while it runs, and has ended when the destructor
/// returns.
class Driver {
 public:
  Driver(const IteratorContext& run, std::string name, Stage& input, const TypeInfo& type,
         ChunkQueue& queue);
  ~Driver();
  Driver(const Driver&) = delete;
  Driver& operator=(const Driver&) = delete;

  /// As DriverThread::start().
  void start() {
    thread_.start(queue_.turn(), [this] { run(); });
  }

 private:
  void run();

  const IteratorContext& run_;
  const std::string name_;
  Stage& input_;
  const TypeInfo& type_;
  ChunkQueue& queue_;
  DriverThread thread_;
};

}  // namespace infeed::detail
