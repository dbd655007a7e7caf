#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

#include <infeed/pipeline/iterator.h>

#include "engine/iterator_context.h"
#include "engine/threads/periodic_thread.h"

namespace infeed::detail {

/// Tells IterateOptions::on_resume now and then, while it lives, how far a resume has come. Starts
/// no thread if there is no such function.
class ResumeReport {
 public:
  ResumeReport(const IteratorContext& run, const IterateOptions& options, std::uint64_t position);

 private:
  void report() const;

  const IteratorContext& run_;
  const IterateOptions& options_;
  const std::uint64_t position_;
  const std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  std::optional<PeriodicThread> thread_;  // last: it uses the members above
};

}  // namespace infeed::detail
