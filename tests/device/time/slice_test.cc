#include "infeed/device/slice.h"

#include <set>
#include <string>

#include <infeed/error.h>

#include "device/error_message.h"
#include "thrown_error.h"

namespace infeed {
namespace {

TEST(Slice, V3Of8IsFourChipsOnOneHost) {
  const Slice slice = Slice::parse("v3-8");
  EXPECT_EQ(slice.name(), "v3-8");
  EXPECT_EQ(slice.num_chips(), 4);
  EXPECT_EQ(slice.num_cores(), 8);
  EXPECT_EQ(slice.num_hosts(), 1);
  EXPECT_EQ(slice.num_replicas(), 8);
  const auto devices = slice.devices();
  ASSERT_EQ(devices.size(), 8u);
  EXPECT_EQ(devices[0].name(), "/job:worker/replica:0/task:0/device:TPU:0");
  EXPECT_EQ(devices[7].name(), "/job:worker/replica:0/task:0/device:TPU:7");
  EXPECT_EQ(devices[7].chip, 3);
}

TEST(Slice, LaterGenerationsHaveAReplicaAChip) {
  const Slice v4 = Slice::parse("v4-16");
  EXPECT_EQ(v4.num_chips(), 8);
  EXPECT_EQ(v4.num_replicas(), 8);
  EXPECT_EQ(v4.num_hosts(), 2);
  EXPECT_EQ(v4.devices()[5].name(), "/job:worker/replica:0/task:1/device:TPU:1");
  const Slice v5e = Slice::parse("v5litepod-16");
  EXPECT_EQ(v5e.num_chips(), 16);
  EXPECT_EQ(v5e.num_replicas(), 16);
  EXPECT_EQ(v5e.num_hosts(), 2);
}

TEST(Slice, ASmallSliceHasFewerChipsThanAHost) {
  const Slice slice = Slice::parse("v6e-1");
  EXPECT_EQ(slice.num_hosts(), 1);
  EXPECT_EQ(slice.replicas_of_host(0), 1);
}

TEST(Slice, OfWhoNamesNoneIsOneDevice) {
  const Slice slice = Slice::single_device();
  EXPECT_EQ(slice.name(), "v5litepod-1");
  EXPECT_EQ(slice.num_replicas(), 1);
  EXPECT_EQ(slice.devices().size(), 1U);
}

TEST(Slice, FindsADeviceByTheEndOfItsName) {
  const Slice one_host = Slice::parse("v3-8");
  const Slice four_hosts = Slice::parse("v3-32");
  for (const char* const name : {"TPU:3", "device:TPU:3", "/device:TPU:3", "task:0/device:TPU:3",
                                 "/job:worker/replica:0/task:0/device:TPU:3"}) {
    EXPECT_EQ(one_host.device_named(name), 3) << name;
  }
  const auto devices = four_hosts.devices();
  for (std::size_t i = 0; i < devices.size(); ++i) {
    EXPECT_EQ(four_hosts.device_named(devices[i].name()), i);
  }
  EXPECT_EQ(four_hosts.device_named("task:2/device:TPU:5"), 21);
  EXPECT_EQ(Slice::single_device().device_named("TPU:0"), 0);
}

TEST(Slice, ListsTheDevicesWhereANameFitsNone) {
  const auto message_of = [](std::string_view slice, std::string_view name) {
    return error_message([&] { Slice::parse(slice).device_named(name); });
  };
  EXPECT_EQ(message_of("v3-8", "TPU:8"),
            "there is no device 'TPU:8' on v3-8; it has \"TPU:0\" to \"TPU:7\"");
  for (const char* const name : {"", "3", ":3", "PU:3", "U:3", "TPU:", "TPU:33", "GPU:3", "TPU:3 ",
                                 "worker/replica:0/task:1/device:TPU:3", "TPU:3/", "//TPU:3"}) {
    EXPECT_EQ(message_of("v3-8", name), "there is no device '" + std::string(name) +
                                            "' on v3-8; it has \"TPU:0\" to \"TPU:7\"");
  }
  EXPECT_EQ(message_of("v5litepod-1", "TPU:1"),
            "there is no device 'TPU:1' on v5litepod-1; it has \"TPU:0\"");
  EXPECT_EQ(message_of("v3-32", "task:4/device:TPU:0"),
            "there is no device 'task:4/device:TPU:0' on v3-32; it has \"task:0/device:TPU:0\" to "
            "\"task:3/device:TPU:7\"");
  EXPECT_EQ(message_of("v3-32", "/device:TPU:3"),
            "'/device:TPU:3' is a device of each of 4 hosts of v3-32; say on which, as in "
            "\"task:1/device:TPU:3\"");
}

TEST(Slice, EveryKnownNameParsesAndCountsWhatItSays) {
  std::set<std::string> seen;
  for (const std::string& name : Slice::known_names()) {
    SCOPED_TRACE(name);
    EXPECT_TRUE(seen.insert(name).second);
    const Slice slice = Slice::parse(name);
    const int number = std::stoi(name.substr(name.find('-') + 1));
    EXPECT_EQ(slice.chip().name_counts_cores ? slice.num_cores() : slice.num_chips(), number);
    EXPECT_EQ(slice.devices().size(), static_cast<std::size_t>(slice.num_replicas()));
    int replicas = 0;
    for (int host = 0; host < slice.num_hosts(); ++host) {
      EXPECT_EQ(slice.first_replica_of_host(host), replicas);
      replicas += slice.replicas_of_host(host);
    }
    EXPECT_EQ(replicas, slice.num_replicas());
  }
  for (const char* name : {"v2-8", "v2-512", "v3-2048", "v3-8192", "v4-8", "v4-6912", "v5litepod-1",
                           "v5litepod-256", "v5p-8", "v5p-12288", "v6e-1", "v6e-256"}) {
    EXPECT_TRUE(seen.contains(name)) << name;
  }
}

TEST(Slice, AnUnknownNameIsAnsweredWithTheNearestThree) {
  const auto message = [](const std::string& name) {
    const Error error = error_of([&] { Slice::parse(name); });
    EXPECT_EQ(error.code(), ErrorCode::invalid_argument) << name;
    return error.message();
  };
  EXPECT_EQ(message("v3-9"),
            "unknown slice 'v3-9'; the nearest known ones: v3-8, v2-8, v3-32; or spell the "
            "topology in chips, at most 16,384 in all: v3:4x8, v4:4x4x12");
  EXPECT_THAT(message("v5litepod-17"), testing::HasSubstr("ones: v5litepod-1, v5litepod-16, "));
  for (const char* name : {"", "v3", "V3-8", "v3-8 ", "v7-8", "v4:4x4", "v4:4x4x0", "v4:4x4x-4",
                           "v3:4x4x4", "v7:4x4", "v4:4x4x4x", "v4:", "v3:1000000x1000000"}) {
    EXPECT_THAT(message(name), testing::StartsWith("unknown slice '" + std::string(name) + "'; "));
  }
  EXPECT_THAT(message(std::string(100'000, 'v')), testing::HasSubstr("the nearest known ones: v"));
}

TEST(Slice, ATopologyCanBeSpelt) {
  const Slice slice = Slice::parse("v4:4x4x12");
  EXPECT_EQ(slice.name(), "v4:4x4x12");
  EXPECT_EQ(slice.num_chips(), 192);
  EXPECT_EQ(slice.topology(), (std::array<std::int32_t, 3>{4, 4, 12}));
  EXPECT_TRUE(slice.wraps_around(2));
  EXPECT_EQ(Slice::parse("v3:4x8").num_replicas(), Slice::parse("v3-64").num_replicas());
}

TEST(Slice, RingsCloseWhereTheGenerationsLinksDo) {
  EXPECT_FALSE(Slice::parse("v3-8").wraps_around(0));
  EXPECT_TRUE(Slice::parse("v3-2048").wraps_around(0));
  EXPECT_TRUE(Slice::parse("v3-8192").wraps_around(0));   // 32x128:
  EXPECT_FALSE(Slice::parse("v3-8192").wraps_around(1));  // four joined pods
  EXPECT_FALSE(Slice::parse("v4-6912").wraps_around(2));  // 12x16x18
  EXPECT_FALSE(Slice::parse("v4-64").wraps_around(0));    // 2x4x4
  EXPECT_TRUE(Slice::parse("v4-64").wraps_around(1));
  EXPECT_FALSE(Slice::parse("v5litepod-128").wraps_around(0));  // 8x16
  EXPECT_TRUE(Slice::parse("v5litepod-128").wraps_around(1));
}

TEST(ChipSpec, PeakIsWhatTheArraysDoInACycle) {
  for (const auto generation : {TpuGeneration::v2, TpuGeneration::v3, TpuGeneration::v4,
                                TpuGeneration::v5e, TpuGeneration::v5p, TpuGeneration::v6e}) {
    const ChipSpec& chip = chip_spec(generation);
    EXPECT_EQ(chip.generation, generation);
    const double tflops =
        2e-3 * chip.cores * chip.mxus_per_core * chip.macs_per_cycle_mxu * chip.clock_ghz;
    EXPECT_NEAR(tflops / chip.bf16_tflops, 1, 0.01) << to_string(generation);
  }
}

}  // namespace
}  // namespace infeed
