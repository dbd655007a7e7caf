#include <infeed/infeed.h>

#include "pipeline/suite/stage_suite.h"
#include "thrown_error.h"

namespace infeed::test {
namespace {

namespace f = infeed::feature;

/// A batch of two rows, n and n + 1.
ColumnBatch batch_of_number(std::int64_t n) {
  return ColumnBatch({{"x", column_of(std::vector<std::int64_t>{n, n + 1})}});
}
std::int64_t sum_of_batch(const ColumnBatch& batch) {
  const auto values = batch.column("x").values<std::int64_t>();
  return values[0] + values[1];
}

TEST(FeaturesStage, PassesTheSuite) {
  for (const int parallelism : {1, 3}) {
    run_stage_suite_on<std::int64_t>(
        [parallelism](const Dataset<std::int64_t>& dataset) {
          return dataset | map(batch_of_number) |
                 features(
                     {f::Clip{.column = "x", .max = 200},
                      f::Vocabulary{.column = "x", .words = {"7"}, .oov_buckets = 1, .to = "y"}},
                     {.parallelism = parallelism}) |
                 map(sum_of_batch);
        },
        [](const Slots& in) {
          Stream stream;
          for (const Slot& slot : in) {
            const std::int64_t low = std::min<std::int64_t>(200, slot.value);
            const std::int64_t high = std::min<std::int64_t>(200, slot.value + 1);
            stream.push_back(slot.fails ? show(slot) : std::to_string(low + high));
          }
          return stream;
        });
  }
}

TEST(FeaturesStage, ABadValueIsAnErrorInThePlaceOfItsBatch) {
  const auto dataset = range(3) | map(batch_of_number) |
                       features({f::OneHot{.column = "x", .depth = 3}}, {.name = "hot"});
  auto iterator = dataset.iterate();
  EXPECT_EQ(iterator.next()->column("x").row_shape(), infeed::Shape({3}));
  EXPECT_EQ(iterator.next()->rows(), 2);
  const Error error = error_of([&] { iterator.next(); });
  EXPECT_EQ(error.message(),
            "one_hot: column 'x', row 1: 3 is found, but a whole number from 0 to 2 is expected");
  EXPECT_EQ(error.code(), ErrorCode::data_loss);
  EXPECT_EQ(error.stage(), "features 'hot'");
  EXPECT_EQ(error.lost(), Lost{.records = 1}) << "the other row of the batch";
  EXPECT_FALSE(iterator.next());
}

TEST(FeaturesStage, CheckpointsAreBoundToTheOperations) {
  const auto with = [](std::int64_t buckets, std::vector<std::string> words) {
    return range(9) | map(batch_of_number) |
           features({f::HashBuckets{.column = "x", .buckets = buckets},
                     f::Vocabulary{.column = "x", .words = std::move(words), .oov_buckets = 9}});
  };
  auto iterator = with(5, {"a"}).iterate();
  iterator.next();
  const Checkpoint checkpoint = iterator.checkpoint();
  EXPECT_EQ(*with(5, {"a"}).iterate({.resume = checkpoint}).next(), *iterator.next());
  EXPECT_THAT(error_of([&] { with(6, {"a"}).iterate({.resume = checkpoint}); }).message(),
              HasSubstr("features("));
  EXPECT_THAT(error_of([&] { with(5, {"b"}).iterate({.resume = checkpoint}); }).message(),
              HasSubstr("features("));
}

}  // namespace
}  // namespace infeed::test
