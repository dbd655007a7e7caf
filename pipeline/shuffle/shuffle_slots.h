#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <unordered_map>
#include <utility>

#include <infeed/pipeline/chunk.h>
#include <infeed/pipeline/reservation.h>
#include <infeed/pipeline/type_info.h>

#include "engine/buffer_bytes.h"
#include "engine/move_values.h"
#include "engine/work/error_bytes.h"

namespace infeed::detail {

/// The slots of the buffer, each with a value, an error or nothing. If their number isn't known it
/// grows by doubling as elements come, since "as large as the dataset" is often given as a generous
/// number.
class ShuffleSlots {
 public:
  /// `expected` is the final number of slots if no element fails, if that is known; else the most
  /// slots.
  ShuffleSlots(MemoryAccount& memory, const TypeInfo& type, std::uint64_t expected, bool is_known)
      : type_(type),
        expected_(expected),
        first_(is_known ? expected : std::min(expected, kFirst)),
        account_(memory),
        memory_(memory, "shuffle") {}
  ~ShuffleSlots() { ::operator delete(data_, alignment()); }
  ShuffleSlots(const ShuffleSlots&) = delete;
  ShuffleSlots& operator=(const ShuffleSlots&) = delete;

  /// Returns the most slots that exist at one time while it grows to `count` by doubling.
  static std::uint64_t count_while_growing_to(std::uint64_t count) {
    std::uint64_t before = 0;
    for (std::uint64_t slots = kFirst; slots < count; slots *= 2) before = slots;
    return count + before;
  }

  std::byte* data() { return data_; }
  void* at(std::uint64_t slot) { return data_ + slot * type_.size; }
  bool has_errors() const { return !errors_.empty(); }
  /// Returns true unless the slot, which holds something, holds an error.
  bool holds_value(std::uint64_t slot) const { return errors_.empty() || !errors_.contains(slot); }

  /// Makes room for slots 0 .. count-1. Those below `used` hold something.
  void reserve(std::uint64_t count, std::uint64_t used) {
    if (count <= capacity_) return;
    const std::uint64_t doubled = std::max(2 * capacity_, first_);
    const std::uint64_t wanted =
        std::max(count, count > expected_ ? doubled : std::min(expected_, doubled));
    const std::size_t bytes = bytes_of_elements(wanted, type_.size);
    memory_.grow(bytes);
    auto* const bigger = static_cast<std::byte*>(::operator new(bytes, alignment()));
    if (type_.trivially_relocatable) {
      if (used > 0) std::memcpy(bigger, data_, used * type_.size);
    } else {
      for (std::uint64_t slot = 0; slot < used; ++slot) {
        if (holds_value(slot)) type_.relocate_run(bigger + slot * type_.size, at(slot), 1);
      }
    }
    ::operator delete(std::exchange(data_, bigger), alignment());
    memory_.shrink(capacity_ * type_.size);
    capacity_ = wanted;
  }

  /// Moves the chunk's error to a slot that holds nothing. Throws Error(resource_exhausted) before
  /// it has moved anything.
  void put_error(std::uint64_t slot, Chunk& in) {
    memory_.grow(error_bytes(*in.error()));
    errors_[slot] = in.take_error();
  }
  /// Appends what the slot holds.
  void hand_out(std::uint64_t slot, Chunk& out) {
    if (!holds_value(slot)) {
      auto error = errors_.extract(slot);
      memory_.shrink(error_bytes(*error.mapped()));
      out.set_error(std::move(error.mapped()));
      return;
    }
    let_go(at(slot), 1);
    type_.relocate(out.back(), at(slot), 1);
    out.grow(1);
  }
  /// Moves what slot `from` holds to another, which holds nothing.
  void move(std::uint64_t from, std::uint64_t to) {
    if (holds_value(from)) {
      type_.relocate(at(to), at(from), 1);
      return;
    }
    auto error = errors_.extract(from);
    error.key() = to;
    errors_.insert(std::move(error));
  }
  /// Destroys the value of a slot that holds one.
  void destroy(std::uint64_t slot) {
    if (!type_.trivially_destructible && holds_value(slot)) type_.destroy(at(slot), 1);
  }
  void drop_errors() {
    for (const auto& [slot, error] : errors_) memory_.shrink(error_bytes(*error));
    errors_.clear();
  }

  /// Frees the memory. No values may be left.
  void release() {
    ::operator delete(std::exchange(data_, nullptr), alignment());
    memory_.shrink(memory_.bytes());
    capacity_ = 0;
  }

  /// Called for values that come to stay, before they move to their slots. Gives them memory of
  /// their own first, since what they own may be counted otherwise then. Throws
  /// Error(resource_exhausted).
  void hold(void* values, std::size_t count) {
    detach_under_limit(type_, account_, values, count);
    memory_.grow(payload_bytes(values, count));
  }
  /// Called for values that leave.
  void let_go(const void* values, std::size_t count) {
    memory_.shrink(payload_bytes(values, count));
  }
  /// Returns the bytes of the slots, of what the values own, and of the errors.
  std::uint64_t bytes() const { return memory_.bytes(); }

 private:
  std::align_val_t alignment() const {
    return std::align_val_t{std::max<std::size_t>(64, type_.alignment)};
  }

  std::uint64_t payload_bytes(const void* at, std::size_t count) const {
    if (type_.payload_bytes_run == nullptr) return 0;
    constexpr std::size_t kOwnMemoryBytes = 80;  // a block's header, and the allocator's
    const std::size_t headers = type_.detach_run == nullptr ? 0 : count * kOwnMemoryBytes;
    return type_.payload_bytes_run(at, count) + headers;
  }

  static std::uint64_t error_bytes(const Error& error) {
    constexpr std::uint64_t kSlotBytes = 64;  // the map's node and its bucket
    return kSlotBytes + bytes_when_kept(error);
  }

  static constexpr std::uint64_t kFirst = 1024;

  const TypeInfo& type_;
  const std::uint64_t expected_;
  const std::uint64_t first_;
  const MemoryAccount& account_;
  Reservation memory_;
  std::byte* data_ = nullptr;
  std::uint64_t capacity_ = 0;
  std::unordered_map<std::uint64_t, ErrorPointer> errors_;  ///< by slot; nearly always empty
};

}  // namespace infeed::detail
