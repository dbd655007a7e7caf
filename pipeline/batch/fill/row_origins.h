#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "batch/fill/batch_in_fill.h"
#include "engine/recording/place_log.h"

namespace infeed::detail {

/// Remembers which elements of the input the rows of the last batches are, if the iterator keeps
/// places. Elements have numbers in the order of their places in batches, errors included. Those that
/// were pulled also have a position in the input, which counts no records of blocks.
///
/// Thread-safety: one thread at a time notes; any thread may find.
class RowOrigins {
 public:
  RowOrigins(std::uint64_t batch_rows, bool is_on) : is_on_(is_on), given_(batch_rows) {}

  /// Notes that the next `count` rows of the batch are the next ones of the stretch. The first is the
  /// element `number`.
  void note_placed(BatchInFill& batch, const InputRows& rows, std::size_t count,
                   std::uint64_t number);
  /// Notes that the batch is the stage's element at `position`. It has no row for one that failed.
  void note_given(const BatchInFill& batch, std::uint64_t position);

  /// Returns how many rows the stage's element has; 0 if it is no batch, or lies too far back.
  std::uint64_t rows_of(std::uint64_t position) const { return given_.rows_of(position); }
  struct Origin {
    std::uint64_t number;
    std::optional<std::uint64_t> position;  ///< in the input, if it was pulled
  };
  std::optional<Origin> find(std::uint64_t position, std::uint64_t row) const;

 private:
  const bool is_on_;
  RowLog given_;        ///< numbers
  PositionLog pulled_;  ///< positions, by numbers
};

}  // namespace infeed::detail
