#include <cstdint>
#include <gtest/gtest.h>
#include <limits>
#include <tuple>
#include <utility>
#include <vector>

#include <infeed/records/column_schema.h>

namespace infeed {
namespace {

TEST(ColumnSchema, defaults_are_numbers_that_the_type_holds) {
  using enum DType;
  const auto takes = [](DType dtype, ColumnDefault value) {
    try {
      ColumnSchema().column("x", dtype).if_missing(std::move(value));
      return true;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
      return false;
    }
  };
  constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min();
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  for (const auto& [dtype, first, last] :
       std::vector<std::tuple<DType, std::int64_t, std::int64_t>>{{boolean, 0, 1},
                                                                  {int8, -128, 127},
                                                                  {int16, -32768, 32767},
                                                                  {int32, -2147483648, 2147483647},
                                                                  {uint8, 0, 255},
                                                                  {uint16, 0, 65535},
                                                                  {uint32, 0, 4294967295}}) {
    for (const std::int64_t number : {first, last}) {
      EXPECT_TRUE(takes(dtype, std::vector<std::int64_t>{number})) << to_string(dtype);
      EXPECT_TRUE(takes(dtype, std::vector<double>{static_cast<double>(number)}));
    }
    for (const std::int64_t number : {first - 1, last + 1}) {
      EXPECT_FALSE(takes(dtype, std::vector<std::int64_t>{number})) << to_string(dtype);
      EXPECT_FALSE(takes(dtype, std::vector<double>{static_cast<double>(number)}));
    }
  }
  EXPECT_TRUE(takes(int64, std::vector<std::int64_t>{kLeast}));
  EXPECT_TRUE(takes(int64, std::vector<std::int64_t>{kMost}));
  EXPECT_TRUE(takes(uint64, std::vector<std::int64_t>{kMost}));
  EXPECT_FALSE(takes(uint64, std::vector<std::int64_t>{-1}));
  for (const double number : {-0x1p63, 0x1.fffffffffffffp62, -1.0}) {
    EXPECT_TRUE(takes(int64, std::vector<double>{number})) << number;
  }
  const double infinity = std::numeric_limits<double>::infinity();
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const double number : {0x1p63, -0x1.0000000000001p63, 0.5, -0.5, infinity, -infinity, nan}) {
    EXPECT_FALSE(takes(int64, std::vector<double>{number})) << number;
  }
  for (const auto& [dtype, most, more] :
       {std::tuple(DType::float16, 65519.0, 65520.0), std::tuple(DType::bfloat16, 3.39e38, 3.4e38),
        std::tuple(float32, 3.4028235e38, 3.4028236e38), std::tuple(float64, 1e308, infinity)}) {
    for (const double number : {most, -most, infinity, -infinity, nan}) {
      EXPECT_TRUE(takes(dtype, std::vector<double>{number})) << to_string(dtype) << number;
    }
    if (dtype == float64) continue;
    EXPECT_FALSE(takes(dtype, std::vector<double>{more})) << to_string(dtype);
    EXPECT_FALSE(takes(dtype, std::vector<double>{-more})) << to_string(dtype);
  }
  EXPECT_TRUE(takes(DType::float16, std::vector<std::int64_t>{65519}));
  EXPECT_FALSE(takes(DType::float16, std::vector<std::int64_t>{65520}));
}

TEST(ColumnSchema, types_are_compared_part_by_part) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const ColumnType x{.name = "x", .dtype = DType::int8};
  std::vector<ColumnType> types(16, x);
  types[1].name = "y";
  types[2].dtype = DType::int16;
  types[3].shape = {1};
  types[4].kind = Column::Kind::ragged;
  types[5].ragged_levels = 2;
  types[6].width = 1;
  types[7].padding = 1;
  types[8].padding = nan;
  types[9].missing = std::vector<std::int64_t>{1};
  types[10].missing = std::vector<double>{1};
  types[11].missing = std::vector<double>{nan};
  types[12].partition = RowLengths{"a"};
  types[13].partition = RowSplits{"a"};
  types[14].source = ColumnSource::feature_list;
  types[15].is_guess = true;
  for (std::size_t i = 0; i < types.size(); ++i) {
    for (std::size_t k = 0; k < types.size(); ++k) {
      EXPECT_EQ(types[i] == ColumnType(types[k]), i == k) << i << ", " << k;
    }
  }
  types[12].partition = RowLengths{"b"};
  EXPECT_FALSE(types[12] ==
               (ColumnType{.name = "x", .dtype = DType::int8, .partition = RowLengths{"a"}}));
  types[11].missing = std::vector<double>{nan, 1};
  EXPECT_FALSE(
      types[11] ==
      (ColumnType{.name = "x", .dtype = DType::int8, .missing = std::vector<double>{nan}}));
}

}  // namespace
}  // namespace infeed
