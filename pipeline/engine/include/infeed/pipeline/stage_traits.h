#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace infeed {

/// Where a stage can begin in a resume without making the elements before.
enum class Begins : std::uint8_t {
  anywhere,      ///< it seeks, or passes over elements of its input
  at_bookmarks,  ///< behind its last bookmark (detail/resume.h)
  at_start,      ///< it has to make all elements again: it notes no bookmarks
};

/// Why: the engine knows no kind of stage, and yet statistics advise how to speed one up and show
/// its own counts, and shard and feed must know what a skip costs. So a node tells them the traits
/// of its kind (Node::traits()).
///
///     static constexpr std::string_view kCounts[] = {"skipped_frames"};
///     static constexpr infeed::StageTraits kTraits{.reads_files = true, .counts = kCounts};
///
/// Its stages then count by `note_count(0, frames)`, and StageStatistics::count("skipped_frames")
/// gives the sum. Everything that the traits point to lives as long as the program.
struct StageTraits {
  bool has_parallelism = false;  ///< an option `parallelism`: threads for what it does to elements
  bool reads_files = false;      ///< one after the other; interleave reads several at once
  bool skips_input = false;      ///< passes over elements by passing over as many of its input
  Begins begins = Begins::anywhere;
  bool is_ordered = true;  ///< false: elements come as they get done, in another order each time
  /// Numbers that it counts beside elements and errors, named with their units.
  std::span<const std::string_view> counts = {};
  /// Returns the lines that table() shows of them: "dropped by records: 3 records\n". Null: none.
  std::string (*text)(std::string_view label, std::span<const std::uint64_t> counts) = nullptr;
};

}  // namespace infeed
