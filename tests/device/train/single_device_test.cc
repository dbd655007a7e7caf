#include <gmock/gmock.h>

#include <infeed/device/fit.h>

#include "device/train/small_training.h"

namespace infeed {
namespace {

TEST(Fit, RunsOnOneDeviceWhereNoSliceIsNamedAndSaysSo) {
  const auto batches = from_columns(points(40), 16);
  SmallTraining named;
  const FitResult of_named = fit(named.training(), Slice::parse("v5litepod-1"), batches);
  EXPECT_EQ(of_named.message, "");
  EXPECT_THAT(of_named.table(), testing::Not(testing::HasSubstr("no slice is named")));
  SmallTraining unnamed;
  const FitResult result = fit(unnamed.training(), batches);
  EXPECT_EQ(result.slice, "v5litepod-1");
  EXPECT_EQ(result.message,
            "no slice is named, so one device does all, that of v5litepod-1; name a slice for more "
            "of them, as in Slice::parse(\"v3-8\")");
  EXPECT_THAT(result.table(), testing::HasSubstr(result.message));
  EXPECT_EQ(unnamed.weights(), named.weights());
}

}  // namespace
}  // namespace infeed
