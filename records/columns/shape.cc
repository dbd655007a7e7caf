#include "infeed/records/shape.h"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "infeed/error.h"

namespace infeed {

Shape::Shape(std::span<const std::int64_t> extents) : rank_(extents.size()) {
  if (rank_ <= kInline) {
    std::copy(extents.begin(), extents.end(), few_.begin());
  } else {
    many_.assign(extents.begin(), extents.end());
  }
  for (const std::int64_t extent : extents) {
    if (extent < 0) {
      throw Error(ErrorCode::invalid_argument,
                  fmt::format("the shape {} has a negative extent", to_string()));
    }
  }
  // An axis of extent 0 makes the items 0, however long the others are.
  if (std::find(extents.begin(), extents.end(), 0) != extents.end()) {
    items_ = 0;
    return;
  }
  for (const std::int64_t extent : extents) {
    if (__builtin_mul_overflow(items_, extent, &items_)) {
      throw Error(ErrorCode::invalid_argument,
                  fmt::format("the shape {} has more items than 64 bits count", to_string()));
    }
  }
}

Shape::Shape(std::int64_t first, const Shape& rest) : rank_(rest.rank_ + 1) {
  // A batch of columns makes such a shape for each column, so this doesn't look at every extent.
  const bool is_usual =
      rank_ <= kInline && first >= 0 && !__builtin_mul_overflow(first, rest.items_, &items_);
  if (is_usual) {
    few_[0] = first;
    std::copy(rest.begin(), rest.end(), few_.begin() + 1);
    return;
  }
  std::vector<std::int64_t> extents = {first};
  extents.insert(extents.end(), rest.begin(), rest.end());
  *this = Shape(std::span<const std::int64_t>(extents));
}

std::string Shape::to_string() const { return fmt::format("[{}]", fmt::join(extents(), ", ")); }

bool Shape::operator==(const Shape& other) const {
  return std::equal(begin(), end(), other.begin(), other.end());
}

}  // namespace infeed
