#include <gmock/gmock.h>

#include <infeed/device/cluster.h>

#include "device/error_message.h"

namespace infeed {
namespace {

TEST(Cluster, IsInitialisedOnce) {
  Cluster cluster = Cluster::connect("v3-32");
  EXPECT_EQ(error_message([&] { cluster.devices(); }),
            "cluster v3-32 isn't initialised; call initialize() once before its devices are used");
  const Cluster& same = cluster;
  cluster.initialize();
  EXPECT_TRUE(same.is_initialized());
  EXPECT_EQ(error_message([&] { Cluster(same).initialize(); }),
            "cluster v3-32 was initialised before, and a second time would drop the variables on "
            "its devices; initialise it once, and make as many strategies of it as you like");
}

TEST(Cluster, ListsADeviceAReplica) {
  Cluster cluster = Cluster::connect("v3-32");
  cluster.initialize();
  ASSERT_EQ(cluster.devices().size(), 32U);
  EXPECT_EQ(cluster.devices()[11].name(), "/job:worker/replica:0/task:1/device:TPU:3");
  EXPECT_THAT(error_message([] { Cluster::connect("v3-9"); }), testing::HasSubstr("v3-8"));
}

}  // namespace
}  // namespace infeed
