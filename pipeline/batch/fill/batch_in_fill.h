#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <vector>

#include <infeed/pipeline/chunk.h>
#include <infeed/pipeline/detail/held_bytes.h>

#include "batch/fill/input_rows.h"

namespace infeed::detail {

/// A batch in the making, or a finished one that waits to be taken. The lock of the hand-off guards
/// it, except for the rows of `filling`, which belong to the threads that write them.
struct BatchInFill {
  BatchInFill(const TypeInfo& type, bool its_rows_have_places)
      : has_places(its_rows_have_places), made(type, 1) {}

  /// Returns the number of its first row, in batches of `size`.
  std::uint64_t first_row(std::uint64_t size) const { return number * size; }

  /// Neighbouring rows that are neighbouring elements of the input.
  struct Rows {
    std::uint64_t first;  ///< in the batch
    std::uint64_t count;
    std::uint64_t number;  ///< RowOrigins' of the first one
  };

  /// An error of the input, and its part of the account.
  struct HeldError {
    ErrorPointer error;
    HeldBytes held;
  };

  const bool has_places;  ///< RowFillSpec::rows_have_places
  std::uint64_t number = 0;
  void* filling = nullptr;          ///< null before the first row, and once the batch is made
  std::size_t placed = 0;           ///< rows that have elements
  std::size_t done = 0;             ///< rows that were written, or failed
  std::vector<std::size_t> failed;  ///< rows, in order
  ErrorPointer first_error;         ///< that of the first failed row stands for all of them
  std::size_t appended = 0;         ///< rows that were written, if rows are appended
  bool is_busy = false;             ///< a piece is being written

  std::vector<Rows> origins = {};  ///< those of the placed rows, if the iterator keeps places

  std::list<HeldError> errors;  ///< the input's errors; handed over before the batch
  ErrorPointer refusal;         ///< there was no memory for the batch; ends the stream next
  ErrorPointer rows_error;      ///< the error of the batch's own rows; handed over next
  Chunk made;
  bool is_made = false;
  bool is_required = false;      ///< it uses the memory that the stage can't do without
  HeldBytes held;                ///< if it is required: what its arrays have to spare
  std::uint64_t used_bytes = 0;  ///< as FillingBytes, at the last look
  std::uint64_t over_bytes = 0;  ///< part of the held bytes that exceeds the room
};

/// Neighbouring rows of a stretch that belong to the same batch.
struct Piece {
  BatchInFill* batch;
  std::shared_ptr<InputRows> rows;
  std::size_t first;  ///< first one in `rows`
  std::size_t count;
  std::size_t row;         ///< first row in the batch
  std::uint64_t position;  ///< first row's position in the input; errors have positions, too
};

/// The result of writing a piece.
struct PieceOutcome {
  std::vector<std::size_t> failed;  ///< rows of the batch, in order
  ErrorPointer first_error;         ///< as BatchInFill's
  std::size_t appended = 0;
  std::optional<std::size_t> damaged;  ///< row of the piece; it and those after it weren't written
  std::uint64_t ticks = 0;
  std::uint64_t cpu_ns = 0;  ///< 0 if not measured
};

}  // namespace infeed::detail
