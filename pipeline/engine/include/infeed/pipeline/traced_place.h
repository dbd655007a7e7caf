#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

/// Why: an element that took long is traced back to the record that it was made from. Elements
/// carry no tags, so tracing costs nothing until somebody asks. Order is a pure function of
/// position, and a resume uses the same function to find its place.
namespace infeed {

/// A record of a file, or a line, a row, a member: the unit that the source counts.
struct RecordPlace {
  std::string file = {};
  std::uint64_t record = 0;                            ///< from 0
  std::uint64_t count = 1;                             ///< the element comes from this many records
  std::optional<std::uint64_t> offset = std::nullopt;  ///< where the first record begins, if known
};

/// The place that an element came from, or why it can't be told.
struct TracedPlace {
  std::optional<RecordPlace> place = std::nullopt;
  std::string why_not = {};
  /// The label of the stage that `why_not_of_stage` is about; null if there is none. It lives as
  /// long as the iterator. It is set only if the stage can trace no element, whatever it reads. The
  /// sentence is put together by the reader: the first values of each inner dataset are traced, and
  /// making a sentence for each cost 5 % of range(1000) in a flat_map.
  const std::string* stage = nullptr;
  const char* why_not_of_stage = "";
  /// The places of a batch's rows, if the iteration was asked to trace them
  /// (IterateOptions::trace).
  std::vector<TracedPlace> rows = {};

  static TracedPlace unknown(std::string why) { return {std::nullopt, std::move(why)}; }
  /// Takes "range[2]" and "makes its elements itself".
  static TracedPlace unknown(const std::string& stage, const char* why) {
    return {std::nullopt, {}, &stage, why};
  }
  std::string why() const { return stage == nullptr ? why_not : *stage + " " + why_not_of_stage; }
};

}  // namespace infeed
