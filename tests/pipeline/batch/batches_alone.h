#pragma once

#include <cstddef>
#include <cstdint>
#include <gtest/gtest.h>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <infeed/error.h>
#include <infeed/pipeline/detail/row_filling.h>

#include "batch/fill/batches_in_fill.h"
#include "batch/fill/input_rows.h"
#include "batch/fill/row_origins.h"
#include "engine/iterator_context.h"
#include "engine/stage_counters.h"
#include "engine/threads/clock.h"

/// Batches in the making whose rows the test writes.
namespace infeed::test {

using Gaps = std::vector<std::size_t>;
/// A batch that was made: how many rows it was told to have, and its gaps.
using MadeRows = std::pair<std::size_t, Gaps>;

/// Notes all that batches in the making are asked to do.
struct FillLog {
  int begun = 0;
  int dropped = 0;
  Gaps truncated;
  std::vector<std::pair<std::size_t, std::uint64_t>> written;  ///< row, and its element's position
  std::uint64_t fails_at = UINT64_MAX;                         ///< position of an element
  std::uint64_t row_ticks = 0;                                 ///< the least time of a row
  detail::FillingBytes bytes{0, 0};                            ///< each filling's
};

/// Batches of 4 rows in memory without a limit, unless a test gives one.
class BatchesAlone {
 public:
  explicit BatchesAlone(bool rows_have_places = true, std::uint64_t limit_bytes = 0)
      : BatchesAlone(rows_have_places, IterateOptions{.memory_bytes_max = limit_bytes}) {}
  BatchesAlone(bool rows_have_places, const IterateOptions& options) : run(options) {
    spec.name = "fill";
    spec.size = 4;
    spec.batch_type = &type_info<MadeRows>();
    spec.rows_have_places = rows_have_places;
    spec.fill = std::shared_ptr<const FillLog>(&log, [](const void*) {});
    spec.begin = [](const void* fill, std::size_t) -> void* {
      ++log_of(fill).begun;
      return new FillLog*(&log_of(fill));
    };
    spec.drop = [](void* filling) noexcept {
      ++(*static_cast<FillLog**>(filling))->dropped;
      delete static_cast<FillLog**>(filling);
    };
    spec.write = [](const void* fill, const void*, void*, std::size_t row,
                    const detail::Place& place, std::size_t i) -> ErrorPointer {
      log_of(fill).written.emplace_back(row, place.position + i);
      const std::uint64_t end_ticks = detail::ticks_now() + log_of(fill).row_ticks;
      while (detail::ticks_now() < end_ticks) {
      }
      return place.position + i == log_of(fill).fails_at ? error("it fails") : nullptr;
    };
    spec.truncate = [](void* filling, std::size_t rows) {
      (*static_cast<FillLog**>(filling))->truncated.push_back(rows);
    };
    spec.finish = [](const void*, void* filling, std::size_t rows,
                     std::span<const std::size_t> gaps, Chunk& out) {
      out.append(MadeRows(rows, Gaps(gaps.begin(), gaps.end())));
      delete static_cast<FillLog**>(filling);
    };
    if (!rows_have_places) {
      spec.filling_bytes = [](const void* filling) {
        return (*static_cast<FillLog* const*>(filling))->bytes;
      };
    }
    batches.emplace(run, counters, spec, origins);
  }

  static std::shared_ptr<detail::InputRows> stretch(std::int64_t count) {
    auto rows = std::make_shared<detail::InputRows>();
    rows->chunk.emplace(type_info<std::int64_t>());
    for (std::int64_t i = 0; i < count; ++i) rows->chunk->append(i);
    return rows;
  }
  /// Places a stretch of `count` rows.
  std::shared_ptr<detail::InputRows> place(std::int64_t count) {
    auto rows = stretch(count);
    EXPECT_TRUE(batches->place(rows, false));
    EXPECT_EQ(rows->placed, rows->size());
    return rows;
  }
  /// Writes the next piece, of which the rows in `failed` fail, and finishes its batch.
  void write_piece(const Gaps& failed = {}, bool is_last = false, bool keeps_rest = true) {
    const std::optional<detail::Piece> piece = batches->take_piece();
    ASSERT_TRUE(piece);
    note(*piece, failed);
    finish(*piece->batch, is_last, keeps_rest);
  }
  void note(const detail::Piece& piece, const Gaps& failed = {}) {
    detail::PieceOutcome outcome;
    outcome.appended = piece.count - failed.size();
    outcome.failed = failed;
    if (!failed.empty()) outcome.first_error = error("row " + std::to_string(failed.front()));
    batches->note_written(piece, std::move(outcome));
  }
  void finish(detail::BatchInFill& batch, bool is_last = false, bool keeps_rest = true) {
    std::mutex mutex;
    std::unique_lock lock(mutex);
    batches->finish_if_written(lock, batch, is_last, keeps_rest);
    EXPECT_TRUE(lock.owns_lock());
  }
  static ErrorPointer error(const std::string& text) {
    return std::make_shared<const Error>(ErrorCode::data_loss, text);
  }
  /// Adds an error of the input for which nothing was held.
  void add_error(const std::string& text) {
    detail::HeldBytes nothing;
    batches->add_error(error(text), nothing);
  }
  /// Hands one thing over, and shows it.
  std::string handed_over(std::uint64_t rows_ahead_max = 8) {
    Chunk out(type_info<MadeRows>());
    says_wake = batches->hand_over_front(out, 0, rows_ahead_max);
    held = out.held().bytes();
    return shown(out);
  }
  /// Shows what was handed over.
  static std::string shown(Chunk& out) {
    if (out.has_error()) return std::string(out.error()->message());
    if (out.size() == 0) return "nothing";
    const MadeRows& made = out.values<MadeRows>()[0];
    return std::to_string(made.first) + " rows, " + std::to_string(made.second.size()) + " gaps";
  }

  FillLog log;
  IteratorContext run;
  detail::StageCounters counters;
  detail::RowFillSpec spec;
  detail::RowOrigins origins{4, false};
  std::optional<detail::BatchesInFill> batches;
  bool says_wake = false;  ///< by the last handed_over()
  std::uint64_t held = 0;  ///< by what that one gave

 private:
  static FillLog& log_of(const void* fill) {
    return *const_cast<FillLog*>(static_cast<const FillLog*>(fill));
  }
};

/// Shows a piece: its batch, its first row there, its first row in the stretch, its length, and its
/// position.
inline auto piece_seen(const std::optional<detail::Piece>& piece) {
  return std::tuple(piece->batch->number, piece->row, piece->first, piece->count, piece->position);
}
inline auto piece_at(std::uint64_t batch, std::size_t row, std::size_t first, std::size_t count,
                     std::uint64_t position) {
  return std::tuple(batch, row, first, count, position);
}

}  // namespace infeed::test
