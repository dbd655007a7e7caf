#include "page_locked.h"

#include <infeed/infeed.h>

#include "require.h"

// Batches lie in page-locked memory, so that their copies to a GPU go on beside the next step.

int main() {
  const auto memory = std::make_shared<PageLocked>();
  const auto sizes = infeed::range(1'000) | infeed::map([](std::int64_t n) {
                       return std::vector<float>(static_cast<std::size_t>(n % 50), 1.0F);
                     });

  const auto batches =
      infeed::range(100'000) | infeed::batch(4'096, {.memory = memory}) | infeed::prefetch();
  double sum = 0;
  for (const auto& batch : batches.iterate()) {
#if TRAINER_HAS_CUDA
    if (memory->has_gpu()) {
      cudaPointerAttributes where{};
      require(cudaPointerGetAttributes(&where, batch.values().data()) == cudaSuccess &&
                  where.type == cudaMemoryTypeHost,
              "the batch is page-locked");
    }
#endif
    require(reinterpret_cast<std::uintptr_t>(batch.values().data()) % 64 == 0, "it is aligned");
    for (const std::int64_t value : batch.values()) sum += static_cast<double>(value);
  }
  require(sum == 99'999.0 * 100'000 / 2, "all elements came");

  // Padded batches have no pool in infeed: the standard library's keeps their blocks.
  const auto pool = std::make_shared<PooledPageLocked>();
  const infeed::BatchMemory pooled(pool, &pool->resource);
  std::size_t values = 0;
  for (const auto& batch : (sizes | infeed::padded_batch(32, {.memory = pooled})).iterate()) {
    values += batch.sequences().values().size();
  }
  require(values > 0, "padded batches came");
  std::printf("%zu padded values, and a sum of %.0f\n", values, sum);
}
