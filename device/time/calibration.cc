#include <array>

#include "infeed/device/cost_model.h"

namespace infeed {
namespace {

// Two numbers a generation are fitted, each pair exactly to two published runs of ResNet-50 (MLPerf
// training), and to no other: a large batch a replica pins the bandwidth, a small one the cost of
// an operation. The arrays' efficiency is not fitted: it is 1, the plain tile formula.
constexpr Calibration kV3{.mxu_efficiency = 1,
                          .hbm_efficiency = 0.6790,  // v0.6 on v3-32, global batch 4096: 130.8 ms
                          .op_overhead_ns = 18'340,  // v0.7 on v3-8192, global batch 65536: 14.2 ms
                          .step_overhead_ns = 50'000,  // assumed: a host's loop launches a step
                          .source = "MLPerf training: ResNet-50 v0.6 on v3-32, v0.7 on v3-8192"};

// Reaches more of its bandwidth than v3: 128 MiB of CMEM catch part of the traffic.
constexpr Calibration kV4{.mxu_efficiency = 1,
                          .hbm_efficiency = 0.8225,  // v0.7 on v4-16, global batch 2048: 73.4 ms
                          .op_overhead_ns = 9'025,   // v1.0 on v4-6912, global batch 55296: 7.0 ms
                          .step_overhead_ns = 50'000,  // assumed, as for v3
                          .overlaps_all_reduce = true,
                          .source = "MLPerf training: ResNet-50 v0.7 on v4-16, v1.0 on v4-6912"};

// Without a published run: v2 borrows v3's values, later generations v4's, and an empty source says
// so.
constexpr Calibration borrowed(Calibration from) {
  from.source = "";
  return from;
}

constexpr std::array<Calibration, 6> kCalibrations = {borrowed(kV3), kV3,           kV4,
                                                      borrowed(kV4), borrowed(kV4), borrowed(kV4)};

}  // namespace

const Calibration& calibration(TpuGeneration generation) {
  return kCalibrations[static_cast<std::size_t>(generation)];
}

}  // namespace infeed
