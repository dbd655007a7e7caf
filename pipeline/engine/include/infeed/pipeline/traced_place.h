#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

/// Why: elements carry no tags, so that tracing costs nothing until somebody asks. Order is a pure
/// function of position; the same knowledge by which a resume finds its place leads back from an
/// element that took long to the record that it was made from.
namespace infeed {

/// A record of a file, or a line, a row, a member: what its source counts.
struct RecordPlace {
  std::string file = {};
  std::uint64_t record = 0;                            ///< from 0
  std::uint64_t count = 1;                             ///< it is one of so many
  std::optional<std::uint64_t> offset = std::nullopt;  ///< of the first one, where it is known
};

/// Where an element came from, or why that can't be told.
struct TracedPlace {
  std::optional<RecordPlace> place = std::nullopt;
  std::string why_not = {};
  /// The label of the stage that `why_not_of_stage` speaks of; it lives as long as the iterator. The
  /// sentence is made where somebody reads it: the first values of each inner dataset are traced,
  /// and a sentence for each cost 5 % of range(1000) in a flat_map. Only where the stage tells of no
  /// element, whatever it reads.
  const std::string* stage = nullptr;
  const char* why_not_of_stage = "";

  static TracedPlace unknown(std::string why) { return {std::nullopt, std::move(why)}; }
  /// "range[2]" and "makes its elements itself".
  static TracedPlace unknown(const std::string& stage, const char* why) {
    return {std::nullopt, {}, &stage, why};
  }
  std::string why() const { return stage == nullptr ? why_not : *stage + " " + why_not_of_stage; }
};

}  // namespace infeed
