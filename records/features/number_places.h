#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace infeed::detail {

struct NumberPlace {
  std::int64_t number = 0;
  std::int64_t place = -1;
};

/// Finds the places of whole numbers. Half of the slots at least are free, and a number lies in the
/// first free one from its hash on: mostly one cache line is read, where std::unordered_map reads
/// three. Thread-safety: immutable.
class NumberPlaces {
 public:
  NumberPlaces() = default;
  explicit NumberPlaces(std::span<const NumberPlace> numbers)
      : slots_(std::bit_ceil(2 * numbers.size() + 2)),
        shift_(64 - std::countr_zero(slots_.size())) {
    for (const NumberPlace& number : numbers) slots_[slot_of(number.number)] = number;
  }

  /// Returns the number's place, or -1.
  std::int64_t find(std::int64_t number) const {
    return slots_.empty() ? -1 : slots_[slot_of(number)].place;
  }

 private:
  /// Returns the slot of the number, or the free one where it would lie.
  std::size_t slot_of(std::int64_t number) const {
    constexpr std::uint64_t kOdd = 0x9e3779b97f4a7c15U;  // 2^64 / golden ratio
    auto slot = static_cast<std::size_t>((static_cast<std::uint64_t>(number) * kOdd) >> shift_);
    while (slots_[slot].place >= 0 && slots_[slot].number != number) {
      slot = (slot + 1) & (slots_.size() - 1);
    }
    return slot;
  }

  std::vector<NumberPlace> slots_;
  int shift_ = 0;
};

}  // namespace infeed::detail
