#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>

#include <infeed/pipeline/iterator.h>

#include "engine/iterator_context.h"

namespace infeed::detail {

/// While it lives, tells IterateOptions::on_resume now and then how far a resume has come. Without
/// that function it starts no thread.
///
/// Invariants: over_ is guarded by mutex_. The thread has ended when the destructor returns.
class ResumeReport {
 public:
  ResumeReport(const IteratorContext& run, const IterateOptions& options, std::uint64_t position);
  ~ResumeReport();
  ResumeReport(const ResumeReport&) = delete;
  ResumeReport& operator=(const ResumeReport&) = delete;

 private:
  void report();

  const IteratorContext& run_;
  const IterateOptions& options_;
  const std::uint64_t position_;
  std::mutex mutex_;
  std::condition_variable end_;
  bool over_ = false;
  std::thread thread_;
};

}  // namespace infeed::detail
