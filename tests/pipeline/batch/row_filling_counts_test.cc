#include <cstdint>
#include <gtest/gtest.h>
#include <string>

#include <infeed/error.h>
#include <infeed/pipeline/batch_into.h>
#include <infeed/pipeline/records.h>
#include <infeed/pipeline/statistics.h>
#include <infeed/records/example_schema.h>

#include "pipeline/batch/row_filling.h"
#include "temporary_folder.h"

// Batches take the records of blocks past the source, whose statistics count them all the same.
namespace infeed::test {
namespace {

TEST_F(RowFilling, CountsTheRecordsOfBlocks) {
  write(1, 1000, 40);
  const auto schema = ExampleSchema<FilledSample>()
                          .feature("text", &FilledSample::text)
                          .feature("id", &FilledSample::id, 0);
  auto iterator = (records(list_) | parse_batch(schema, 10, {.parallelism = 2})).iterate();
  while (iterator.next()) {
  }
  const PipelineStatistics statistics = iterator.statistics();
  ASSERT_EQ(statistics.stages.size(), 2U);
  EXPECT_EQ(statistics.stages[0].elements, 100U);
  EXPECT_EQ(statistics.stages[1].label, "records");
  EXPECT_EQ(statistics.stages[1].elements, 1000U);
}

/// The statistics said that an element was made of nothing.
TEST_F(RowFilling, CountsTheRecordsOfABatchWhoseRowFails) {
  write(1, 100, 40);
  const auto schema = ExampleSchema<FilledSample>()
                          .feature("text", &FilledSample::text)
                          .feature("nothing", &FilledSample::id);
  auto iterator = (records(list_) | parse_batch(schema, 10, {.parallelism = 1})).iterate();
  EXPECT_THROW(iterator.next(), Error);
  EXPECT_GE(iterator.statistics().stages[1].elements, 10U);
}

/// Blocks are read ahead of damage, and their records are given up there: a recording that had
/// counted them couldn't take it back.
TEST_F(RowFilling, NeverCountsRecordsThatDamageGivesUp) {
  write(1, 200, 10);
  std::string bytes = read_whole(list_[0]);
  bytes.at(bytes.find("ids", bytes.size() / 2)) ^= '\x20';  // the record's frame stays whole
  write_whole(list_[0], bytes);
  const auto schema = ExampleSchema<FilledSample>()
                          .feature("text", &FilledSample::text)
                          .feature("id", &FilledSample::id, 0);
  const auto take_all = [](auto& iterator, const auto& see) {
    EXPECT_THROW(
        {
          while (iterator.next()) see();
        },
        Error);
  };
  auto one_by_one = records(list_).iterate();
  take_all(one_by_one, [] {});
  const std::uint64_t all = one_by_one.statistics().stages[0].elements;  // the error is one, too
  ASSERT_GT(all, 50U);
  ASSERT_LT(all, 150U);
  for (const std::int64_t parallelism : {1, 3}) {
    auto iterator =
        (records(list_) | parse_batch(schema, 1, {.parallelism = parallelism})).iterate();
    const auto counted = [&] { return iterator.statistics().stages[1].elements; };
    take_all(iterator, [&] { EXPECT_LE(counted(), all); });
    EXPECT_EQ(counted(), all);
  }
}

}  // namespace
}  // namespace infeed::test
