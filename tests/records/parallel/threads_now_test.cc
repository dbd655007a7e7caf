#include <algorithm>
#include <atomic>
#include <gtest/gtest.h>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <infeed/records/parallel_record_reader.h>
#include <infeed/records/record_writer.h>

#include "records/temporary_files.h"

/// ParallelRecordReaderOptions::threads_now, and the accounts of the threads' work.
/// parallel_record_reader_test.cc shows that records, errors and damage don't depend on it.
namespace infeed {
namespace {

constexpr std::uint64_t kRecords = 20'000;

class ThreadsNow : public ::testing::Test {
 protected:
  ThreadsNow() {
    RecordWriter writer(file_, {.compression = Compression::none});
    for (std::uint64_t i = 0; i < kRecords; ++i) writer.write(std::string(100, 'x'));
    writer.close();
  }

  ParallelRecordReaderOptions options() {
    return {.threads = 3,
            .segment_bytes = 10'000,
            .read_ahead_bytes = 40'000,
            .on_thread_start = [this](std::string_view) { note_thread(); },
            .threads_now = now_,
            .around_decoding =
                [this](const auto& decode) {
                  ++decoded_;
                  decode();
                },
            .around_waiting =
                [this](const auto& wait) {
                  ++waited_;
                  wait();
                }};
  }
  static void read(ParallelRecordReader& reader, std::uint64_t records) {
    Record record;
    for (std::uint64_t i = 0; i < records; ++i) {
      ASSERT_TRUE(reader.next(record));
      ASSERT_EQ(record.number(), reader.records_passed() - 1);
    }
  }

  /// A thread of the reader has begun; it sets its own end.
  void note_thread() {
    struct Held {
      explicit Held(std::atomic<int>& count) : ended(count) {}
      ~Held() { ++ended; }
      std::atomic<int>& ended;
    };
    ++begun_;
    static thread_local std::optional<Held> held;
    held.emplace(ended_);
  }
  /// Threads come and go when the system allows them.
  static void wait_until(const std::atomic<int>& threads, int count) {
    while (threads < count) std::this_thread::yield();
  }

  std::atomic<int> begun_{0};
  std::atomic<int> ended_{0};
  TemporaryFolder folder_{test::memory_folder()};
  const std::string file_ = folder_.file("x");
  const std::shared_ptr<std::atomic<unsigned>> now_ = std::make_shared<std::atomic<unsigned>>(0);
  std::atomic<int> decoded_{0};
  std::atomic<int> waited_{0};
};

TEST_F(ThreadsNow, end_and_come_back) {
  ParallelRecordReader reader(file_, options());
  read(reader, 5'000);
  EXPECT_EQ(begun_, 0);
  EXPECT_EQ(waited_, 0);
  *now_ = 2;
  read(reader, 5'000);
  wait_until(begun_, 2);
  EXPECT_GE(decoded_, 5'000 / 90) << "they decode all of it, a segment at a time";
  *now_ = 0;
  read(reader, 1'000);  // all that they had decoded, and one segment more
  const int decoded = decoded_;
  read(reader, 4'000);
  EXPECT_EQ(decoded_, decoded);
  wait_until(ended_, 2);
  EXPECT_EQ(begun_, 2);
  *now_ = 3;
  read(reader, 5'000);
  wait_until(begun_, 5);  // ended threads are started again
  EXPECT_EQ(begun_, 5);
  Record record;
  EXPECT_FALSE(reader.next(record));
}

TEST_F(ThreadsNow, are_no_more_than_the_reader_may_have) {
  *now_ = 100;
  ParallelRecordReader reader(file_, options());
  read(reader, kRecords);
  wait_until(begun_, 3);
  EXPECT_EQ(begun_, 3);
}

TEST_F(ThreadsNow, are_as_many_as_the_cores_where_nobody_says) {
  ParallelRecordReaderOptions as_usual = options();
  as_usual.threads = 0;
  as_usual.threads_now = nullptr;
  ParallelRecordReader reader(file_, as_usual);
  read(reader, kRecords);
  // The file has about 220 segments.
  const int cores = std::clamp(static_cast<int>(std::thread::hardware_concurrency()), 1, 200);
  wait_until(begun_, cores);
  EXPECT_GT(decoded_, 0);
}

TEST_F(ThreadsNow, keep_one_for_a_file_that_is_compressed) {
  RecordWriter writer(file_, {.compression = Compression::gzip,
                              .flush_point_bytes = 10'000,
                              .existing = ExistingFile::replace});
  for (std::uint64_t i = 0; i < kRecords; ++i) writer.write(std::string(100, 'x'));
  writer.close();
  ParallelRecordReader reader(file_, options());
  read(reader, kRecords);
  EXPECT_EQ(begun_, 1);
  EXPECT_GT(decoded_, 100);
}

TEST_F(ThreadsNow, decode_no_further_ahead_than_they_may) {
  RecordWriter writer(file_, {.compression = Compression::gzip, .existing = ExistingFile::replace});
  for (std::uint64_t i = 0; i < kRecords; ++i) writer.write(std::string(100, 'x'));
  writer.close();
  ParallelRecordReaderOptions one_at_a_time = options();
  one_at_a_time.read_ahead_bytes = 1;
  ParallelRecordReader reader(file_, one_at_a_time);
  std::vector<Record> batch(1'000);  // more than a thread decodes at once
  for (int taken = 1; reader.read(batch) != 0; ++taken) {
    ASSERT_LE(decoded_, taken + 1);
    wait_until(decoded_, taken + 1);
  }
  EXPECT_EQ(reader.records_passed(), kRecords);
  const int waited = waited_;
  EXPECT_EQ(reader.read(batch), 0U);
  EXPECT_EQ(waited_, waited) << "the end is known";
}

/// Counts the segments that so many threads decode when none behind the first is taken.
class SegmentsAhead : public ThreadsNow {
 protected:
  int segments_ahead(ParallelRecordReaderOptions options, unsigned threads, int expected) {
    *now_ = threads;
    ParallelRecordReader reader(file_, std::move(options));
    read(reader, 1);
    wait_until(decoded_, expected + 1);
    *now_ = 0;
    read(reader, 200);  // at the next segment the threads end
    wait_until(ended_, static_cast<int>(threads));
    return decoded_ - 1;
  }
};

TEST_F(SegmentsAhead, are_the_share_of_the_threads_that_work) {
  ParallelRecordReaderOptions of_twelve = options();
  of_twelve.read_ahead_bytes = 12 * of_twelve.segment_bytes;
  EXPECT_EQ(segments_ahead(of_twelve, 1, 4), 4);
}

TEST_F(SegmentsAhead, are_two_for_each_thread_where_nobody_says_how_many) {
  ParallelRecordReaderOptions as_usual = options();
  as_usual.read_ahead_bytes = 0;
  EXPECT_EQ(segments_ahead(as_usual, 3, 6), 6);
}

}  // namespace
}  // namespace infeed
