#include "infeed/device/distribute.h"

#include <gmock/gmock.h>
#include <string>
#include <vector>

#include <infeed/device/slice.h>
#include <infeed/infeed.h>

#include "device/error_message.h"

namespace infeed {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

using Numbers = std::vector<std::int64_t>;

ColumnBatch batch_of(const Numbers& numbers) {
  return ColumnBatch(
      {{"number", Column::dense(Tensor::copy_of({static_cast<std::int64_t>(numbers.size())},
                                                std::span<const std::int64_t>(numbers)))}});
}

Numbers numbers_of(const ColumnBatch& batch) {
  if (batch.rows() == 0) return {};
  const auto values = batch.column("number").values<std::int64_t>();
  return {values.begin(), values.end()};
}

/// Returns the numbers of the files: 100 * file, ..., as many as `rows` for each.
Numbers rows_of(const std::vector<std::string>& files, std::int64_t rows) {
  Numbers all;
  for (const std::string& file : files) {
    for (std::int64_t row = 0; row < rows; ++row) all.push_back(100 * std::stoll(file) + row);
  }
  return all;
}

HostPipeline pipeline_of(std::int64_t rows_of_file) {
  return [rows_of_file](const HostInput& host) {
    return from_columns(batch_of(rows_of(host.files, rows_of_file)),
                        static_cast<std::uint64_t>(host.batch));
  };
}

using Step = std::vector<Numbers>;

std::vector<Step> steps_of(DistributedIterator iterator) {
  std::vector<Step> steps;
  while (const auto shares = iterator.next()) {
    steps.emplace_back();
    for (const ColumnBatch& share : shares->values()) steps.back().push_back(numbers_of(share));
  }
  return steps;
}

const std::vector<std::int32_t> kTwoHosts = {2, 2};

TEST(Distribute, FilesAreSharedOutAmongHosts) {
  const DistributedDataset input(kTwoHosts, {"1", "2", "3", "4"}, pipeline_of(3),
                                 {.global_batch = 8});
  EXPECT_EQ(input.policy(), ShardPolicy::file);
  EXPECT_EQ(steps_of(input.iterate()),
            (std::vector<Step>{{{100, 101}, {102, 300}, {200, 201}, {202, 400}},
                               {{301}, {302}, {401}, {402}}}));
}

TEST(Distribute, EveryHostKeepsItsRowsOfEachBatch) {
  const DistributedDataset input(kTwoHosts, {"1"}, pipeline_of(11), {.global_batch = 6});
  EXPECT_EQ(input.policy(), ShardPolicy::data);  // one file for two hosts
  EXPECT_EQ(steps_of(input.iterate()), (std::vector<Step>{{{100, 101}, {102, 103}, {104}, {105}},
                                                          {{106, 107}, {108}, {109}, {110}}}));
}

TEST(Distribute, OffLeavesTheDivisionToThePipelines) {
  const DistributedDataset input(kTwoHosts, {"1", "2"}, pipeline_of(2),
                                 {.global_batch = 4, .policy = ShardPolicy::off});
  EXPECT_EQ(steps_of(input.iterate()),
            (std::vector<Step>{{{100}, {101}, {100}, {101}}, {{200}, {201}, {200}, {201}}}));
  const DistributedDataset global(kTwoHosts, from_columns(batch_of({1, 2, 3, 4}), 4),
                                  {.global_batch = 4, .policy = ShardPolicy::off});
  EXPECT_EQ(steps_of(global.iterate()),
            (std::vector<Step>{{{1}, {2}, {1}, {2}}, {{3}, {4}, {3}, {4}}}));
}

TEST(Distribute, DatasetsAreDividedByRows) {
  const DistributedDataset input(kTwoHosts, from_columns(batch_of({1, 2, 3, 4, 5}), 4),
                                 {.global_batch = 4});
  EXPECT_EQ(input.policy(), ShardPolicy::data);
  EXPECT_EQ(steps_of(input.iterate()),
            (std::vector<Step>{{{1}, {2}, {3}, {4}}, {{5}, {}, {}, {}}}));
  EXPECT_EQ(error_message([] {
              DistributedDataset(kTwoHosts, from_columns(batch_of({1}), 1),
                                 {.global_batch = 4, .policy = ShardPolicy::file});
            }),
            "distribute: a dataset that is made can't be divided by its files; give distribute() "
            "the files and a function that makes a host's pipeline of them");
}

TEST(Distribute, HostsWhoseDataIsOverGetNoRows) {
  const HostPipeline uneven = [](const HostInput& host) {
    return from_columns(batch_of(rows_of(host.files, host.host == 0 ? 4 : 2)),
                        static_cast<std::uint64_t>(host.batch));
  };
  const DistributedDataset input(kTwoHosts, {"1", "2"}, uneven, {.global_batch = 4});
  DistributedIterator iterator = input.iterate();
  iterator.next();
  const auto second = iterator.next();
  ASSERT_TRUE(second);
  EXPECT_EQ(numbers_of((*second)[1]), Numbers{103});
  EXPECT_EQ((*second)[3].rows(), 0);
  EXPECT_THAT((*second)[3].names(), ElementsAre("number"));
  EXPECT_FALSE(iterator.next());
  EXPECT_FALSE(iterator.next());
}

TEST(Distribute, GoesOnWhereItWas) {
  const DistributedDataset input(kTwoHosts, {"1", "2"}, pipeline_of(6), {.global_batch = 4});
  const std::vector<Step> all = steps_of(input.iterate());
  for (std::size_t stop = 0; stop <= all.size(); ++stop) {
    DistributedIterator iterator = input.iterate();
    for (std::size_t i = 0; i < stop; ++i) iterator.next();
    const DistributedDataset again(kTwoHosts, {"1", "2"}, pipeline_of(6), {.global_batch = 4});
    EXPECT_EQ(steps_of(again.iterate({}, iterator.checkpoint())),
              std::vector<Step>(all.begin() + static_cast<std::ptrdiff_t>(stop), all.end()));
  }
  EXPECT_EQ(error_message([&] { input.iterate({}, std::vector<Checkpoint>(1)); }),
            "distribute: a checkpoint of 1 pipelines for 2; it belongs to another slice or policy");
}

TEST(Distribute, ABatchForOneReplicaIsExplained) {
  const DistributedDataset input({8}, from_columns(batch_of(Numbers(64)), 2), {.global_batch = 16});
  EXPECT_EQ(error_message([&] { input.iterate().next(); }),
            "distribute: the pipeline gives batches of 2 rows, which is what one of 8 replicas "
            "takes; distribute() divides global batches itself, so let the pipeline give 16 rows");
  const DistributedDataset others({8}, from_columns(batch_of(Numbers(64)), 5),
                                  {.global_batch = 16});
  EXPECT_EQ(
      error_message([&] { others.iterate().next(); }),
      "distribute: the pipeline gives a batch of 5 rows, and 16 were asked for; only the last "
      "batch may be shorter");
  const DistributedDataset larger({8}, from_columns(batch_of(Numbers(64)), 32),
                                  {.global_batch = 16});
  EXPECT_THAT(error_message([&] { larger.iterate().next(); }),
              HasSubstr("gives a batch of 32 rows, and 16 were asked for"));
}

TEST(Distribute, WhatCannotBeHadIsNamed) {
  const auto make = [](std::vector<std::string> files, DistributeOptions options) {
    return error_message([&] { DistributedDataset(kTwoHosts, files, pipeline_of(1), options); });
  };
  EXPECT_EQ(make({"1"}, {}),
            "distribute: a global_batch of 0; say how many rows a step has over all replicas");
  EXPECT_EQ(
      make({"1"}, {.global_batch = 4, .policy = ShardPolicy::file}),
      "distribute: 1 file can't be shared out among 2 hosts; write more shards, or take policy "
      "data, with which each host reads everything and keeps its rows");
  EXPECT_EQ(make({"1", "2"}, {.global_batch = 2, .policy = ShardPolicy::file}),
            "distribute: a global batch of 2 rows leaves some of 2 hosts without any, which with "
            "policy file have pipelines of their own; take a larger batch, or policy data");
  EXPECT_EQ(DistributedDataset(kTwoHosts, {"1", "2"}, pipeline_of(1), {.global_batch = 2}).policy(),
            ShardPolicy::data);
}

TEST(Distribute, PoliciesHaveNames) {
  for (const ShardPolicy policy :
       {ShardPolicy::automatic, ShardPolicy::file, ShardPolicy::data, ShardPolicy::off}) {
    EXPECT_EQ(shard_policy_from(to_string(policy)), policy);
  }
  EXPECT_EQ(error_message([] { shard_policy_from("hint"); }),
            "there is no policy 'hint'; take one of auto, file, data, off");
}

}  // namespace
}  // namespace infeed
