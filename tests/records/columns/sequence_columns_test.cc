#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "infeed/error.h"
#include "infeed/records/column_parser.h"
#include "infeed/records/inferred_schema.h"
#include "infeed/records/sequence_example.h"
#include "records/columns/parse_all.h"
#include "records/columns/unusual_record.h"
#include "thrown_error.h"

/// SequenceExamples in run-time columns.
namespace infeed {
namespace {

using test::parse_all;
using test::unusual;

/// Returns step i: two bytes, i words, the floats i and i + 0.5, the integer i.
std::string clip(std::int64_t label, int steps) {
  SequenceExampleBuilder builder;
  builder.context().integers("label", label);
  FeatureListBuilder& frames = builder.list("frames");
  for (int i = 0; i < steps; ++i) frames.bytes(std::string{static_cast<char>(i), 'f'});
  FeatureListBuilder& words = builder.list("words");
  for (int i = 0; i < steps; ++i) {
    words.bytes(std::vector<std::string>(static_cast<std::size_t>(i), "w"));
  }
  FeatureListBuilder& points = builder.list("points");
  for (int i = 0; i < steps; ++i) {
    const auto at = static_cast<float>(i);
    points.floats(std::vector<float>{at, at + 0.5F});
  }
  FeatureListBuilder& times = builder.list("times");
  for (int i = 0; i < steps; ++i) times.integers(std::int64_t{i});
  return builder.encode();
}

TEST(SequenceColumns, every_kind_of_column) {
  ColumnSchema schema;
  schema.column("label", DType::int64);
  schema.ragged("frames", DType::uint8, {2}).from_feature_list();
  schema.padded("points", DType::float32).from_feature_list();
  schema.ragged("times", DType::int16).from_feature_list();
  schema.add({.name = "words",
              .dtype = DType::bytes,
              .kind = Column::Kind::ragged_bytes,
              .ragged_levels = 2,
              .source = ColumnSource::feature_list});
  schema = ColumnSchema::from_json(schema.to_json());
  EXPECT_THAT(schema.to_json(), HasSubstr("\"feature_list\":true"));
  // Points have two values a step.
  ColumnSchema shaped;
  for (ColumnType type : schema.columns()) {
    if (type.name == "points") type.shape = {2};
    shaped.add(std::move(type));
  }
  const ColumnParser parser(shaped);
  EXPECT_FALSE(parser.has_fixed_rows());
  const std::vector<std::string> records = {clip(7, 2), clip(8, 0), clip(9, 3)};
  const ColumnBatch batch = parse_all(parser, records);
  EXPECT_THAT(batch.column("label").values<std::int64_t>(), ElementsAre(7, 8, 9));
  const Column& frames = batch.column("frames");
  EXPECT_THAT(frames.row_splits(), ElementsAre(0, 2, 2, 5));
  EXPECT_THAT(frames.values<std::uint8_t>(), ElementsAre(0, 'f', 1, 'f', 0, 'f', 1, 'f', 2, 'f'));
  const Column& points = batch.column("points");
  EXPECT_THAT(points.lengths(), ElementsAre(2, 0, 3));
  EXPECT_EQ(points.values().shape(), Shape({3, 3, 2}));
  EXPECT_THAT(points.values<float>().first(6), ElementsAre(0, 0.5F, 1, 1.5F, 0, 0));
  EXPECT_THAT(batch.column("times").values<std::int16_t>(), ElementsAre(0, 1, 0, 1, 2));
  const Column& words = batch.column("words");
  EXPECT_THAT(words.row_splits(0), ElementsAre(0, 2, 2, 5));
  EXPECT_THAT(words.row_splits(1), ElementsAre(0, 0, 1, 1, 2, 4));
  EXPECT_THAT(words.offsets(), ElementsAre(0, 1, 2, 3, 4));
  EXPECT_EQ(batch, parse_all(parser, {unusual(records[0]), unusual(records[1]), records[2]}));
}

TEST(SequenceColumns, rows_with_places) {
  ColumnSchema schema;
  schema.column("points", DType::float64, {2, 2}).from_feature_list();
  schema.padded("times", DType::int64, 3, -1).from_feature_list();
  const ColumnParser parser(schema);
  EXPECT_TRUE(parser.has_fixed_rows());
  ColumnRows rows = parser.begin(2);
  parser.parse_row(clip(0, 2), nullptr, 1, rows);
  parser.parse_row(unusual(clip(0, 2)), nullptr, 0, rows);
  const ColumnBatch batch = parser.finish(std::move(rows), 2);
  EXPECT_THAT(batch.column("points").values<double>(), ElementsAre(0, 0.5, 1, 1.5, 0, 0.5, 1, 1.5));
  EXPECT_THAT(batch.column("times").values<std::int64_t>(), ElementsAre(0, 1, -1, 0, 1, -1));
  EXPECT_THAT(batch.column("times").lengths(), ElementsAre(2, 2));
}

std::string refused(const ColumnSchema& schema, const std::string& record) {
  const ColumnParser parser(schema);
  return error_of([&] { parse_all(parser, {record}); }).message();
}

/// Steps that are too many must not be written where the next row lies.
TEST(SequenceColumns, a_row_of_too_many_steps_leaves_the_next_one) {
  for (const ColumnSchema& schema :
       {ColumnSchema().column("points", DType::float32, {2, 2}).from_feature_list(),
        ColumnSchema().column("times", DType::int64, {2}).from_feature_list(),
        ColumnSchema().column("frames", DType::uint8, {2, 2}).from_feature_list(),
        ColumnSchema().padded("times", DType::int64, 2).from_feature_list()}) {
    const ColumnParser parser(schema);
    ColumnRows rows = parser.begin(2);
    parser.parse_row(clip(0, 2), nullptr, 1, rows);
    for (const std::string& longer : {clip(0, 3), unusual(clip(0, 3))}) {
      EXPECT_THROW(parser.parse_row(longer, nullptr, 0, rows), Error);
    }
    parser.parse_row(clip(0, 2), nullptr, 0, rows);
    const ColumnBatch batch = parser.finish(std::move(rows), 2);
    EXPECT_EQ(batch.slice(0, 1), batch.slice(1, 1)) << schema.to_json();
  }
}

ColumnType inner_sequences(DType dtype, Shape shape) {
  return {.name = "x",
          .dtype = dtype,
          .shape = std::move(shape),
          .kind = Column::Kind::ragged,
          .ragged_levels = 2,
          .source = ColumnSource::feature_list};
}

TEST(SequenceColumns, inner_sequences_have_items) {
  SequenceExampleBuilder integers;
  integers.list("x")
      .integers(std::vector<std::int64_t>{1, 2, 3, 4})
      .integers(std::vector<std::int64_t>{5, 6});
  SequenceExampleBuilder floats;
  floats.list("x").floats(std::vector<float>{1, 2, 3, 4}).floats(std::vector<float>{5, 6});
  for (const auto& [dtype, record] :
       {std::pair(DType::int32, integers.encode()), std::pair(DType::float32, floats.encode())}) {
    const ColumnParser parser(ColumnSchema().add(inner_sequences(dtype, {2})));
    for (const std::string& bytes : {record, unusual(record)}) {
      const Column column = parse_all(parser, {bytes}).column("x");
      EXPECT_EQ(column.values().shape(), Shape({3, 2}));
      EXPECT_THAT(column.row_splits(0), ElementsAre(0, 2));
      EXPECT_THAT(column.row_splits(1), ElementsAre(0, 2, 3));
    }
  }
  SequenceExampleBuilder odd;
  odd.list("x").integers(std::vector<std::int64_t>{1, 2, 3});
  EXPECT_THAT(refused(ColumnSchema().add(inner_sequences(DType::int32, {2})), odd.encode()),
              HasSubstr("holds 3 values, which is no multiple of the 2 of a row"));
}

TEST(SequenceColumns, inner_sequences_of_bytes) {
  const ColumnSchema schema = ColumnSchema().add(inner_sequences(DType::uint8, {}));
  SequenceExampleBuilder builder;
  builder.list("x").bytes("ab").bytes("").bytes("c");
  const Column column = parse_all(ColumnParser(schema), {builder.encode()}).column("x");
  EXPECT_THAT(column.values<std::uint8_t>(), ElementsAre('a', 'b', 'c'));
  EXPECT_THAT(column.row_splits(0), ElementsAre(0, 3));
  EXPECT_THAT(column.row_splits(1), ElementsAre(0, 2, 2, 3));
  SequenceExampleBuilder without_list;
  without_list.list("x").bytes("ab").nothing();
  EXPECT_EQ(refused(schema, without_list.encode()),
            "step 1 of feature list 'x' holds no list of values");
}

TEST(SequenceColumns, errors_name_list_and_step) {
  const auto column = [](const char* name, DType dtype, Shape shape = {}) {
    return ColumnSchema().column(name, dtype, std::move(shape)).from_feature_list();
  };
  const auto ragged = [](const char* name, DType dtype, Shape shape = {}) {
    return ColumnSchema().ragged(name, dtype, std::move(shape)).from_feature_list();
  };
  EXPECT_EQ(refused(column("points", DType::float32, {3, 2}), clip(0, 2)),
            "feature list 'points' has 2 steps, but 3 are wanted");
  EXPECT_EQ(refused(column("points", DType::float32, {1, 2}), clip(0, 2)),
            "feature list 'points' has 2 steps, but 1 is wanted");
  EXPECT_EQ(
      refused(ColumnSchema().padded("times", DType::int64, 2).from_feature_list(), clip(0, 3)),
      "feature list 'times' has 3 steps, but is to be padded to 2; cut it, or make the "
      "width larger");
  EXPECT_EQ(refused(column("points", DType::float32, {3, 2}), clip(0, 1)),
            "feature list 'points' has 1 step, but 3 are wanted");
  EXPECT_EQ(
      refused(ColumnSchema().padded("times", DType::int64, 0).from_feature_list(), clip(0, 1)),
      "feature list 'times' has 1 step, but is to be padded to 0; cut it, or make the width "
      "larger");
  EXPECT_EQ(refused(ragged("points", DType::float32), clip(0, 2)),
            "step 0 of feature list 'points' holds 2 values, but 1 is wanted");
  EXPECT_EQ(refused(ragged("times", DType::float32), clip(0, 2)),
            "step 0 of feature list 'times' holds integers, but floats are wanted");
  EXPECT_EQ(refused(ragged("frames", DType::uint8, {3}), clip(0, 2)),
            "step 0 of feature list 'frames' has 2 bytes, but 3 are wanted");
  EXPECT_EQ(refused(ColumnSchema().ragged_bytes("words").from_feature_list(), clip(0, 2)),
            "step 0 of feature list 'words' holds 0 values, but 1 is wanted");
  EXPECT_THAT(refused(ragged("frame", DType::int64), clip(0, 2)),
              HasSubstr("feature list 'frame' is required but could not be found; the record has "
                        "the feature lists 'frames' (2 steps of bytes)"));
  SequenceExampleBuilder builder;
  builder.list("x").integers(std::int64_t{1}).nothing();
  EXPECT_EQ(refused(ragged("x", DType::int64), builder.encode()),
            "step 1 of feature list 'x' holds no list of values");
}

TEST(SequenceColumns, schemas_that_feature_lists_can_not_fill) {
  const auto refused_type = [](ColumnType type) {
    type.name = "x";
    type.source = ColumnSource::feature_list;
    return error_of([&] { ColumnParser(ColumnSchema().add(type)); }).message();
  };
  EXPECT_EQ(refused_type({.name = {}, .dtype = DType::bytes, .kind = Column::Kind::bytes}),
            "column 'x' comes from a feature list, which has any number of steps: it can be "
            "ragged_bytes, but not bytes");
  EXPECT_EQ(refused_type({.name = {}, .dtype = DType::int8}),
            "column 'x' comes from a feature list, so the first extent of its shape is the number "
            "of steps, but its shape is []");
  EXPECT_EQ(refused_type({.name = {},
                          .dtype = DType::int8,
                          .kind = Column::Kind::ragged,
                          .ragged_levels = 2,
                          .partition = RowLengths{"y"}}),
            "column 'x' comes from a feature list, whose steps cut its values: no other feature "
            "can");
  EXPECT_EQ(
      refused_type(
          {.name = {}, .dtype = DType::int8, .kind = Column::Kind::ragged, .ragged_levels = 3}),
      "column 'x' comes from a feature list, which has one ragged level, or two with any "
      "number of values a step, but it has 3");
  EXPECT_EQ(error_of([] { ColumnSchema().from_feature_list(); }).message(),
            "from_feature_list() belongs to the column before it, but there is none");
  EXPECT_EQ(error_of([] {
              ColumnSchema::from_json(
                  R"({"columns": [{"name": "x", "kind": "bytes", "feature_list": 1}]})");
            }).message(),
            "columns[0].feature_list is 1; it must be true or false");
}

TEST(SequenceColumns, defaults_stand_in_for_lists_without_steps) {
  ColumnSchema schema;
  schema.ragged("times", DType::int64)
      .if_missing(std::vector<std::int64_t>{5, 6})
      .from_feature_list();
  schema.column("points", DType::float32, {2, 2})
      .if_missing(std::vector<double>{4})
      .from_feature_list();
  const std::string without_lists("\x0a\x00", 2);
  const ColumnBatch batch =
      parse_all(ColumnParser(schema), {clip(0, 2), clip(0, 0), "", without_lists});
  EXPECT_THAT(batch.column("times").row_splits(), ElementsAre(0, 2, 4, 6, 8));
  EXPECT_THAT(batch.column("points").values<float>().subspan(4, 4), ElementsAre(4, 4, 4, 4));
}

TEST(SequenceColumns, expected_and_inferred) {
  SchemaInference inference;
  inference.add(clip(1, 2));
  inference.add(clip(2, 3));
  const ColumnSchema schema = ColumnSchema::from(inference.schema());
  ColumnSchema wanted;
  wanted.column("label", DType::int64);
  wanted.ragged_bytes("frames").from_feature_list();
  wanted.ragged("points", DType::float32, {2}).from_feature_list();
  wanted.ragged("times", DType::int64).from_feature_list();
  wanted.add({.name = "words",
              .dtype = DType::bytes,
              .kind = Column::Kind::ragged_bytes,
              .ragged_levels = 2,
              .source = ColumnSource::feature_list});
  EXPECT_EQ(schema, wanted);
  const ExpectedFeatures expected = ColumnParser(schema).expected();
  EXPECT_TRUE(expected.of_sequences);
  EXPECT_THAT(expected.lists, ElementsAre("words"));
  EXPECT_TRUE(expected.features.empty());
  const ColumnBatch batch = parse_all(ColumnParser(schema), {clip(1, 2), clip(2, 3)});
  EXPECT_THAT(batch.column("frames").row_splits(), ElementsAre(0, 2, 5));
}

TEST(SequenceColumns, inferred_of_steps_without_values) {
  SequenceExampleBuilder builder;
  builder.list("empty").integers(std::vector<std::int64_t>{}).integers(std::vector<std::int64_t>{});
  builder.list("gaps").integers(std::int64_t{1}).nothing();
  builder.list("pairs").bytes(std::vector<std::string>{"a", "b"});
  SchemaInference inference;
  inference.add(builder.encode());
  SequenceExampleBuilder with_pairs_alone;
  with_pairs_alone.list("pairs").bytes(std::vector<std::string>{"c", "d"});
  inference.add(with_pairs_alone.encode());
  const ColumnSchema schema = ColumnSchema::from(inference.schema());
  ASSERT_EQ(schema.size(), 3U);
  for (const ColumnType& type : schema.columns()) {
    EXPECT_EQ(type.ragged_levels, 2) << type.name;
    EXPECT_EQ(type.shape, Shape()) << type.name;
    EXPECT_EQ(type.missing.has_value(), type.name != "pairs") << type.name;
  }
}

}  // namespace
}  // namespace infeed
