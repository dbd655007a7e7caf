#include "memory/block.h"

#include <array>
#include <cstring>
#include <new>

#include "infeed/detail/current_core.h"

namespace infeed {
namespace detail {
namespace {

struct HomedBlock : Block {
  // The file's name, or null. That of a pool's block keeps the pool alive while the block is out; a
  // block of its own doesn't, since a pool has megabytes of free blocks.
  std::shared_ptr<const std::string> file;
  BlockPool* home = nullptr;  // null: it is freed
  int last_core = 0;          // core of the thread that took it
  bool is_aligned = true;
};

// The header has a cache line of its own: many threads write its counter, while the bytes are only
// read. Payloads start at a cache line as well.
constexpr std::size_t kBlockHeaderBytes = 64;
static_assert(sizeof(HomedBlock) <= kBlockHeaderBytes);

HomedBlock* make_block_in(void* memory, std::size_t bytes) {
  auto* block = ::new (memory) HomedBlock;
  block->data = static_cast<char*>(memory) + kBlockHeaderBytes;
  block->capacity_bytes = bytes;
  return block;
}

HomedBlock* allocate_block(std::size_t bytes) {
  return make_block_in(
      ::operator new (kBlockHeaderBytes + bytes, std::align_val_t{kBlockHeaderBytes}), bytes);
}

/// Allocates a block of one record. The allocator keeps aligned memory in no thread's cache.
HomedBlock* allocate_small_block(std::size_t bytes) {
  HomedBlock* block = make_block_in(::operator new(kBlockHeaderBytes + bytes), bytes);
  block->is_aligned = false;
  return block;
}

void deallocate_block(HomedBlock* block) noexcept {
  const bool is_aligned = block->is_aligned;
  block->~HomedBlock();
  if (is_aligned) {
    ::operator delete (static_cast<void*>(block), std::align_val_t{kBlockHeaderBytes});
  } else {
    ::operator delete(static_cast<void*>(block));
  }
}

HomedBlock* homed(Block* block) { return static_cast<HomedBlock*>(block); }

/// Returns the name without the pool.
std::shared_ptr<const std::string> file_of(const HomedBlock& block) {
  return block.home == nullptr ? block.file : block.home->shared_file();
}

/// Takes the warmest block that fits, one of this core if possible; null if none fits.
Block* take_from(std::vector<Block*>& free, std::size_t bytes_min, int core) {
  return take_warmest(
      free,
      [core](const Block* block) {
        return static_cast<const HomedBlock*>(block)->last_core == core;
      },
      [bytes_min](const Block* block) { return block->capacity_bytes >= bytes_min; });
}

void deallocate_unless_kept(Block* block, SpareBlocks* spare) noexcept {
  if (spare == nullptr || !spare->keep(block)) deallocate_block(homed(block));
}

}  // namespace

BlockPool::~BlockPool() {
  for (Block* block : free_) deallocate_unless_kept(block, spare_.get());
}

Block* BlockPool::take(std::size_t bytes_min) {
  Block* free = nullptr;
  const int core = current_core();
  {
    const std::lock_guard lock(mutex_);
    free = take_from(free_, bytes_min, core);
    if (free != nullptr) free_bytes_ -= free->capacity_bytes;
  }
  if (free == nullptr && spare_ != nullptr) free = spare_->take(bytes_min);
  HomedBlock* const block = free == nullptr ? allocate_block(bytes_min) : homed(free);
  block->file = std::shared_ptr<const std::string>(shared_from_this(), file_.get());
  block->home = this;
  block->last_core = core;
  block->references.store(1, std::memory_order_relaxed);
  return block;
}

void BlockPool::give_back(Block* block) noexcept {
  {
    const std::lock_guard lock(mutex_);
    const bool has_room = free_bytes_ + block->capacity_bytes <= kept_.bytes_max || free_.empty();
    if (has_room && free_.size() < kept_.blocks_max) {
      free_.push_back(block);
      free_bytes_ += block->capacity_bytes;
      return;
    }
  }
  deallocate_unless_kept(block, spare_.get());
}

std::size_t BlockPool::free_blocks() const {
  const std::lock_guard lock(mutex_);
  return free_.size();
}

Block* make_lone_block(std::size_t bytes, std::shared_ptr<const std::string> file) {
  HomedBlock* block = allocate_block(bytes);
  block->file = std::move(file);
  return block;
}

Block* make_view(const std::string& file, const char* data, std::shared_ptr<const void> owner) {
  struct Viewed {
    std::string file;
    std::shared_ptr<const void> owner;
  };
  const auto viewed = std::make_shared<const Viewed>(Viewed{file, std::move(owner)});
  Block* block = make_lone_block(0, {viewed, &viewed->file});
  block->data = const_cast<char*>(data);  // nobody writes to the bytes of a block that is read
  return block;
}

void free_block(Block* block) noexcept {
  // This block may be all that keeps the pool alive: hold the pool until the block is in.
  const std::shared_ptr<const std::string> file = std::move(homed(block)->file);
  if (BlockPool* const home = homed(block)->home; home != nullptr) {
    home->give_back(block);
  } else {
    deallocate_block(homed(block));
  }
}

std::string_view block_file(const Block& block) noexcept {
  const auto& file = static_cast<const HomedBlock&>(block).file;
  return file == nullptr ? std::string_view() : std::string_view(*file);
}

}  // namespace detail

SpareBlocks::SpareBlocks(std::size_t bytes_max) : bytes_max_(bytes_max) {
  constexpr std::size_t kWorthKeepingBytes = 4096;
  blocks_.reserve(bytes_max / kWorthKeepingBytes);  // so that keep() allocates nothing
}

SpareBlocks::~SpareBlocks() {
  for (detail::Block* block : blocks_) detail::deallocate_block(detail::homed(block));
}

detail::Block* SpareBlocks::take(std::size_t bytes_min) {
  const std::lock_guard lock(mutex_);
  detail::Block* const block = detail::take_from(blocks_, bytes_min, detail::current_core());
  if (block != nullptr) bytes_ -= block->capacity_bytes;
  return block;
}

bool SpareBlocks::keep(detail::Block* block) noexcept {
  const std::lock_guard lock(mutex_);
  const std::size_t bytes = block->capacity_bytes;
  const bool is_large = bytes > bytes_max_ / 8 + detail::kBlockLeadBytes;
  if (is_large || bytes > bytes_max_ - bytes_ || blocks_.size() == blocks_.capacity()) return false;
  blocks_.push_back(block);
  bytes_ += bytes;
  return true;
}

Record::Record(std::string_view bytes) {
  if (bytes.empty()) return;
  block_ = detail::allocate_small_block(bytes.size());
  std::memcpy(block_->data, bytes.data(), bytes.size());
  data_ = block_->data;
  size_ = bytes.size();
}

void destroy_elements(Record* records, std::size_t count) noexcept {
  struct Dropped {
    detail::Block* block = nullptr;
    std::uint64_t references = 0;
  };
  // Blocks that share a place drop each other, so this is a matter of speed alone.
  constexpr std::size_t kPlaces = 64;
  if (count < kPlaces) {
    std::destroy_n(records, count);
    return;
  }
  std::array<Dropped, kPlaces> dropped;
  for (std::size_t i = 0; i < count; ++i) {
    detail::Block* const block = records[i].block_;
    if (block == nullptr) continue;
    const auto address = reinterpret_cast<std::uintptr_t>(block);
    Dropped& place = dropped[(address >> 12 ^ address >> 19) % kPlaces];
    if (place.block != block) {
      if (place.block != nullptr) detail::drop_block(place.block, place.references);
      place = {block, 0};
    }
    ++place.references;
  }
  for (const Dropped& place : dropped) {
    if (place.block != nullptr) detail::drop_block(place.block, place.references);
  }
}

Record Record::detached() const {
  Record record;
  record.number_ = number_;
  if (empty() && block_ == nullptr) return record;
  auto* const block = detail::allocate_small_block(size_);
  if (block_ != nullptr) block->file = detail::file_of(*detail::homed(block_));
  record.block_ = block;
  record.block_->stream_offset = offset().value_or(0);
  bytes().copy(record.block_->data, size_);
  record.data_ = record.block_->data;
  record.size_ = size_;
  return record;
}

}  // namespace infeed
