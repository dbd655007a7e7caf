#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include <infeed/communicator.h>
#include <infeed/records/column_batch.h>

/// Why: rows of bad records (keep_rows.h) are zeros, so somebody must be able to say which records
/// these were, and why. A batch has a number for each such row, and a ledger what the numbers mean.
///
///     const auto bad = infeed::merged(*ranks, kept->taken());  // equal at any number of hosts
///     std::puts(infeed::to_text(bad).c_str());
namespace infeed {

/// A record whose row is invalid, and why.
struct BadRow {
  std::string file = {};
  std::uint64_t record = 0;  ///< 0 where it isn't known
  std::uint64_t offset = 0;
  std::string reason = {};  ///< "data_loss: record is cut ..."

  friend auto operator<=>(const BadRow&, const BadRow&) = default;
};

/// The bad rows that were read in this process, by their numbers. Thread-safety: any threads.
class BadRowLedger {
 public:
  /// Notes a bad row, and returns its number, over 0. It is a hash of what the row says, but for the
  /// folder of the file: so batches are equal at any number of threads and hosts.
  std::int64_t note(const BadRow& row);
  /// Returns the row of that number. A row of another process (from a cache in a file) says no more
  /// than that.
  BadRow row(std::int64_t number) const;
  /// The number of a row that stands for no record: one that fills a batch up.
  static constexpr std::int64_t kNoRecord = -1;

 private:
  mutable std::mutex mutex_;
  std::map<std::int64_t, BadRow> rows_;
};

/// The bad rows among those that a consumer has taken, each once. Rows that are only read ahead don't
/// count, since how many they are depends on time. Thread-safety: any threads.
class TakenBadRows {
 public:
  /// `column`: that of the numbers. A batch without it, as behind a stage that drops it, has none.
  explicit TakenBadRows(std::shared_ptr<const BadRowLedger> ledger, std::string column = "bad_row");

  /// Notes those of a batch. Returns how many there are in it.
  std::size_t take(const ColumnBatch& batch);
  /// Returns them in the order in which they were taken, from the one of that index on.
  std::vector<BadRow> since(std::size_t first) const;
  /// Returns all of them, sorted.
  std::vector<BadRow> sorted() const;
  void clear();

 private:
  const std::shared_ptr<const BadRowLedger> ledger_;
  const std::string column_;
  mutable std::mutex mutex_;
  std::vector<BadRow> rows_;
  std::unordered_set<std::int64_t> numbers_;
};

/// Returns the bad rows of all ranks, sorted, each record once: the chief logs them at a checkpoint.
std::vector<BadRow> merged(Communicator& communicator, const std::vector<BadRow>& taken);

/// Writes and reads lists of bad rows, a line each, to keep them beside a checkpoint. Throws
/// Error(invalid_argument) that names the bad line.
std::string to_text(const std::vector<BadRow>& rows);
std::vector<BadRow> bad_rows_from_text(std::string_view text);

}  // namespace infeed
