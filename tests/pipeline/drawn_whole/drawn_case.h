#pragma once

#include <string>

#include "pipeline/drawn_whole/build.h"
#include "pipeline/drawn_whole/draw_plan.h"
#include "pipeline/drawn_whole/plan.h"
#include "pipeline/drawn_whole/settings.h"

namespace infeed::test {

/// Options of the program, the same for all pipelines.
struct CaseOptions {
  std::uint64_t seed = 1;
  std::string folder = {};  ///< for all files
  /// True: compares iterations with the memory limit by the allocator's figures (memory_checks.cc),
  /// and counts the memory that is left behind.
  bool checks_memory = false;
  /// True: checks that memory is refused in the same place each time, as memory_account.h says.
  bool checks_refusals = false;
  bool checks_faults = false;  ///< also figures, limits and numbers of hosts that change
  /// True: leaves out slow checks: other processes.
  bool is_quick = false;
  std::string plan = {};  ///< a plan in place of a drawn one
};

/// Returns the options that a command which repeats something needs, with a space before each.
std::string options_text(const CaseOptions& options);

/// A drawn pipeline, and how it is described anew.
struct DrawnCase {
  DrawnCase(const CaseOptions& options, std::uint64_t number);

  /// `fresh_caches`: true for empty folders for caches in files; false for those of the calls
  /// before.
  AnyDataset describe(bool is_serial, bool fresh_caches) const;
  std::unique_ptr<Run> start(const AnyDataset& dataset, const Settings& settings) const {
    return test::start(dataset, settings.options, !has_file_cache);
  }
  /// Returns the command that repeats it in another process.
  std::string command(const CaseOptions& options) const;
  /// True if a checkpoint behind these elements must know all seeds. Before anything was drawn
  /// inside an inner dataset it has none for it.
  bool knows_seeds(const std::vector<std::string>& elements) const;

  std::uint64_t number;
  Plan plan = {};
  bool is_unordered = false;
  bool has_seeds = true;  ///< described anew it gives the same order
  /// Inner datasets draw without a given seed, and their own seed is drawn with the first element.
  bool draws_inside = false;
  bool has_file_cache = false;
  std::uint64_t epoch = 0;
  Words words;  ///< for the checks

  Surroundings surroundings = {};
  mutable int caches = 0;
};

/// The most elements of a stream that are looked at.
inline constexpr std::size_t kElementsMax = 30'000;

}  // namespace infeed::test
