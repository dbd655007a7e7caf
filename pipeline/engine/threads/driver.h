#pragma once

#include <functional>
#include <string>
#include <thread>

#include <infeed/pipeline/stage.h>

#include "engine/threads/chunk_queue.h"

namespace infeed::detail {

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

  /// Unless it runs. It ends where the queue's consumer takes the input (the serial form), and may
  /// be started again.
  void start();

 private:
  void run();

  const IteratorContext& run_;
  const std::string name_;
  Stage& input_;
  const TypeInfo& type_;
  ChunkQueue& queue_;
  std::thread thread_;
};

}  // namespace infeed::detail
