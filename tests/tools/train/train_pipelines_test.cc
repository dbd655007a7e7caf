#include "train/train_pipelines.h"

#include <algorithm>
#include <gtest/gtest.h>

#include "convert/convert.h"
#include "convert/inputs/open_input.h"
#include "temporary_folder.h"
#include "tools/small_dataset.h"
#include "train/train_ablation.h"

namespace infeed::test {
namespace {

using tools::augment;
using tools::Batches;
using tools::Example;
using tools::kImageSide;
using tools::normalise;
using tools::PipelineOptions;
using tools::Sample;
using tools::Tricks;

Sample random_sample(std::uint32_t seed) {
  std::mt19937 random(seed);
  Sample sample{.image = {}, .label = static_cast<std::int64_t>(seed % 10)};
  for (std::uint8_t& pixel : sample.image) pixel = static_cast<std::uint8_t>(random());
  return sample;
}

/// The documented work of augment(), pixel by pixel.
Example shifted(const Sample& sample, int down, int right, bool mirrored) {
  const int side = static_cast<int>(kImageSide);
  Sample moved{.image = {}, .label = sample.label};
  for (int y = 0; y < side; ++y) {
    for (int x = 0; x < side; ++x) {
      const int from_y = y + down;
      const int from_x = (mirrored ? side - 1 - x : x) + right;
      const bool inside = from_y >= 0 && from_y < side && from_x >= 0 && from_x < side;
      if (inside) moved.image[y * side + x] = sample.image[from_y * side + from_x];
    }
  }
  return normalise(moved);
}

bool same(const Example& a, const Example& b) {
  return a.label == b.label && std::equal(a.image.begin(), a.image.end(), b.image.begin());
}

TEST(Augment, IsAShiftOfUpToFourPixelsAndAMirroring) {
  std::vector<int> seen(2 * 9 * 9);
  for (std::uint32_t i = 0; i < 3000; ++i) {
    const Sample sample = random_sample(i);
    Rng rng(7, 0, i);
    const Example augmented = augment(sample, rng);
    int matches = 0;
    for (int variant = 0; variant < 2 * 9 * 9; ++variant) {
      const int down = variant / 18 - 4;
      const int right = variant / 2 % 9 - 4;
      // A look at one pixel saves most of the work.
      const Example expected = i < 300 || seen[variant] == 0
                                   ? shifted(sample, down, right, variant % 2 != 0)
                                   : Example{};
      if (same(augmented, expected)) {
        ++matches;
        ++seen[variant];
      }
    }
    if (i < 300) {
      ASSERT_EQ(matches, 1) << i;
    }
  }
  EXPECT_EQ(std::count(seen.begin(), seen.end(), 0), 0) << "every variant comes up";
}

TEST(Augment, NormalisesToZeroMeanAndUnitDeviation) {
  Sample sample{};
  sample.image[0] = 73;   // 0.2860 * 255
  sample.image[1] = 163;  // one deviation above
  sample.image[2] = 255;
  const Example example = normalise(sample);
  EXPECT_NEAR(static_cast<float>(example.image[0]), 0, 0.01);
  EXPECT_NEAR(static_cast<float>(example.image[1]), 1, 0.01);
  EXPECT_NEAR(static_cast<float>(example.image[2]), 2.02, 0.01);
  EXPECT_NEAR(static_cast<float>(example.image[3]), -0.81, 0.01);
}

class TrainPipelines : public ::testing::Test {
 protected:
  void SetUp() override {
    write_dataset(folder_.path(), kImages, 600);
    options_.shards = convert_half("train", 16);
    test_.shards = convert_half("t10k", 2);
  }

  std::vector<std::string> convert_half(const std::string& prefix, std::uint32_t shards) {
    const auto input = tools::open_idx_pair(folder_.file(prefix + "-images-idx3-ubyte"),
                                            folder_.file(prefix + "-labels-idx1-ubyte"));
    return tools::convert(*input, {.prefix = folder_.file("shards/" + prefix),
                                   .shard_count = shards,
                                   .compression = Compression::gzip})
        .files;
  }

  static constexpr std::uint32_t kImages = 3000;
  TemporaryFolder folder_;
  PipelineOptions options_{.shards = {}, .seed = 7, .batch = 100};
  PipelineOptions test_{.shards = {}, .seed = 7, .batch = 256};
};

std::vector<Example> take(const Batches& batches, std::size_t count, int threads = 2) {
  std::vector<Example> rows;
  auto iterator = batches.iterate({.executor = Executor::threads(threads)});
  while (rows.size() < count) {
    const auto batch = iterator.next();
    if (!batch) break;
    for (std::size_t i = 0; i < batch->size(); ++i) rows.push_back(batch->row(i));
  }
  return rows;
}

void expect_same(const std::vector<Example>& a, const std::vector<Example>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) ASSERT_TRUE(same(a[i], b[i])) << "row " << i;
}

TEST_F(TrainPipelines, EveryTrickGivesTheSameBatches) {
  // Also over a pass's end. Interleaving is the one trick that reads in another order.
  const std::vector<Example> naive = take(feeding_pipeline(options_, {}), 2 * kImages + 500);
  const std::vector<Example> interleaved =
      take(feeding_pipeline(options_, {.parallel_interleave = true}), 2 * kImages + 500);
  for (const tools::Variant& variant : tools::ablation_variants()) {
    SCOPED_TRACE(variant.name);
    expect_same(take(feeding_pipeline(options_, variant.tricks), 2 * kImages + 500),
                variant.tricks.parallel_interleave ? interleaved : naive);
  }
}

TEST_F(TrainPipelines, AnEpochHasEveryImageOnce) {
  for (const Tricks& tricks : {Tricks{}, Tricks::all()}) {
    std::vector<int> labels(10);
    for (const Example& row : take(feeding_pipeline(options_, tricks), kImages)) {
      ++labels[static_cast<std::size_t>(row.label)];
    }
    std::vector<int> expected(10);
    for (const Example& row : take(feeding_pipeline(options_, {}), kImages)) {
      ++expected[static_cast<std::size_t>(row.label)];
    }
    EXPECT_EQ(labels, expected);
  }
}

TEST_F(TrainPipelines, TheSameAtAnyThreadCount) {
  const std::vector<Example> one = take(training_pipeline(options_), 2 * kImages, 1);
  expect_same(take(training_pipeline(options_), 2 * kImages, 3), one);
}

TEST_F(TrainPipelines, TheTestSetComesOnceAndWhole) {
  const Batches batches = test_pipeline(test_);
  const std::vector<Example> first = take(batches, 1'000'000);
  EXPECT_EQ(first.size(), 600);
  expect_same(take(batches, 1'000'000), first);
}

TEST_F(TrainPipelines, ColumnsAreTheBatchesOwn) {
  const Batches batches = test_pipeline(test_);
  const std::vector<Example> rows = take(batches, 1'000'000);
  std::size_t row = 0;
  for (const ColumnBatch& batch : columns_of(batches).iterate()) {
    const auto labels = batch.column("label").values<std::int32_t>();
    const auto pixels = batch.column("image").values<bfloat16>();
    for (std::size_t i = 0; i < labels.size(); ++i, ++row) {
      EXPECT_EQ(labels[i], rows[row].label);
      EXPECT_TRUE(std::ranges::equal(pixels.subspan(i * 784, 784), rows[row].image));
    }
  }
  EXPECT_EQ(row, 600);
}

TEST_F(TrainPipelines, TheDeviceSeesTheBatchesColumns) {
  const Batches batches = test_pipeline(test_);
  auto expected = columns_of(batches).iterate();
  BatchSource source = batch_source(batches);
  DeviceBatch batch;
  std::int64_t rows = 0;
  while (source.next(batch)) {
    EXPECT_EQ(batch.columns, expected.next());
    EXPECT_EQ(batch.examples, rows < 512 ? 256 : 88);
    EXPECT_EQ(batch.bytes, batch.examples * 1572);
    rows += batch.examples;
  }
  EXPECT_EQ(rows, 600);
}

}  // namespace
}  // namespace infeed::test
