#include "cache/cached_elements.h"

#include <algorithm>
#include <new>

#include "engine/copy_values.h"
#include "engine/work/error_bytes.h"

namespace infeed::detail {
namespace {

constexpr std::size_t kAlignment = 64;
constexpr std::size_t kBlockBytes = std::size_t{1} << 18;
constexpr std::size_t kFirstValues = 64;

std::align_val_t alignment_of(const TypeInfo& type) {
  return std::align_val_t{std::max(kAlignment, type.alignment)};
}

}  // namespace

CachedElements::CachedElements(const TypeInfo& type)
    : type_(type), values_per_block_(std::max<std::size_t>(1, kBlockBytes / type.size)) {}

CachedElements::~CachedElements() {
  std::uint64_t left = values_;
  for (const Block& block : blocks_) {
    const std::uint64_t here = std::min<std::uint64_t>(left, block.capacity);
    type_.destroy(block.data, static_cast<std::size_t>(here));
    ::operator delete(block.data, alignment_of(type_));
    left -= here;
  }
}

std::size_t CachedElements::room() const {
  std::uint64_t capacity = 0;
  if (!blocks_.empty()) {
    capacity = (blocks_.size() - 1) * values_per_block_ + blocks_.back().capacity;
  }
  return static_cast<std::size_t>(capacity - values_);
}

void CachedElements::count(Reservation& memory, std::uint64_t bytes) {
  memory.grow(bytes);
  bytes_ += bytes;
}

void CachedElements::add_room(Reservation& memory) {
  // A small cache stays small: only the first block grows, later ones have the full size.
  const bool grows_first = blocks_.size() == 1 && blocks_.front().capacity < values_per_block_;
  const std::size_t capacity =
      blocks_.empty() ? std::min(kFirstValues, values_per_block_)
                      : (grows_first ? std::min(4 * blocks_.front().capacity, values_per_block_)
                                     : values_per_block_);
  count(memory, capacity * type_.size);
  blocks_.reserve(blocks_.size() + 1);
  auto* const data =
      static_cast<std::byte*>(::operator new(capacity* type_.size, alignment_of(type_)));
  if (!grows_first) {
    blocks_.push_back({data, capacity});
    return;
  }
  const Block before = std::exchange(blocks_.front(), Block{data, capacity});
  type_.relocate(data, before.data, static_cast<std::size_t>(values_));
  ::operator delete(before.data, alignment_of(type_));
  memory.shrink(before.capacity * type_.size);
  bytes_ -= before.capacity * type_.size;
}

void CachedElements::append(const Chunk& chunk, Reservation& memory) {
  const auto* from = static_cast<const std::byte*>(chunk.front());
  std::size_t left = chunk.size();
  while (left > 0) {
    if (room() == 0) add_room(memory);
    std::size_t run = std::min(left, room());
    std::byte* const to = value(values_);
    const auto payload = [&](const std::byte* at) -> std::uint64_t {
      return type_.payload_bytes_run == nullptr ? 0 : type_.payload_bytes_run(at, run);
    };
    std::uint64_t expected = payload(from);
    try {
      count(memory, expected);
    } catch (const Error&) {
      if (run == 1) throw;
      run = 1;
      expected = payload(from);
      count(memory, expected);
    }
    type_.copy_run(to, from, run);
    values_ += run;
    // A copy of a string or vector often owns less memory than the original.
    if (const std::uint64_t held = payload(to); held < expected) {
      memory.shrink(expected - held);
      bytes_ -= expected - held;
    }
    from += run * type_.size;
    left -= run;
  }
  if (chunk.has_error()) {
    count(memory, sizeof(ErrorSlot) + bytes_when_kept(*chunk.error()));
    errors_.push_back({slots(), chunk.error()});
  }
}

std::uint64_t CachedElements::read(std::uint64_t position, Chunk& out, std::size_t want) const {
  std::uint64_t values_until = values_;  // counted in values, up to the next error
  std::uint64_t index = position;
  const ErrorSlot* next_error = nullptr;
  if (!errors_.empty()) {
    const auto at =
        std::lower_bound(errors_.begin(), errors_.end(), position,
                         [](const ErrorSlot& slot, std::uint64_t p) { return slot.position < p; });
    const auto errors_before = static_cast<std::uint64_t>(at - errors_.begin());
    index -= errors_before;
    if (at != errors_.end()) {
      values_until = at->position - errors_before;
      next_error = &*at;
    }
  }
  std::uint64_t done = 0;
  while (done < want && index < values_until && !out.has_error()) {
    const std::uint64_t in_block = values_per_block_ - index % values_per_block_;
    const std::size_t run =
        static_cast<std::size_t>(std::min({want - done, values_until - index, in_block}));
    const std::size_t copied = append_copies(out, value(index), run);
    index += copied;
    done += copied;
  }
  if (done < want && index == values_until && next_error != nullptr && !out.has_error()) {
    out.set_error(next_error->error);
    ++done;
  }
  return done;
}

}  // namespace infeed::detail
