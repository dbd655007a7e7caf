#pragma once

#include <chrono>
#include <cstdint>
#include <gtest/gtest.h>
#include <string>

#include <infeed/error.h>
#include <infeed/pipeline/dataset.h>
#include <infeed/pipeline/iterator.h>

#include "pipeline/suite/busy.h"
#include "pipeline/suite/counted_memory.h"
#include "process_status.h"

namespace infeed::test {

inline constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;
/// For threads, chunks, readers' blocks and other small things.
inline constexpr std::uint64_t kSlackBytes = 16 * kMiB;
/// Bytes that libraries take once, and keep.
inline constexpr std::uint64_t kLeftoverBytes = kMiB / 4;
/// The least change of memory that counts as progress: asking for statistics takes memory, too.
inline constexpr std::uint64_t kNoticedBytes = 64 << 10;

struct LimitedRun {
  std::uint64_t limit_bytes;
  /// One result of each call that may be under way.
  std::uint64_t on_top_bytes = 0;
  /// Only in the account: a stage keeps the room for its next batch while one is on its way.
  std::uint64_t next_batch_bytes = 0;
  /// Bytes that the dataset holds when the iterator is gone, by its contract.
  std::uint64_t kept_bytes = 0;
  /// One of its elements is larger than the limit, so that it may end with resource_exhausted.
  bool may_refuse = false;
};

/// Returns a number that changes while stages work ahead.
template <class T>
std::uint64_t progress_of(const Iterator<T>& iterator) {
  std::uint64_t progress = counted_bytes() / kNoticedBytes;
  for (const StageStatistics& stage : iterator.statistics().stages) {
    progress += stage.elements + stage.buffered_bytes;
  }
  return progress;
}

/// Waits until nothing was made for a while: all queues are full.
template <class T>
void wait_until_still(const Iterator<T>& iterator) {
  std::uint64_t before = UINT64_MAX;
  for (std::uint64_t now = progress_of(iterator); now != before; now = progress_of(iterator)) {
    before = now;
    be_busy_for(std::chrono::milliseconds(15));
  }
}

/// Takes all elements and keeps none; now and then it waits until the iterator has made all that it
/// can.
template <class T>
void take_slowly(Iterator<T>& iterator) {
  std::uint64_t taken = 0;
  std::uint64_t wait_at = 1;
  while (iterator.next()) {
    if (++taken < wait_at) continue;
    wait_until_still(iterator);
    wait_at = 2 * taken;
  }
}

/// Notes a figure of the running test, of which benchmarks/memory_limit.py makes its table.
inline void note_bytes(const std::string& name, std::uint64_t bytes) {
  ::testing::Test::RecordProperty(name, std::to_string(bytes));
}

/// Checks that the allocator sees no more than the limit, the bytes on top, and 16 MiB, and no more
/// than the account's figure and these. Nothing is held afterwards.
template <class T>
void expect_limit_kept(const Dataset<T>& dataset, const LimitedRun& run) {
  const std::uint64_t resident_base = trimmed_resident_bytes();
  restart_resident_peak();
  const CountedMemory memory;
  const std::uint64_t beside_bytes = run.on_top_bytes + kSlackBytes;
  note_bytes("limit", run.limit_bytes);
  note_bytes("allowed", run.limit_bytes + beside_bytes);
  {
    auto iterator = dataset.iterate({.memory_bytes_max = run.limit_bytes});
    try {
      take_slowly(iterator);
    } catch (const Error& error) {
      EXPECT_TRUE(run.may_refuse) << error.what();
      EXPECT_EQ(error.code(), ErrorCode::resource_exhausted) << error.what();
      EXPECT_TRUE(error.is_terminal()) << error.what();
    }
    const std::uint64_t account_bytes = iterator.memory().peak_bytes();
    EXPECT_LE(memory.peak_bytes(), run.limit_bytes + beside_bytes)
        << "the account says " << account_bytes;
    EXPECT_LE(memory.peak_bytes(), account_bytes + beside_bytes)
        << "there is what it doesn't count";
    EXPECT_LE(account_bytes, run.limit_bytes + run.on_top_bytes + run.next_batch_bytes);
    note_bytes("counted", memory.peak_bytes());
    note_bytes("resident", beyond(status_bytes("VmHWM"), resident_base));
    note_bytes("account", account_bytes);
  }
  note_bytes("left", memory.held_bytes());
  EXPECT_LE(memory.held_bytes(), run.kept_bytes + kLeftoverBytes);
}

}  // namespace infeed::test
