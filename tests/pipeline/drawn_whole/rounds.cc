#include "pipeline/drawn_whole/rounds.h"

#include <cstdio>
#include <fmt/format.h>
#include <malloc.h>
#include <utility>

#include "process_status.h"
#include "sanitizers.h"

namespace infeed::test {
namespace {

constexpr bool kIsSanitized = kAddressSanitizer || kThreadSanitizer;
constexpr std::uint64_t kPipelinesPerRound = 100;
// Rounds until all that is made only once is there.
constexpr std::uint64_t kRoundsBefore = 3;
constexpr std::uint64_t kGrowthBytesMax = 256 << 10;
// Fragments of memory that the C library keeps of the largest pipelines.
constexpr std::uint64_t kResidentGrowthBytesMax = 32 << 20;

double mib(std::uint64_t bytes) { return static_cast<double>(bytes) / (1 << 20); }

}  // namespace

Rounds::Rounds(std::string command) : command_(std::move(command)) {
  // The C library raises this by itself, so that each arena keeps up to 64 MiB: after 500 pipelines 220
  // MB were resident instead of 23.
  ::mallopt(M_TRIM_THRESHOLD, 128 << 10);
}

bool Rounds::note(std::uint64_t pipelines) {
  const std::uint64_t round = pipelines / kPipelinesPerRound;
  if (round == rounds_) return false;
  rounds_ = round;
  const std::uint64_t resident_bytes = trimmed_resident_bytes();
  const ProcessState now = ProcessState::now();
  const auto seconds =
      std::chrono::duration_cast<std::chrono::seconds>(std::chrono::steady_clock::now() - begun_);
  fmt::print("{:4} s  {} pipelines: {:.2f} MiB live, {:.1f} resident, {} threads, {} descriptors\n",
             seconds.count(), pipelines, mib(now.bytes), mib(resident_bytes), now.threads,
             now.descriptors);
  const bool is_compared = round > kRoundsBefore;
  const bool has_grown =
      is_compared &&
      (now.bytes > first_bytes_ + kGrowthBytesMax ||
       (!kIsSanitized && resident_bytes > first_resident_bytes_ + kResidentGrowthBytesMax));
  if (has_grown) {
    fmt::print(
        "\nFOUND: memory grows from round to round: {:.2f} MiB live and {:.1f} resident "
        "after {} pipelines were {:.2f} and {:.1f}\n  again: {} --pipelines {}\n",
        mib(now.bytes), mib(resident_bytes), pipelines, mib(first_bytes_),
        mib(first_resident_bytes_), command_, pipelines);
  }
  std::fflush(stdout);
  if (!is_compared || has_grown) {
    first_bytes_ = now.bytes;
    first_resident_bytes_ = resident_bytes;
  }
  return has_grown;
}

}  // namespace infeed::test
