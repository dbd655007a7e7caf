#include "infeed/records/tensor_pool.h"

#include <algorithm>
#include <bit>
#include <compare>
#include <cstdint>
#include <deque>
#include <fmt/format.h>
#include <limits>
#include <map>
#include <mutex>
#include <new>
#include <utility>

#include "infeed/detail/current_core.h"
#include "infeed/error.h"

namespace infeed {
namespace {

constexpr std::size_t kBlockAlignment = 64;

}  // namespace

/// The free blocks by size and core. Invariants: mutex_ guards all; blocks in use keep it alive.
class TensorPool::Blocks {
 public:
  explicit Blocks(TensorPoolOptions options) : options_(std::move(options)) {}
  ~Blocks() = default;  // closed by the Keeper
  Blocks(const Blocks&) = delete;
  Blocks& operator=(const Blocks&) = delete;

  /// Returns a block that counts as in use. Throws Error(resource_exhausted) and what the memory
  /// resource throws.
  std::byte* take_or_make(std::size_t bytes, int core) {
    std::byte* memory = take(bytes, core);
    if (memory != nullptr) return memory;
    try {
      memory = detail::allocate_batch_memory(options_.memory, bytes, kBlockAlignment);
    } catch (...) {
      forget(bytes);
      throw;
    }
    if (memory != nullptr) return memory;
    forget(bytes);
    throw Error(ErrorCode::resource_exhausted,
                fmt::format("there is no memory for a tensor of {} bytes{}; make the batch smaller",
                            bytes, detail::where_none_is(options_.memory)));
  }

  /// `core` is the core of the thread that took the block.
  void give_back(std::byte* memory, std::size_t bytes, int core) noexcept {
    const std::lock_guard lock(mutex_);
    in_use_bytes_ -= bytes;
    if (closed_ || (options_.account != nullptr && !options_.account->try_keep(bytes))) {
      free_memory(memory, bytes);
      return;
    }
    free_bytes_ += bytes;
    try {
      free_[{bytes, core}].push_back({memory, returns_++});
    } catch (const std::bad_alloc&) {
      note_taken(bytes);
      free_memory(memory, bytes);
      return;
    }
    while (is_too_much() && free_bytes_ > bytes) free_oldest();
  }

  /// Frees all free blocks now, and each other block when it comes back.
  void close() {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    for (const auto& [kind, blocks] : free_) {
      for (const Free& block : blocks) free_memory(block.memory, kind.bytes);
    }
    free_.clear();
    note_taken(free_bytes_);
  }

  std::size_t free_bytes() const {
    const std::lock_guard lock(mutex_);
    return free_bytes_;
  }

 private:
  /// Returns null when no block of this size is free. The caller then makes one, which already
  /// counts as in use.
  std::byte* take(std::size_t bytes, int core) {
    const std::lock_guard lock(mutex_);
    in_use_bytes_ += bytes;
    in_use_bytes_peak_ = std::max(in_use_bytes_peak_, in_use_bytes_);
    const auto found = find_free(bytes, core);
    if (found == free_.end()) {
      while (is_too_much()) free_oldest();
      return nullptr;
    }
    std::byte* const memory = found->second.back().memory;
    found->second.pop_back();
    note_taken(bytes);
    return memory;
  }

  /// Takes back the count of a block that couldn't be made.
  void forget(std::size_t bytes) {
    const std::lock_guard lock(mutex_);
    in_use_bytes_ -= bytes;
  }

  void free_memory(std::byte* memory, std::size_t bytes) noexcept {
    detail::free_batch_memory(options_.memory, memory, bytes, kBlockAlignment);
  }

  struct Kind {
    std::size_t bytes;
    int core;  ///< the core that had it last
    auto operator<=>(const Kind&) const = default;
  };
  struct Free {
    std::byte* memory;
    std::uint64_t returned;  ///< smaller means longer ago
  };
  /// Kinds without free blocks stay in the map: there are four sizes for each power of two, and
  /// forty columns of four bytes a row would make and drop an entry forty times a batch.
  using FreeBlocks = std::map<Kind, std::deque<Free>>;

  /// True if free blocks must go. Where sizes swing, free blocks may fit nothing. Free and used
  /// bytes together never exceed the most that was in use before, so a pool doesn't hold twice what
  /// its batches need.
  bool is_too_much() const {
    return free_bytes_ > options_.free_bytes_max ||
           free_bytes_ + in_use_bytes_ > in_use_bytes_peak_;
  }

  /// Prefers a block of this core to one of another. Returns the end where there is none.
  auto find_free(std::size_t bytes, int core) -> FreeBlocks::iterator {
    const auto own = free_.find({bytes, core});
    if (own != free_.end() && !own->second.empty()) return own;
    auto any = free_.lower_bound({bytes, std::numeric_limits<int>::min()});
    while (any != free_.end() && any->first.bytes == bytes && any->second.empty()) ++any;
    return any != free_.end() && any->first.bytes == bytes ? any : free_.end();
  }

  /// Notes that `bytes` lie free no longer.
  void note_taken(std::size_t bytes) {
    free_bytes_ -= bytes;
    if (bytes != 0 && options_.account != nullptr) options_.account->let_go(bytes);
  }

  void free_oldest() {
    auto oldest = free_.end();
    for (auto i = free_.begin(); i != free_.end(); ++i) {
      if (i->second.empty()) continue;
      const bool is_older =
          oldest == free_.end() || i->second.front().returned < oldest->second.front().returned;
      if (is_older) oldest = i;
    }
    free_memory(oldest->second.front().memory, oldest->first.bytes);
    note_taken(oldest->first.bytes);
    oldest->second.pop_front();
  }

  const TensorPoolOptions options_;
  mutable std::mutex mutex_;
  FreeBlocks free_;
  std::size_t free_bytes_ = 0;
  std::size_t in_use_bytes_ = 0;
  std::size_t in_use_bytes_peak_ = 0;
  std::uint64_t returns_ = 0;
  bool closed_ = false;
};

/// The copies of a pool share this, and blocks in use don't.
struct TensorPool::Keeper {
  explicit Keeper(TensorPoolOptions options)
      : blocks(std::make_shared<Blocks>(std::move(options))) {}
  ~Keeper() { blocks->close(); }
  Keeper(const Keeper&) = delete;
  Keeper& operator=(const Keeper&) = delete;

  std::shared_ptr<Blocks> blocks;
};

TensorPool::TensorPool(TensorPoolOptions options)
    : keeper_(std::make_shared<Keeper>(std::move(options))) {}

/// Rounds up in quarters of a power of two, so that the next batch, if a little larger, finds the
/// memory of the last one.
std::size_t TensorPool::block_bytes(std::size_t bytes) {
  const std::size_t step = std::max<std::size_t>(std::bit_floor(bytes) / 4, 64);
  return std::max<std::size_t>((bytes + step - 1) / step, 1) * step;
}

TensorPool::Block TensorPool::take(std::size_t bytes) const {
  const std::size_t rounded = block_bytes(bytes);
  const int core = detail::current_core();
  std::byte* const memory = keeper_->blocks->take_or_make(rounded, core);
  // If it fails, shared_ptr's constructor calls the deleter itself.
  const auto give_back = [blocks = keeper_->blocks, rounded, core](std::byte* block) {
    blocks->give_back(block, rounded, core);
  };
  return {std::shared_ptr<std::byte>(memory, give_back), rounded};
}

std::size_t TensorPool::free_bytes() const { return keeper_->blocks->free_bytes(); }

}  // namespace infeed
