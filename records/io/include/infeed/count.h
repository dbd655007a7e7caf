#pragma once

#include <compare>
#include <concepts>
#include <cstdint>
#include <limits>
#include <string_view>
#include <utility>

#include "infeed/error.h"

/// Why: a program has its numbers as int, std::size_t or std::int64_t, and C++ refuses to narrow
/// one of them in braces: `{.count = world}` with an int would be an error. An option that counts
/// something is therefore a Count, which takes any integer. The compiler can't refuse a negative
/// number, so the stage refuses it and names the option.
///
///     const int world = 8, rank = 3;
///     files | infeed::shard({.count = world, .index = rank})
///     files | infeed::shard({.count = names.size(), .index = 0})
namespace infeed {

class Count {
 public:
  /// Numbers beyond 2^63-1, which no stream reaches, count as 2^63-1.
  template <std::integral Integer>
  requires(!std::same_as<Integer, bool>)  //
      constexpr Count(Integer value)
      : value_(static_cast<std::int64_t>(value)) {
    constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
    if (std::cmp_greater(value, kMost)) value_ = kMost;
  }

  template <std::floating_point Number>
  constexpr Count(Number) {
    static_assert(!std::same_as<Number, Number>,
                  "infeed: a count must be an integer, such as 10'000 for 1e4");
  }

  /// Returns the number as it was given, also infeed::autotune (-1).
  constexpr std::int64_t value() const { return value_; }
  /// Throws Error(invalid_argument) when it is negative.
  constexpr operator std::uint64_t() const {
    if (value_ < 0) refuse({}, {});
    return static_cast<std::uint64_t>(value_);
  }
  /// Returns the number. Throws an Error that names the stage and its option when it is negative.
  std::uint64_t of(std::string_view stage, std::string_view option) const {
    if (value_ < 0) refuse(stage, option);
    return static_cast<std::uint64_t>(value_);
  }

  friend constexpr bool operator==(Count, Count) = default;
  friend constexpr std::strong_ordering operator<=>(Count, Count) = default;
  template <std::integral Integer>
  friend constexpr bool operator==(Count count, Integer number) {
    return std::cmp_equal(count.value_, number);
  }
  template <std::integral Integer>
  friend constexpr std::strong_ordering operator<=>(Count count, Integer number) {
    if (std::cmp_equal(count.value_, number)) return std::strong_ordering::equal;
    return std::cmp_less(count.value_, number) ? std::strong_ordering::less
                                               : std::strong_ordering::greater;
  }

 private:
  [[noreturn]] void refuse(std::string_view stage, std::string_view option) const;

  std::int64_t value_;
};

}  // namespace infeed
