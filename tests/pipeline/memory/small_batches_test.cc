#include <array>
#include <gtest/gtest.h>
#include <span>
#include <string>
#include <vector>

#include <infeed/infeed.h>
#include <infeed/records/example.h>
#include <infeed/records/record_writer.h>

#include "pipeline/memory/limited_run.h"
#include "temporary_folder.h"

// A batch of one row is more than its values: 19,000 of them took 43 MB where 16 were counted.
namespace infeed::test {
namespace {

/// Part that the account may miss.
constexpr double kMissed = 0.1;
/// A queue's chunks have room for more elements than their bytes allow.
constexpr double kMissedInQueue = 0.4;
/// Part that the account may have too much. It counts the allocator's headers, which the allocator's
/// figures lack; AddressSanitizer's figures lack the blocks' unused ends, too.
constexpr double kTooMuch = kAddressSanitizer ? 1 : 0.2;

/// Where the batches come from.
struct SmallBatchSource {
  std::int64_t held;  ///< batches to be held; there are more, so that no stage reaches its end
  std::uint64_t beside_bytes = 2 * kMiB;  ///< for threads and readers
};

/// Takes elements until the last stage holds many, and compares its bytes with the allocator's.
template <class T>
void expect_counted(const Dataset<T>& dataset, const SmallBatchSource& source, std::int64_t taken,
                    double missed) {
  const CountedMemory memory;
  auto iterator = dataset.iterate();
  for (std::int64_t i = 0; i < taken; ++i) ASSERT_TRUE(iterator.next().has_value());
  wait_until_still(iterator);
  const auto in_stage = [&iterator] {
    return static_cast<double>(iterator.statistics().stages.front().buffered_bytes);
  };
  // On a busy machine a queue's thread may go on after a long rest.
  const double before = in_stage();
  const auto allocated = static_cast<double>(memory.held_bytes());
  const double after = in_stage();
  EXPECT_LE(allocated, (1 + missed) * after + static_cast<double>(source.beside_bytes));
  if (kMemoryIsCounted) {
    EXPECT_LE(before, (1 + kTooMuch) * allocated);
  }
  EXPECT_GE(static_cast<double>(iterator.memory().in_use_bytes()), after);
}

template <class T>
void expect_counted_where_held(const Dataset<T>& batches, const SmallBatchSource& source) {
  const std::int64_t held = source.held;
  {
    SCOPED_TRACE("in a cache");
    expect_counted(batches | cache(), source, held, kMissed);
  }
  {
    SCOPED_TRACE("in a shuffle");
    expect_counted(batches | shuffle({.buffer = held, .seed = 1}), source, 1, kMissed);
  }
  SCOPED_TRACE("in a queue");
  expect_counted(batches | prefetch(held), source, 1, kMissedInQueue);
}

class SmallColumnBatches : public ::testing::Test {
 protected:
  static constexpr std::int64_t kHeld = 24'000;
  static constexpr SmallBatchSource kSource{.held = kHeld, .beside_bytes = kSlackBytes};

  SmallColumnBatches() {
    RecordWriter writer(file_);
    for (std::int64_t i = 0; i < kHeld + 5'000; ++i) {
      const std::vector<std::int64_t> tokens(1 + i % 8, i % 900);
      const std::vector<float> values(4, static_cast<float>(i));
      ExampleBuilder builder;
      builder.integers("tokens", std::span<const std::int64_t>(tokens));
      builder.floats("values", std::span<const float>(values));
      builder.integers("number", i);
      builder.bytes("text", std::string(i % 30, 'x'));
      writer.write(builder.encode());
    }
    writer.close();
  }
  Dataset<ColumnBatch> batches_of(std::int64_t rows) const {
    const auto columns = ColumnSchema()
                             .ragged("tokens", DType::int32)
                             .column("values", DType::float32, {4})
                             .column("number", DType::int64)
                             .bytes("text");
    return records(file_) | parse_columns(columns, rows);
  }

 private:
  const TemporaryFolder folder_;
  const std::string file_ = folder_.file("rows");
};

TEST_F(SmallColumnBatches, OfOneParsedRow) { expect_counted_where_held(batches_of(1), kSource); }

TEST_F(SmallColumnBatches, OfOneRowOfALargerBatch) {
  expect_counted_where_held(batches_of(100) | unbatch(), kSource);
}

struct SmallRow {
  std::array<float, 4> values;
  std::int64_t number;
};
struct SmallSentence {
  std::vector<std::int64_t> tokens;
  std::int64_t number;
};

constexpr SmallBatchSource kRows{.held = 80'000};

TEST(SmallBatches, OfOneStruct) {
  const auto rows = range(2 * kRows.held) | map([](std::int64_t i) {
                      return SmallRow{{1, 2, 3, 4}, i};
                    });
  expect_counted_where_held(rows | batch(1), kRows);
}

TEST(SmallBatches, OfOneSentence) {
  const auto rows = range(2 * kRows.held) | map([](std::int64_t i) {
                      return SmallSentence{{i, i, i}, i};
                    });
  expect_counted_where_held(rows | ragged_batch(1), kRows);
  expect_counted_where_held(rows | padded_batch(1), kRows);
}

}  // namespace
}  // namespace infeed::test
