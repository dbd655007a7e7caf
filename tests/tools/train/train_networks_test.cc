#include "train/train_networks.h"

#include <algorithm>
#include <vector>

#include <infeed/device/models.h>

#include "matchers.h"

namespace infeed::tools {
namespace {

using ::testing::DoubleNear;

MeasuredRun run_of(std::int64_t service_us) {
  return {.name = "made up", .service_ps = {service_us * 1'000'000}};
}

TEST(TrainNetworks, AreFedByBothEnds) {
  const Slice slice = Slice::parse("v3-8");
  constexpr std::int64_t kRows = 1024;
  const std::vector<Network> networks = all_networks(slice, kRows);
  const std::vector<FeedingEnds> ends = {{Compression::gzip, run_of(6'000), run_of(1'200)},
                                         {Compression::none, run_of(2'000), run_of(1'200)}};
  const std::vector<NetworkRow> rows =
      feed_networks(slice, networks, kRows, {.precision = Precision::float32}, ends);
  ASSERT_EQ(rows.size(), 2 * networks.size());
  for (const NetworkRow& row : rows) {
    const double step_us = static_cast<double>(row.step.total_ps()) / 1e6;
    const double naive_us = row.compression == Compression::gzip ? 6'000 : 2'000;
    // A step takes as long as the slower of pipeline and device.
    EXPECT_NEAR(row.gain(), std::max(naive_us, step_us) / std::max(1'200.0, step_us),
                0.01 * row.gain())
        << row.network;
  }
  EXPECT_EQ(rows.front().network, "mlp");
  EXPECT_EQ(rows.front().naive.verdict, InputVerdict::highly_bound);
  EXPECT_EQ(rows.back().network, "bert-large");
  EXPECT_NEAR(rows.back().gain(), 1, 0.001) << "a long step hides the slowest pipeline";
  EXPECT_EQ(rows.back().naive.verdict, InputVerdict::not_bound);
}

TEST(TrainNetworks, GeometricMean) {
  EXPECT_EQ(geometric_mean({}), 1);
  EXPECT_THAT(geometric_mean({1, 4, 2}), DoubleNear(2, 1e-12));
}

TEST(TrainAblation, WhatATrickBringsAloneAndLast) {
  std::vector<MeasuredRun> runs;
  double images_per_s = 1;
  for (const Variant& variant : ablation_variants()) {
    runs.push_back({.name = variant.name});
    runs.back().summary.examples_per_s = images_per_s++;
  }
  // naive 1; each alone 2 to 5; all but each 6 to 9; by hand 10; all 11.
  std::vector<double> alone;
  std::vector<double> last;
  for (const TrickGain& gain : trick_gains(runs)) {
    alone.push_back(gain.alone);
    last.push_back(gain.last);
  }
  EXPECT_THAT(alone, ElementsAre(2, 3, 4, 5));
  EXPECT_THAT(last, ElementsAre(11 / 6.0, 11 / 7.0, 11 / 8.0, 11 / 9.0));
  // All but one contain each of the others.
  for (const Variant& variant : ablation_variants()) {
    if (!variant.name.starts_with("all but ")) continue;
    const Tricks& tricks = variant.tricks;
    EXPECT_EQ(tricks.parallel_interleave + tricks.parallel_map + tricks.cache + tricks.prefetch, 3)
        << variant.name;
  }
}

}  // namespace
}  // namespace infeed::tools
