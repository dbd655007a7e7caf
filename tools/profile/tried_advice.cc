#include "profile/tried_advice.h"

#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fmt/format.h>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

#include <infeed/records/file.h>

namespace infeed::tools {
namespace {

constexpr int kTriedMax = 3;
constexpr int kTriedTurns = 2;
// Runs on a shared machine differ by this much.
constexpr double kConfirmedWithin = 0.1;

/// For recordings that nobody reads.
class ScratchFolder {
 public:
  ScratchFolder() : path_((std::filesystem::temp_directory_path() / "infeed-XXXXXX").string()) {
    if (::mkdtemp(path_.data()) == nullptr) throw system_error("create", path_, errno);
  }
  ~ScratchFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;

  std::string next_file() { return fmt::format("{}/{}.profile", path_, ++files_); }

 private:
  std::string path_;
  int files_ = 0;
};

/// Returns the changed pipeline; empty where the file can't say the change.
std::optional<DescribedPipeline> changed(const DescribedPipeline& pipeline,
                                         std::string_view change) {
  if (change.starts_with("a cache behind records") ||
      change.starts_with("a cache behind interleave")) {
    return pipeline.with_cache();
  }
  if (change.starts_with("prefetch at the end")) return pipeline.with_prefetch();
  if (change.starts_with("threads for")) return pipeline.with_tuned_threads();
  return std::nullopt;
}

}  // namespace

void try_advice(const DescribedPipeline& pipeline, double seconds, const std::stop_token& stop,
                ProfileReport& report) {
  ScratchFolder folder;
  int count = 0;
  for (WhatIf& what_if : report.what_ifs) {
    const auto other = changed(pipeline, what_if.change);
    if (!other || count == kTriedMax) continue;
    ++count;
    double before = 0;
    double after = 0;
    for (int turn = 0; turn < kTriedTurns; ++turn) {
      for (const bool is_changed : {false, true}) {
        const MeasuredRate rate = run_described(is_changed ? *other : pipeline,
                                                seconds / kTriedTurns, folder.next_file(), stop);
        (is_changed ? after : before) += rate.steps_per_s;
      }
    }
    what_if.tried_gain = before <= 0 ? 0 : after / before - 1;
    const bool is_confirmed = std::abs(*what_if.tried_gain - what_if.predicted_gain) <=
                              kConfirmedWithin * (1 + what_if.predicted_gain);
    what_if.note = is_confirmed ? "confirmed" : "not confirmed";
  }
}

}  // namespace infeed::tools
