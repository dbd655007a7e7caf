#pragma once

#include <atomic>
#include <string>

#include "pipeline/drawn_whole/build.h"
#include "pipeline/drawn_whole/draw_plan.h"
#include "pipeline/drawn_whole/plan.h"
#include "pipeline/drawn_whole/settings.h"

namespace infeed::test {

/// What is asked of the program: the same for all pipelines.
struct CaseOptions {
  std::uint64_t seed = 1;
  std::string folder = {};  ///< for all files
  /// Hold iterations to the memory limit by what the allocator says (memory_checks.cc), and count what
  /// is left behind.
  bool checks_memory = false;
  /// Whether memory is refused in the same place each time, as memory_account.h says.
  bool checks_refusals = false;
  /// Without what takes long: other processes.
  bool is_quick = false;
  std::string plan = {};  ///< a plan in place of a drawn one
};

/// A drawn pipeline, and how it is described anew.
struct DrawnCase {
  DrawnCase(const CaseOptions& options, std::uint64_t number);

  /// `fresh_caches`: with empty folders for caches in files; else with those of the calls before.
  AnyDataset describe(bool is_serial, bool fresh_caches) const;
  std::unique_ptr<Run> start(const AnyDataset& dataset, const Settings& settings) const {
    return test::start(dataset, settings.options, !has_file_cache);
  }
  /// The same for a process of its own.
  std::string command(const CaseOptions& options) const;
  /// Whether a checkpoint behind these elements must know all seeds; before anything was drawn inside
  /// an inner dataset it has none for it.
  bool knows_seeds(const std::vector<std::string>& elements) const;

  std::uint64_t number;
  Plan plan = {};
  bool is_unordered = false;
  bool has_seeds = true;  ///< described anew it gives the same order
  /// Inner datasets draw without a given seed, and one of their own is drawn with the first.
  bool draws_inside = false;
  bool has_file_cache = false;
  std::uint64_t epoch = 0;
  Words words;  ///< for the checks

  Surroundings surroundings = {};
  mutable int caches = 0;
};

/// No more elements of a stream than this are looked at.
inline constexpr std::size_t kElementsMax = 30'000;

}  // namespace infeed::test
