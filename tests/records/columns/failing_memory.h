#pragma once

#include <cstddef>
#include <functional>
#include <memory_resource>
#include <utility>

namespace infeed::test {

/// Memory that fails in any way, as that of a device that was lost. CountingMemory only runs out.
class FailingMemory final : public std::pmr::memory_resource {
 public:
  /// `check` is called with the bytes of each block before it is given, and may throw.
  explicit FailingMemory(std::function<void(std::size_t)> check) : check_(std::move(check)) {}

 private:
  void* do_allocate(std::size_t bytes, std::size_t alignment) override {
    check_(bytes);
    return std::pmr::new_delete_resource()->allocate(bytes, alignment);
  }
  void do_deallocate(void* block, std::size_t bytes, std::size_t alignment) override {
    std::pmr::new_delete_resource()->deallocate(block, bytes, alignment);
  }
  bool do_is_equal(const memory_resource& other) const noexcept override { return this == &other; }

  const std::function<void(std::size_t)> check_;
};

}  // namespace infeed::test
