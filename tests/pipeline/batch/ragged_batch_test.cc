#include <infeed/pipeline/ragged_batch.h>
#include <infeed/pipeline/range.h>

#include "pipeline/suite/sequences.h"
#include "pipeline/suite/stage_suite.h"
#include "thrown_error.h"

namespace infeed::test {
namespace {

TEST(RaggedBatch, PassesTheSuite) {
  for (const std::size_t size : {1, 4, 1000}) {
    const bool drop = size == 4;
    SCOPED_TRACE(size);
    run_stage_suite_on<std::int64_t>(
        [=](const Dataset<std::int64_t>& dataset) {
          return dataset | to_sequences() |
                 ragged_batch(static_cast<std::int64_t>(size), {.drop_remainder = drop}) |
                 to_rows();
        },
        [=](const Slots& in) {
          Stream stream;
          Rows rows;
          for (const Slot& slot : in) {
            if (slot.fails) {
              stream.push_back(show(slot));
              continue;
            }
            rows.push_back(sequence_of(slot.value));
            if (rows.size() < size) continue;
            stream.push_back(show(rows));
            rows.clear();
          }
          if (!rows.empty() && !drop) stream.push_back(show(rows));
          return stream;
        });
  }
}

TEST(RaggedBatch, HasTensorFlowsRowSplits) {
  const auto batches = range(4) | map([](std::int64_t n) {
                         return std::pair(std::vector<std::int64_t>(static_cast<std::size_t>(n), n),
                                          std::to_string(n));
                       }) |
                       ragged_batch(4);
  const auto batch = *batches.iterate().next();
  const Ragged<std::int64_t>& numbers = batch.column<0>();
  EXPECT_EQ(std::vector<std::int64_t>(numbers.values().begin(), numbers.values().end()),
            (std::vector<std::int64_t>{1, 2, 2, 3, 3, 3}));
  EXPECT_EQ(std::vector<std::int64_t>(numbers.row_splits().begin(), numbers.row_splits().end()),
            (std::vector<std::int64_t>{0, 0, 1, 3, 6}));
  EXPECT_EQ(batch.column<1>()[3], "3");
}

TEST(RaggedBatch, RefusesASizeBelowOne) {
  EXPECT_EQ(error_of([] { range(3) | to_sequences() | ragged_batch(-1); }).message(),
            "ragged_batch: size is -1; give at least 1");
}

}  // namespace
}  // namespace infeed::test
