#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <random>
#include <string>

#include <infeed/records/crc32c.h>

#include "ranks/step_side.h"

// Measures what a step's communication costs on one side. benchmarks/ranks.py starts it under mpirun.

namespace infeed::benchmarks {
namespace {

using Clock = std::chrono::steady_clock;

std::unique_ptr<StepSide> make_side(const std::string& name, const StepSize& size) {
  if (name == "infeed") return make_infeed_side(size);
  return name == "plain" ? make_plain_side(size) : make_allreduce_side(size);
}

/// Prints the microseconds of the median step, and a checksum of the sums.
void measure(StepSide& side, const StepSize& size, int steps) {
  std::mt19937 random(static_cast<unsigned>(side.rank()));
  std::uniform_real_distribution<float> value(-1, 1);
  OwnGradients own(size.replicas_of_rank, std::vector<float>(size.floats()));
  for (std::vector<float>& replica : own) {
    for (float& gradient : replica) gradient = value(random);
  }
  std::vector<double> us;
  for (int step = 0; step < steps; ++step) {
    side.prepare(own);
    const Clock::time_point begin = Clock::now();
    side.run();
    us.push_back(std::chrono::duration<double, std::micro>(Clock::now() - begin).count());
  }
  std::sort(us.begin(), us.end());
  if (side.rank() != 0) return;
  const std::vector<float> sums = side.sums();
  const std::uint32_t crc =
      extend_crc32c(0, {reinterpret_cast<const char*>(sums.data()), sums.size() * sizeof(float)});
  std::printf("%.1f %08x\n", us[us.size() / 2], static_cast<unsigned>(crc));
}

}  // namespace
}  // namespace infeed::benchmarks

int main(int argc, char** argv) {
  CLI::App app("What the ranks of a training exchange for a step");
  std::string name = "infeed";
  infeed::benchmarks::StepSize size;
  int steps = 100;
  app.add_option("--side", name)->check(CLI::IsMember({"infeed", "plain", "allreduce"}));
  app.add_option("--floats", size.floats_of_variable, "Of each of the four variables");
  app.add_option("--steps", steps)->check(CLI::Range(1, 1'000'000));
  CLI11_PARSE(app, argc, argv);
  const auto side = infeed::benchmarks::make_side(name, size);
  infeed::benchmarks::measure(*side, size, steps);
  return 0;
}
