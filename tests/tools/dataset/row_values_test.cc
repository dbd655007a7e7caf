#include "dataset/row_values.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <vector>

#include <infeed/records/column.h>
#include <infeed/records/tensor.h>

namespace infeed::test {
namespace {

using tools::column_kind_text;
using tools::row_json;
using tools::row_text;

/// Returns a column of two numbers, 1 and 0.
template <class T>
Column numbers() {
  return Column::dense(Tensor::copy_of({2}, {static_cast<T>(1.0F), static_cast<T>(0.0F)}));
}

TEST(RowValues, ShowEveryTypeOfNumber) {
  const auto shown = [](const Column& column) {
    EXPECT_EQ(row_json(column, 0).at("values").at(0), 1) << column_kind_text(column);
    return column_kind_text(column) + " " + row_text(column, 0, 40) + " " + row_text(column, 1, 40);
  };
  EXPECT_EQ(shown(numbers<std::int8_t>()), "dense int8 1 0");
  EXPECT_EQ(shown(numbers<std::int16_t>()), "dense int16 1 0");
  EXPECT_EQ(shown(numbers<std::int32_t>()), "dense int32 1 0");
  EXPECT_EQ(shown(numbers<std::int64_t>()), "dense int64 1 0");
  EXPECT_EQ(shown(numbers<std::uint8_t>()), "dense uint8 1 0");
  EXPECT_EQ(shown(numbers<std::uint16_t>()), "dense uint16 1 0");
  EXPECT_EQ(shown(numbers<std::uint32_t>()), "dense uint32 1 0");
  EXPECT_EQ(shown(numbers<std::uint64_t>()), "dense uint64 1 0");
  EXPECT_EQ(shown(numbers<float16>()), "dense float16 1 0");
  EXPECT_EQ(shown(numbers<bfloat16>()), "dense bfloat16 1 0");
  EXPECT_EQ(shown(numbers<float>()), "dense float32 1 0");
  EXPECT_EQ(shown(numbers<double>()), "dense float64 1 0");
  const Column flags = Column::dense(Tensor::copy_of({2}, {true, false}));
  EXPECT_EQ(column_kind_text(flags), "dense bool");
  EXPECT_EQ(row_json(flags, 0).at("values").at(0), true);
}

TEST(RowValues, LeaveOutPadding) {
  const Column padded = Column::padded(Tensor::copy_of({2, 3}, {1, 2, -1, 3, 4, 5}),
                                       Tensor::copy_of<std::int64_t>({2}, {2, 3}));
  EXPECT_EQ(row_text(padded, 0, 40), "[1, 2]");
  EXPECT_EQ(row_json(padded, 0).dump(), R"({"count":2,"values":[1,2]})");
  EXPECT_EQ(row_text(padded, 1, 40), "[3, 4, 5]");
}

TEST(RowValues, CutWhatIsLong) {
  const Column column =
      Column::dense(Tensor::copy_of<std::int32_t>({1, 12'000}, std::vector<std::int32_t>(12'000)));
  EXPECT_EQ(row_text(column, 0, 20), "[0, 0, 0, 0, ... 12,000 in all]");
  const auto json = row_json(column, 0);
  EXPECT_EQ(json.at("count"), 12'000);
  EXPECT_EQ(json.at("values").size(), 10'000U);
}

TEST(RowValues, ShowListsOfTexts) {
  const Column texts = Column::of_bytes({"one", "two", "three"});
  const Column lists =
      Column::of_parts(Column::Kind::ragged_bytes, texts.values(),
                       {Tensor::copy_of<std::int64_t>({3}, {0, 2, 3}), texts.partitions().front()});
  EXPECT_EQ(row_text(lists, 0, 60), "['one', 'two']");
  EXPECT_EQ(row_json(lists, 1).dump(), R"({"count":1,"values":["three"]})");
}

}  // namespace
}  // namespace infeed::test
