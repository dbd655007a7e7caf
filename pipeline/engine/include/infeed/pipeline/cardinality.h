#pragma once

#include <algorithm>
#include <cstdint>

namespace infeed {

/// The number of elements of a dataset: finite, infinite, or unknown until it is read (filter).
class Cardinality {
 public:
  static constexpr Cardinality finite(std::uint64_t count) {
    return Cardinality(Kind::finite, count);
  }
  static constexpr Cardinality infinite() { return Cardinality(Kind::infinite, 0); }
  static constexpr Cardinality unknown() { return Cardinality(Kind::unknown, 0); }

  constexpr bool is_finite() const { return kind_ == Kind::finite; }
  constexpr bool is_infinite() const { return kind_ == Kind::infinite; }
  constexpr bool is_unknown() const { return kind_ == Kind::unknown; }
  /// Returns the number; 0 unless is_finite().
  constexpr std::uint64_t count() const { return count_; }

  /// Applies `function` to a finite number. Infinite and unknown stay as they are.
  template <class Function>
  constexpr Cardinality transform(Function function) const {
    return is_finite() ? finite(function(count_)) : *this;
  }

  /// Returns the cardinality after a stage that may drop elements: an empty input stays empty, any
  /// other becomes unknown.
  constexpr Cardinality unknown_unless_empty() const {
    return is_finite() && count_ == 0 ? *this : unknown();
  }

  friend constexpr bool operator==(const Cardinality&, const Cardinality&) = default;

 private:
  enum class Kind : std::uint8_t { finite, infinite, unknown };
  constexpr Cardinality(Kind kind, std::uint64_t count) : kind_(kind), count_(count) {}

  Kind kind_;
  std::uint64_t count_;
};

}  // namespace infeed
