#pragma once

#include <string>
#include <vector>

#include <infeed/pipeline/dataset.h>
#include <infeed/pipeline/traced_place.h>
#include <infeed/records/record.h>

namespace infeed {

struct LeaveOutOptions {
  /// The bytes that stand in a left-out record's place: no bytes are an Example without features.
  /// Give a record of weight 0 if the parser expects features.
  std::string instead = {};
  StageName name = {};  ///< as in StageOptions
};

/// Why: a few rows spoil the training, and the run must go on without them from a checkpoint, while
/// every other row keeps its step, its batch and its random numbers. So something else stands in
/// their place. Put it right behind the source:
///
///     const auto rows = dataset.at(8'412, {.resume = checkpoint}).rows;
///     infeed::records("train-*.tfrecord")
///         | infeed::leave_out({*rows[17].place}, {.instead = infeed::ExampleBuilder().encode()})
///         | infeed::shuffle({.buffer = 10'000, .seed = 1})
///
/// The list changes no checkpoint: one that was taken before, or with another list, goes on.
/// Records are known by file (its name as the source was given it) and number. A cache behind has
/// the old rows: give it another `version`. The records go through one thread, as a serial map's.
auto leave_out(std::vector<RecordPlace> rows, LeaveOutOptions options = {});

// Only the library reads what follows.
namespace detail {

NodePointer make_leave_out(std::vector<RecordPlace> rows, const std::string& instead,
                           NodePointer input);

}  // namespace detail

inline auto leave_out(std::vector<RecordPlace> rows, LeaveOutOptions options) {
  const auto apply = [rows = std::move(rows),
                      instead = std::move(options.instead)](const Dataset<Record>& input) {
    return Dataset<Record>(detail::make_leave_out(rows, instead, input.node()));
  };
  return named_stage(std::move(options.name), apply);
}

}  // namespace infeed
