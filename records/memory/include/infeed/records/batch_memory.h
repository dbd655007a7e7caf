#pragma once

#include <cstddef>
#include <memory>
#include <memory_resource>
#include <string_view>

/// Why: batches can lie in memory of a kind that only the program knows. A GPU copies page-locked
/// memory while the CPU computes, another process reads a shared segment, huge pages spare misses
/// of the TLB. Stages that make batches take a memory resource of the standard library and fill
/// their batches there:
///
///     const auto memory = std::make_shared<std::pmr::synchronized_pool_resource>();
///     auto batches = infeed::range(100'000) | infeed::batch(256, {.memory = memory});
///
/// tests/consumers/trainers/page_locked.h is a resource of CUDA's page-locked memory.
///
/// Requests: whole columns or batches, at multiples of 64 bytes. Sizes are multiples of 64, and a
/// quarter more than needed at most. Stages of Batch and ColumnBatch keep what comes back in their
/// pools for the next batches, so a slow resource is asked while a run begins. PaddedBatch and
/// RaggedBatch have no pool: put a std::pmr::synchronized_pool_resource before a slow resource.
///
/// Only the stage that has the option fills there. What stages behind it make anew (map, a file
/// cache) lies elsewhere.
///
/// Ownership: the dataset, its iterators and every block of a living batch share the resource, so it
/// lives as long as the last of them. A block goes back to it once the iterator and the last
/// Batch, Tensor, slice or exported view that shows it are gone (for csv and json_lines the
/// dataset, too), or earlier if the pool has too much.
///
/// Thread-safety: any thread calls the resource, several at once. It must not call infeed.
///
/// Errors: where it throws std::bad_alloc or returns null, the stage that asked fails with
/// resource_exhausted; failed_precondition if the address isn't aligned; anything else that it
/// throws is handed on. It must not throw when memory goes back.
///
/// Accounting: the bytes count in IterateOptions::memory_bytes_max as those of the system do.
namespace infeed {

using BatchMemory = std::shared_ptr<std::pmr::memory_resource>;

// Only the library reads what follows.
namespace detail {

/// Allocates from `memory`, or from the system if it is null. Returns null if there is none. Throws
/// failed_precondition for a wrong alignment, and what the resource throws.
std::byte* allocate_batch_memory(const BatchMemory& memory, std::size_t bytes,
                                 std::size_t alignment);
/// Takes the same sizes as the allocation.
void free_batch_memory(const BatchMemory& memory, std::byte* block, std::size_t bytes,
                       std::size_t alignment) noexcept;
/// Allocates from a resource. Throws resource_exhausted if there is none, and as above.
std::byte* array_memory(const BatchMemory& memory, std::size_t bytes, std::size_t alignment);
/// Returns the end of "there is no memory for ...".
std::string_view where_none_is(const BatchMemory& memory);

}  // namespace detail
}  // namespace infeed
