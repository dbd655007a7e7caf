#include "infeed/records/batch_memory.h"

#include <cstdint>
#include <fmt/format.h>

#include "infeed/detail/large_memory.h"
#include "infeed/error.h"

namespace infeed::detail {

std::byte* allocate_batch_memory(const BatchMemory& memory, std::size_t bytes,
                                 std::size_t alignment) {
  if (memory == nullptr) return allocate_block_memory(bytes, alignment);
  // The standard library tells the compiler that no resource gives null or a misaligned block, so it might
  // leave the checks out. It knows nothing of what is read from here.
  void* volatile given = nullptr;
  try {
    given = memory->allocate(bytes, alignment);
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
  void* const block = given;
  if (reinterpret_cast<std::uintptr_t>(block) % alignment != 0) {
    memory->deallocate(block, bytes, alignment);
    throw Error(ErrorCode::failed_precondition,
                fmt::format("the memory resource of a batch gave {} for {} bytes, which is no "
                            "multiple of {}: do_allocate() must heed its alignment",
                            block, bytes, alignment));
  }
  return static_cast<std::byte*>(block);
}

void free_batch_memory(const BatchMemory& memory, std::byte* block, std::size_t bytes,
                       std::size_t alignment) noexcept {
  if (memory == nullptr) {
    free_block_memory(block, bytes, alignment);
  } else {
    memory->deallocate(block, bytes, alignment);
  }
}

std::byte* array_memory(const BatchMemory& memory, std::size_t bytes, std::size_t alignment) {
  std::byte* const block = allocate_batch_memory(memory, bytes, alignment);
  if (block != nullptr) return block;
  throw Error(ErrorCode::resource_exhausted,
              fmt::format("there is no memory for a column of {} bytes{}; make the batch smaller",
                          bytes, where_none_is(memory)));
}

std::string_view where_none_is(const BatchMemory& memory) {
  return memory == nullptr ? "" : " in the memory resource that the stage was given";
}

}  // namespace infeed::detail
