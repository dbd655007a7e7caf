#include "engine/resume/resume_report.h"

namespace infeed::detail {

ResumeReport::ResumeReport(const IteratorContext& run, const IterateOptions& options,
                           std::uint64_t position)
    : run_(run), options_(options), position_(position) {
  if (!options_.on_resume) return;
  thread_.emplace([&run] { run.begin_thread("resume-report"); }, options_.on_resume_every,
                  [this] {
                    report();
                    return true;
                  });
}

void ResumeReport::report() const {
  options_.on_resume({.position = position_,
                      .elements_replayed = run_.counters().elements_replayed(),
                      .elapsed = std::chrono::duration_cast<std::chrono::milliseconds>(
                          std::chrono::steady_clock::now() - begin_)});
}

}  // namespace infeed::detail
