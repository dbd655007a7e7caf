#include <algorithm>
#include <fmt/format.h>
#include <numeric>

#include <infeed/error.h>
#include <infeed/share.h>

#include "engine/resume/resharded_at.h"

namespace infeed {
namespace {

void check_rows(std::int64_t global_batch) {
  if (global_batch > 0) return;
  throw Error(ErrorCode::invalid_argument,
              fmt::format("a global batch of {} rows: give at least 1", global_batch));
}

/// Returns how many of the positions below `end` belong to a rank.
std::int64_t rows_before(const World& world, std::int64_t end) {
  return (end - world.rank + world.size - 1) / world.size;
}

}  // namespace

std::vector<std::int64_t> host_batch_sizes(const World& world, std::int64_t global_batch) {
  check_world(world);
  check_rows(global_batch);
  if (global_batch < world.size) {
    throw Error(
        ErrorCode::invalid_argument,
        fmt::format("a global batch of {} rows for {} ranks: each needs a row at least; make "
                    "the batch larger or use fewer ranks",
                    global_batch, world.size));
  }
  const std::int64_t steps = world.size / std::gcd(global_batch, std::int64_t{world.size});
  std::vector<std::int64_t> sizes;
  for (std::int64_t step = 0; step < steps; ++step) {
    sizes.push_back(rows_before(world, (step + 1) * global_batch) -
                    rows_before(world, step * global_batch));
  }
  return sizes;
}

std::int64_t host_rows_max(const World& world, std::int64_t global_batch) {
  const std::vector<std::int64_t> sizes = host_batch_sizes(world, global_batch);
  return *std::max_element(sizes.begin(), sizes.end());
}

namespace detail {

std::int64_t rows_to_whole(const Cardinality& length, std::int64_t global_batch,
                           const std::string& described) {
  check_rows(global_batch);
  if (length.is_infinite()) return 0;
  if (length.is_unknown()) {
    throw Error(
        ErrorCode::failed_precondition,
        fmt::format("whole_batches: the number of elements of {} isn't known before they are "
                    "read; give it by assert_cardinality, or let the hosts agree on each step "
                    "by EqualSteps",
                    described));
  }
  const auto count = static_cast<std::int64_t>(length.count());
  return (global_batch - count % global_batch) % global_batch;
}

Checkpoint make_resharded_step(const Checkpoint& checkpoint, const Node& node,
                               std::int64_t global_batch) {
  check_rows(global_batch);
  return resharded_at_step(checkpoint, node, static_cast<std::uint64_t>(global_batch));
}

}  // namespace detail
}  // namespace infeed
