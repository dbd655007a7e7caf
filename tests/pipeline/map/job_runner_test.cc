#include "map/job_runner.h"

#include <cstddef>
#include <cstdint>
#include <gtest/gtest.h>
#include <memory>

#include <infeed/error.h>

#include "pipeline/suite/stage_alone.h"

namespace infeed::test {
namespace {

/// Keeps even numbers, and fails for odd ones.
detail::KernelResult keep_even(const void*, void*, void* in, void* out, std::size_t count,
                               const detail::Place&, ErrorPointer& error) {
  const auto* const numbers = static_cast<const std::int64_t*>(in);
  for (std::size_t i = 0; i < count; ++i) {
    if (numbers[i] % 2 != 0) {
      error = std::make_shared<const Error>(ErrorCode::data_loss, "it is odd");
      return {.consumed = i + 1, .produced = i};
    }
    static_cast<std::int64_t*>(out)[i] = numbers[i];
  }
  return {.consumed = count, .produced = count};
}

TEST(JobRunner, CountsFailuresAsResults) {
  StageAlone<std::int64_t> input([](Chunk&, std::size_t) { return Pull::end; });
  const auto spec = std::make_shared<detail::ElementwiseSpec>();
  spec->out_type = &type_info<std::int64_t>();
  spec->kernel = &keep_even;
  const detail::JobRunner runner(input.run, input.counters, spec, input.stage, 0);
  detail::Job job(type_info<std::int64_t>(), 8);
  for (std::int64_t number = 0; number < 8; ++number) job.in.append(number);
  runner.run(job, /*may_stop=*/false);
  EXPECT_EQ(job.out->size(), 4U);
  EXPECT_EQ(job.failures.size(), 4U);
  EXPECT_GE(job.result_bytes, 4 * (sizeof(std::int64_t) + sizeof(Error)));
  EXPECT_EQ(job.held.bytes(), job.result_bytes);
  EXPECT_EQ(input.run.memory().in_use_bytes(), job.result_bytes);
}

}  // namespace
}  // namespace infeed::test
