#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <utility>
#include <vector>

/// Why: the extents of a Tensor. Few have more than four axes, and up to four need no memory of
/// their own, so that slicing a batch of hundreds of columns allocates nothing for them.
///
///     infeed::Shape shape = {32, 28, 28};
///     std::int64_t rows = shape[0];
///     std::int64_t items = shape.items();                        // 25088
///     infeed::Shape row = shape.without_first();                 // [28, 28]
///
/// Errors: invalid_argument for a negative extent, or for more items than int64 counts.
namespace infeed {

class Shape {
 public:
  /// Makes the shape of a single item: no axis.
  Shape() = default;
  Shape(const Shape&) = default;
  /// Moves a shape; the other becomes [0].
  Shape(Shape&& other) noexcept
      : rank_(other.rank_), items_(other.items_), few_(other.few_), many_(std::move(other.many_)) {
    other.become_empty();
  }
  Shape& operator=(const Shape&) = default;
  Shape& operator=(Shape&& other) noexcept {
    if (this == &other) return *this;
    rank_ = other.rank_;
    items_ = other.items_;
    few_ = other.few_;
    many_ = std::move(other.many_);
    other.become_empty();
    return *this;
  }
  ~Shape() = default;
  Shape(std::initializer_list<std::int64_t> extents)
      : Shape(std::span<const std::int64_t>(extents.begin(), extents.size())) {}
  explicit Shape(std::span<const std::int64_t> extents);
  Shape(std::int64_t first, const Shape& rest);

  std::size_t rank() const { return rank_; }
  std::span<const std::int64_t> extents() const {
    return {rank_ <= kInline ? few_.data() : many_.data(), rank_};
  }
  std::int64_t operator[](std::size_t axis) const { return extents()[axis]; }
  auto begin() const { return extents().begin(); }
  auto end() const { return extents().end(); }

  /// Number of items: the product of the extents.
  std::int64_t items() const { return items_; }
  /// Returns the shape of one of the `extents()[0]` rows. The rank must not be 0.
  Shape without_first() const { return Shape(extents().subspan(1)); }

  /// Returns a text such as "[32, 28, 28]" or "[]".
  std::string to_string() const;
  bool operator==(const Shape& other) const;

 private:
  static constexpr std::size_t kInline = 4;

  void become_empty() noexcept {
    rank_ = 1;
    items_ = 0;
    few_[0] = 0;
    many_.clear();
  }

  std::size_t rank_ = 0;
  std::int64_t items_ = 1;
  std::array<std::int64_t, kInline> few_{};
  std::vector<std::int64_t> many_;  ///< more than kInline, or empty
};

}  // namespace infeed
