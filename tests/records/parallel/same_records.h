#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <gtest/gtest.h>
#include <memory>
#include <string>
#include <vector>

#include <infeed/error.h>
#include <infeed/records/detail/mapped_files.h>
#include <infeed/records/parallel_record_reader.h>

#include "records/temporary_files.h"
#include "seeded_random.h"

/// Checks that ParallelRecordReader and a RecordReader of mapped files give the same records as a
/// RecordReader that reads.
namespace infeed::test {

struct Outcome {
  std::vector<std::string> records;  // number, offset and bytes
  std::string error;
  std::vector<std::string> damaged;
  bool operator==(const Outcome&) const = default;
};

template <class Reader, class Options>
Outcome read_all(
    const std::string& file, const Options& options,
    const std::function<void()>& before_each = [] {}) {
  Outcome outcome;
  try {
    Reader reader(file, options);
    Record record;
    try {
      for (before_each(); reader.next(record); before_each()) {
        EXPECT_EQ(record.file(), file);
        outcome.records.push_back(std::to_string(record.number().value()) + " " +
                                  std::to_string(record.offset().value()) + " " +
                                  std::string(record.bytes()));
      }
    } catch (const Error& error) {
      outcome.error = error.what();
      EXPECT_FALSE(reader.next(record)) << "after an error the file is over";
    }
    for (const DamagedRange& range : reader.damaged()) {
      outcome.damaged.push_back(std::to_string(range.begin) + "-" + std::to_string(range.end) +
                                " " + std::to_string(range.record) + " " + range.message);
    }
  } catch (const Error& error) {
    outcome.error = error.what();
  }
  return outcome;
}

/// Changes the number of threads, perhaps to none, before one record in four.
inline Outcome read_all_as_threads_come_and_go(const std::string& file,
                                               ParallelRecordReaderOptions options) {
  SeededRandom random;
  const auto now = std::make_shared<std::atomic<unsigned>>(2);
  options.threads_now = now;
  return read_all<ParallelRecordReader>(file, options, [&] {
    if (random() % 4 == 0) *now = static_cast<unsigned>(random() % (options.threads + 1));
  });
}

inline void expect_outcome(const Outcome& outcome, const Outcome& expected) {
  ASSERT_EQ(outcome.error, expected.error);
  ASSERT_EQ(outcome.records, expected.records);
  ASSERT_EQ(outcome.damaged, expected.damaged);
}

/// Compares both readers under every policy, cut in several ways, and the one of mapped files.
inline void expect_same(const std::string& file, const std::vector<std::uint64_t>& segment_bytes) {
  for (const DamagePolicy policy : {DamagePolicy::fail, DamagePolicy::skip_and_resynchronise,
                                    DamagePolicy::stop_like_tensorflow}) {
    for (const std::size_t block_bytes : {64, 262'144}) {
      const RecordReaderOptions options = {.damage = policy, .block_bytes = block_bytes};
      const Outcome expected = read_all<RecordReader>(file, options);
      RecordReaderOptions mapped = options;
      mapped.mapped_files = std::make_shared<detail::MappedFiles>();
      for (int pass = 0; pass < 2; ++pass)  // the second finds the file mapped
        expect_outcome(read_all<RecordReader>(file, mapped), expected);
      for (const std::uint64_t bytes : segment_bytes) {
        ParallelRecordReaderOptions parallel = {
            .reader = options, .segment_bytes = bytes, .read_ahead_bytes = 4 * bytes};
        for (const unsigned threads : {1U, 3U}) {
          parallel.threads = threads;
          expect_outcome(read_all<ParallelRecordReader>(file, parallel), expected);
        }
        expect_outcome(read_all_as_threads_come_and_go(file, parallel), expected);
      }
    }
  }
}

}  // namespace infeed::test
