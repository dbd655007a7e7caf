#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <vector>

/// Why: the extents of a Tensor. Few have more than four axes, and up to four need no memory of
/// their own, so that slicing a batch of hundreds of columns allocates nothing for them.
///
///     infeed::Shape shape = {32, 28, 28};
///     std::int64_t rows = shape[0];
///     std::int64_t items = shape.items();                        // 25088
///     infeed::Shape row = shape.without_first();                 // [28, 28]
///
/// Errors: invalid_argument for a negative extent, or when the items are more than int64 counts.
namespace infeed {

class Shape {
 public:
  /// Of a single item: no axis.
  Shape() = default;
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

  /// How many items there are: the product of the extents.
  std::int64_t items() const { return items_; }
  /// The shape of one of the `extents()[0]` rows; the rank must not be 0.
  Shape without_first() const { return Shape(extents().subspan(1)); }

  /// "[32, 28, 28]", "[]".
  std::string to_string() const;
  bool operator==(const Shape& other) const;

 private:
  static constexpr std::size_t kInline = 4;

  std::size_t rank_ = 0;
  std::int64_t items_ = 1;
  std::array<std::int64_t, kInline> few_{};
  std::vector<std::int64_t> many_;  ///< more than kInline, or empty
};

}  // namespace infeed
