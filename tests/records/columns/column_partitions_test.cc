#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <infeed/records/column_parser.h>
#include <infeed/records/example.h>

#include "records/columns/parse_all.h"
#include "thrown_error.h"

namespace infeed {
namespace {

using test::parse_all;

TEST(ColumnPartitions, two_levels_cut_by_another_feature) {
  const ColumnType words{.name = "words",
                         .dtype = DType::bytes,
                         .kind = Column::Kind::ragged_bytes,
                         .ragged_levels = 2,
                         .missing = std::vector<std::string>{"none"},
                         .partition = RowLengths{"lengths"}};
  const ColumnType values{.name = "values",
                          .dtype = DType::float64,
                          .kind = Column::Kind::ragged,
                          .ragged_levels = 2,
                          .missing = std::vector<double>{7, 8},
                          .partition = RowSplits{"splits"}};
  const ColumnParser parser(ColumnSchema().add(words).add(values));
  const auto record = [](std::vector<std::string> texts, std::vector<std::int64_t> lengths,
                         std::vector<float> floats, std::vector<std::int64_t> splits) {
    return ExampleBuilder()
        .bytes("words", std::span<const std::string>(texts))
        .integers("lengths", std::span<const std::int64_t>(lengths))
        .floats("values", std::span<const float>(floats))
        .integers("splits", std::span<const std::int64_t>(splits))
        .encode();
  };
  const ColumnBatch batch = parse_all(
      parser,
      {record({"a", "b", "c"}, {1, 0, 2}, {1, 2, 3}, {0, 3}), "", record({}, {}, {4}, {0, 0, 1})});
  EXPECT_THAT(batch.column("words").row_splits(0), ElementsAre(0, 3, 4, 4));
  EXPECT_THAT(batch.column("words").row_splits(1), ElementsAre(0, 1, 1, 3, 4));
  EXPECT_EQ(batch.column("words").bytes(3), "none");
  EXPECT_THAT(batch.column("values").row_splits(0), ElementsAre(0, 1, 2, 4));
  EXPECT_THAT(batch.column("values").row_splits(1), ElementsAre(0, 3, 5, 5, 6));
  EXPECT_THAT(batch.column("values").values<double>(), ElementsAre(1, 2, 3, 7, 8, 4));
  EXPECT_EQ(error_of([&] { parse_all(parser, {record({"a"}, {2}, {}, {})}); }).message(),
            "feature 'lengths' can't cut the 1 values of feature 'words': sequence 0 would end "
            "behind them");
}

/// As two tf.io.RaggedFeatures with the same partition. A partition may also be read for itself.
TEST(ColumnPartitions, columns_share_a_partition) {
  const auto cut = [](std::string name, DType dtype) {
    return ColumnType{.name = std::move(name),
                      .dtype = dtype,
                      .kind = Column::Kind::ragged,
                      .ragged_levels = 2,
                      .partition = RowSplits{"splits"}};
  };
  const auto record = [](std::vector<std::int64_t> ids, std::vector<float> weights,
                         std::vector<std::int64_t> splits) {
    return ExampleBuilder()
        .integers("ids", std::span<const std::int64_t>(ids))
        .floats("weights", std::span<const float>(weights))
        .integers("splits", std::span<const std::int64_t>(splits))
        .integers("label", 5)
        .encode();
  };
  const std::vector<std::string> records = {record({1, 2, 3}, {4, 5, 6}, {0, 1, 3}),
                                            record({7}, {8}, {0, 1})};
  const ColumnType ids = cut("ids", DType::int32);
  const ColumnType weights = cut("weights", DType::float32);
  for (const bool is_read_first : {true, false}) {
    ColumnSchema schema;
    if (is_read_first) schema.ragged("splits", DType::int64);
    schema.add(ids).add(weights).column("label", DType::int64);
    if (!is_read_first) schema.ragged("splits", DType::int64);
    const ColumnBatch batch = parse_all(ColumnParser(schema), records);
    EXPECT_THAT(batch.column("ids").values<std::int32_t>(), ElementsAre(1, 2, 3, 7));
    EXPECT_THAT(batch.column("weights").values<float>(), ElementsAre(4, 5, 6, 8));
    for (const char* const name : {"ids", "weights"}) {
      EXPECT_THAT(batch.column(name).row_splits(0), ElementsAre(0, 2, 3));
      EXPECT_THAT(batch.column(name).row_splits(1), ElementsAre(0, 1, 3, 4));
    }
    EXPECT_THAT(batch.column("splits").values<std::int64_t>(), ElementsAre(0, 1, 3, 0, 1));
    EXPECT_THAT(batch.column("label").values<std::int64_t>(), ElementsAre(5, 5));
    const std::string longer = record({1, 2}, {4, 5, 6}, {0, 1, 3});
    EXPECT_THAT(error_of([&] { parse_all(ColumnParser(schema), {longer}); }).message(),
                StartsWith("feature 'splits' can't cut the 2 values of feature 'ids'"));
  }
}

/// A record without the feature of an optional column was refused where another column has brought
/// the partition.
TEST(ColumnPartitions, a_default_stands_in_beside_a_column_that_brings_the_partition) {
  for (const bool by_splits : {true, false}) {
    using Partition = std::variant<RowLengths, RowSplits>;
    const Partition cuts = by_splits ? Partition(RowSplits{"cuts"}) : Partition(RowLengths{"cuts"});
    const ColumnType weights{.name = "weights",
                             .dtype = DType::float32,
                             .kind = Column::Kind::ragged,
                             .ragged_levels = 2,
                             .partition = cuts};
    const ColumnType ids{.name = "ids",
                         .dtype = DType::int64,
                         .kind = Column::Kind::ragged,
                         .ragged_levels = 2,
                         .missing = std::vector<std::int64_t>{-1, -2},
                         .partition = cuts};
    const auto record = [](std::vector<float> values, std::vector<std::int64_t> partition) {
      return ExampleBuilder()
          .floats("weights", std::span<const float>(values))
          .integers("cuts", std::span<const std::int64_t>(partition));
    };
    using Cuts = std::vector<std::int64_t>;
    const Cuts of_three = by_splits ? Cuts{0, 1, 3} : Cuts{1, 2};
    const Cuts of_nothing = by_splits ? Cuts{0, 0, 0} : Cuts{0, 0};
    const std::vector<std::int64_t> all = {1, 2, 3};
    const ColumnParser parser(ColumnSchema().add(weights).add(ids));
    const ColumnBatch batch =
        parse_all(parser, {record({4, 5, 6}, of_three).integers("ids", std::span(all)).encode(),
                           record({4, 5, 6}, of_three).encode(), record({}, of_nothing).encode()});
    EXPECT_THAT(batch.column("ids").values<std::int64_t>(), ElementsAre(1, 2, 3, -1, -2));
    EXPECT_THAT(batch.column("ids").row_splits(0), ElementsAre(0, 2, 3, 5));
    EXPECT_THAT(batch.column("ids").row_splits(1), ElementsAre(0, 1, 3, 5, 5, 5))
        << "the last row's two sequences are there, and empty";
    EXPECT_THAT(batch.column("weights").row_splits(0), ElementsAre(0, 2, 4, 6));
    const std::string no_numbers =
        ExampleBuilder().bytes("weights", "").bytes("cuts", "no").encode();
    EXPECT_THROW(parse_all(parser, {no_numbers}), Error);
  }
}

}  // namespace
}  // namespace infeed
