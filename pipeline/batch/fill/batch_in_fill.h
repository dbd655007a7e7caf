#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <infeed/pipeline/chunk.h>
#include <infeed/pipeline/detail/held_bytes.h>

#include "batch/fill/input_rows.h"

namespace infeed::detail {

/// A batch in the making, or one that is made and waits to be taken. Guarded by the lock of the hand-off,
/// but for the rows of `filling`, which belong to those who write them.
struct BatchInFill {
  BatchInFill(const TypeInfo& type, bool its_rows_have_places)
      : has_places(its_rows_have_places), made(type, 1) {}

  const bool has_places;  ///< RowFillSpec::rows_have_places
  std::uint64_t number = 0;
  void* filling = nullptr;  ///< null before the first row, and when it is made
  std::size_t placed = 0;   ///< rows that have elements
  std::size_t done = 0;     ///< of them written, or failed
  std::vector<std::pair<std::size_t, ErrorPointer>> failed;  ///< rows
  std::size_t appended = 0;  ///< where rows are appended: those that went well
  bool is_busy = false;      ///< a piece is being written

  std::deque<ErrorPointer> errors;  ///< of the input; to be handed over before it
  ErrorPointer rows_error;          ///< of its own rows; behind them
  Chunk made;
  bool is_made = false;
  bool is_required = false;  ///< it has the memory that the stage can't do without
  HeldBytes held;
  std::uint64_t over_bytes = 0;  ///< of those held: for which there was no room
};

/// Neighbouring rows of a stretch that belong into one batch.
struct Piece {
  BatchInFill* batch;
  std::shared_ptr<InputRows> rows;
  std::size_t first;  ///< of `rows`
  std::size_t count;
  std::size_t row;         ///< of the batch
  std::uint64_t position;  ///< of the first in the input, where errors have positions, too
};

/// How the rows of a piece went.
struct PieceOutcome {
  std::vector<std::pair<std::size_t, ErrorPointer>> failed;
  std::size_t appended = 0;
  std::optional<std::size_t> damaged;  ///< of the piece: it and those behind it weren't written
  std::uint64_t ticks = 0;
  std::uint64_t cpu_ns = 0;  ///< where they were measured
};

}  // namespace infeed::detail
