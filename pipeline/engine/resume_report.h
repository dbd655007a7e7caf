#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

#include <infeed/pipeline/iterator.h>

#include "engine/iterator_context.h"
#include "engine/threads/periodic_thread.h"

namespace infeed::detail {

/// While it lives, tells IterateOptions::on_resume now and then how far a resume has come. Without
/// that function it starts no thread.
class ResumeReport {
 public:
  ResumeReport(const IteratorContext& run, const IterateOptions& options, std::uint64_t position);

 private:
  void report() const;

  const IteratorContext& run_;
  const IterateOptions& options_;
  const std::uint64_t position_;
  const std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  std::optional<PeriodicThread> thread_;  // last: it uses the others
};

}  // namespace infeed::detail
