#include "train/device_tricks.h"

#include <string>
#include <vector>

#include "matchers.h"

namespace infeed::tools {
namespace {

TEST(DeviceTricks, EachIsPutOnTopOfThoseBefore) {
  const Slice slice = Slice::parse("v3-8");
  for (const std::string model : {"mlp", "convnet", "resnet", "transformer"}) {
    const std::vector<DeviceTrick> tricks = device_tricks(model, slice, 1024);
    std::vector<std::string> names;
    for (const DeviceTrick& trick : tricks) {
      names.push_back(trick.name);
      EXPECT_GE(trick.gain, 1) << model << " " << trick.name;
    }
    EXPECT_THAT(names,
                ElementsAre("operation by operation", "+ compiled", "+ 32 steps an execution",
                            "+ mixed_bfloat16", "+ batch x 4", "+ 4 batches an update"));
    EXPECT_GT(tricks[1].gain, 1.5) << model;
    EXPECT_EQ(tricks[4].batch, 4096);
    EXPECT_LT(tricks[5].step.all_reduce_ps, tricks[4].step.all_reduce_ps);
  }
}

}  // namespace
}  // namespace infeed::tools
