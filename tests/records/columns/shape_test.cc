#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include <infeed/records/shape.h>

#include "thrown_error.h"

namespace infeed {
namespace {

TEST(Shape, any_rank) {
  EXPECT_EQ(Shape().items(), 1);
  EXPECT_EQ(Shape().to_string(), "[]");
  const Shape five = {2, 3, 4, 5, 6};
  EXPECT_EQ(five.items(), 720);
  EXPECT_EQ(five.rank(), 5U);
  EXPECT_EQ(five[4], 6);
  EXPECT_EQ(five.without_first(), Shape({3, 4, 5, 6}));
  EXPECT_EQ(Shape(2, five.without_first()), five);
  EXPECT_NE(five, Shape({2, 3, 4, 5}));
  EXPECT_EQ(five.to_string(), "[2, 3, 4, 5, 6]");
  const std::int64_t huge = std::int64_t{1} << 40;
  EXPECT_EQ(Shape({huge, huge, 0}).items(), 0);
  EXPECT_EQ(error_of([&] {
              Shape({huge, huge});
            }).message(),
            "the shape [1099511627776, 1099511627776] has more items than 64 bits count");
  EXPECT_EQ(error_of([] { Shape({2, -1}); }).message(), "the shape [2, -1] has a negative extent");
  EXPECT_EQ(error_of([] { Shape(-1, {2}); }).message(), "the shape [-1, 2] has a negative extent");
}

TEST(Shape, one_that_was_moved_from_has_no_items) {
  for (Shape shape : {Shape({2, 3}), Shape({2, 3, 4, 5, 6})}) {
    const Shape copy = shape;
    Shape moved = std::move(shape);
    EXPECT_EQ(moved, copy);
    EXPECT_EQ(shape, Shape({0}));  // NOLINT(bugprone-use-after-move): that is what is tested
    shape = std::move(moved);
    EXPECT_EQ(shape, copy);
    EXPECT_EQ(shape.items(), copy.items());
  }
}

TEST(Shape, one_axis_in_front) {
  for (std::int64_t rank = 0; rank < 7; ++rank) {
    const std::vector<std::int64_t> extents(static_cast<std::size_t>(rank), 2);
    const Shape shape(3, Shape(std::span<const std::int64_t>(extents)));
    EXPECT_EQ(shape.rank(), extents.size() + 1);
    EXPECT_EQ(shape[0], 3);
    EXPECT_EQ(shape.items(), std::int64_t{3} << rank);
    EXPECT_EQ(shape.without_first(), Shape(std::span<const std::int64_t>(extents)));
  }
  const std::int64_t huge = std::int64_t{1} << 62;
  EXPECT_EQ(Shape(1, {huge}).items(), huge);
  EXPECT_EQ(Shape(0, {huge}).items(), 0);
  EXPECT_EQ(Shape(huge, {0, huge}).items(), 0);
  EXPECT_EQ(Shape(0, {2, 2, 2, 2}).items(), 0);
  EXPECT_EQ(Shape(0, {}).to_string(), "[0]");
  EXPECT_EQ(error_of([&] { Shape(2, {huge}); }).message(),
            "the shape [2, 4611686018427387904] has more items than 64 bits count");
  EXPECT_EQ(error_of([] { Shape(-1, {0}); }).message(), "the shape [-1, 0] has a negative extent");
}

TEST(Shape, as_many_items_as_64_bits_count) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(Shape({kMost}).items(), kMost);
  EXPECT_EQ(Shape({kMost, 1}).items(), kMost);
  EXPECT_EQ(error_of([] { Shape({kMost, 2}); }).code(), ErrorCode::invalid_argument);
  EXPECT_EQ(Shape({0}).items(), 0);
  EXPECT_EQ(Shape({1}).items(), 1);
  const Shape two = {5, 6};
  EXPECT_THAT(two.extents(), ElementsAre(5, 6));
  EXPECT_NE(Shape({5, 6}), Shape({6, 5}));
  EXPECT_NE(Shape({5}), Shape());
  EXPECT_NE(Shape({5}), Shape({5, 1}));
}

}  // namespace
}  // namespace infeed
