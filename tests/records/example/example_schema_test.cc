#include <limits>

#include <infeed/records/example_schema.h>
#include <infeed/records/record_reader.h>

#include "records/temporary_files.h"
#include "records/tfrecord/framed.h"
#include "thrown_error.h"

namespace infeed {

struct Celsius {
  double degrees = 0;
};

template <>
struct FeatureCodec<Celsius> {
  static constexpr bool kMayBeMissing = false;
  static void decode(const FeatureView& view, Celsius& out) {
    view.read_floats(std::span(&out.degrees, 1));
  }
  static void encode(const std::string& name, const Celsius& value, ExampleBuilder& builder) {
    builder.floats(name, static_cast<float>(value.degrees));
  }
};

namespace {

struct Sample {
  std::array<std::uint8_t, 4> image{};
  std::int64_t label = 0;
};

ExampleSchema<Sample> sample_schema() {
  return ExampleSchema<Sample>().feature("image", &Sample::image).feature("label", &Sample::label);
}

TEST(ExampleSchema, goes_both_ways) {
  const auto schema = sample_schema();
  const std::string bytes = schema.encode({{1, 2, 3, 4}, 9});
  EXPECT_EQ(bytes, ExampleBuilder().bytes("image", "\1\2\3\4").integers("label", 9).encode());
  const Sample sample = schema.parse(bytes);
  EXPECT_THAT(sample.image, ElementsAre(1, 2, 3, 4));
  EXPECT_EQ(sample.label, 9);
  EXPECT_THAT(schema.names(), ElementsAre("image", "label"));
}

struct Everything {
  bool flag = false;
  std::int8_t tiny = 0;
  std::uint64_t huge = 0;
  float real = 0;
  double wide = 0;
  std::string text;
  Record view;
  std::vector<std::uint8_t> blob;
  std::vector<std::byte> raw;
  std::array<std::int32_t, 3> triple{};
  std::array<double, 2> pair{};
  std::array<std::string, 2> words{};
  std::vector<std::int64_t> list;
  std::vector<float> reals;
  std::vector<bool> flags;
  std::vector<std::string> lines;
  std::optional<float> maybe;
  std::optional<std::string> perhaps;
  Celsius temperature;
};

ExampleSchema<Everything> everything_schema() {
  using E = Everything;
  ExampleSchema<E> schema;
  schema.feature("flag", &E::flag).feature("tiny", &E::tiny).feature("huge", &E::huge);
  schema.feature("real", &E::real).feature("wide", &E::wide).feature("text", &E::text);
  schema.feature("view", &E::view).feature("blob", &E::blob).feature("raw", &E::raw);
  schema.feature("triple", &E::triple).feature("pair", &E::pair).feature("words", &E::words);
  schema.feature("list", &E::list).feature("reals", &E::reals).feature("flags", &E::flags);
  schema.feature("lines", &E::lines).feature("maybe", &E::maybe);
  schema.feature("perhaps", &E::perhaps).feature("temperature", &E::temperature);
  return schema;
}

TEST(ExampleSchema, parses_into_columns) {
  const auto schema = sample_schema();
  std::vector<std::array<std::uint8_t, 4>> images(3);
  std::vector<std::int64_t> labels(3);
  const std::array<void*, 2> columns = {images.data(), labels.data()};
  for (std::uint8_t i = 0; i < 3; ++i) {
    schema.parse_row(Record(schema.encode({{i, 1, 2, 3}, 10 * i})), i, columns);
  }
  EXPECT_THAT(labels, ElementsAre(0, 10, 20));
  EXPECT_THAT(images[2], ElementsAre(2, 1, 2, 3));
  EXPECT_EQ(error_of([&] { schema.parse_row(Record("x"), 0, columns); }).code(),
            ErrorCode::data_loss);
  EXPECT_EQ(error_of([&] { schema.parse_row(Record(), 0, std::span(columns).first(1)); }).message(),
            "1 columns are given, but the schema has 2: 'image', 'label'");
  const auto layout = schema.columns();
  ASSERT_EQ(layout.size(), 2U);
  EXPECT_EQ(layout[0].name, "image");
  EXPECT_EQ(layout[0].size_bytes, 4U);
  EXPECT_EQ(layout[1].alignment, alignof(std::int64_t));
}

TEST(ExampleSchema, every_kind_of_member) {
  const auto schema = everything_schema();
  Everything in;
  in.flag = true;
  in.tiny = -128;
  in.huge = 1;
  in.real = 1.5F;
  in.wide = 2.5;
  in.text = "text";
  in.view = Record("view");
  in.blob = {0, 255};
  in.raw = {std::byte{7}};
  in.triple = {1, -2, 3};
  in.pair = {0.5, 0.25};
  in.words = {"x", ""};
  in.list = {1, 2, 3, 4};
  in.reals = {1, 2};
  in.flags = {true, false};
  in.lines = {"one", "two"};
  in.perhaps = "yes";
  in.temperature = {36.5};
  const Record record(schema.encode(in));
  const Everything out = schema.parse(record);
  EXPECT_EQ(out.flag, true);
  EXPECT_EQ(out.tiny, -128);
  EXPECT_EQ(out.huge, 1U);
  EXPECT_EQ(out.real, 1.5F);
  EXPECT_EQ(out.wide, 2.5);
  EXPECT_EQ(out.text, "text");
  EXPECT_EQ(out.view.bytes(), "view");
  EXPECT_GE(out.view.bytes().data(), record.bytes().data()) << "a view, not a copy";
  EXPECT_LE(out.view.bytes().data(), record.bytes().data() + record.size());
  EXPECT_EQ(out.blob, in.blob);
  EXPECT_EQ(out.raw, in.raw);
  EXPECT_EQ(out.triple, in.triple);
  EXPECT_EQ(out.pair, in.pair);
  EXPECT_EQ(out.words, in.words);
  EXPECT_EQ(out.list, in.list);
  EXPECT_EQ(out.reals, in.reals);
  EXPECT_EQ(out.flags, in.flags);
  EXPECT_EQ(out.lines, in.lines);
  EXPECT_EQ(out.maybe, std::nullopt);
  EXPECT_EQ(out.perhaps, "yes");
  EXPECT_EQ(out.temperature.degrees, 36.5);
}

TEST(ExampleSchema, lists_and_optionals_may_be_missing) {
  struct Loose {
    std::vector<std::int64_t> list = {1};
    std::optional<std::int64_t> maybe = 1;
    std::int64_t number = 0;
  };
  const auto schema = ExampleSchema<Loose>()
                          .feature("list", &Loose::list)
                          .feature("maybe", &Loose::maybe)
                          .feature("number", &Loose::number, 7);
  const std::span<const std::int64_t> none;
  for (const std::string& bytes :
       {std::string(),
        ExampleBuilder().integers("maybe", none).integers("number", none).encode()}) {
    const Loose loose = schema.parse(bytes);
    EXPECT_TRUE(loose.list.empty());
    EXPECT_EQ(loose.maybe, std::nullopt);
    EXPECT_EQ(loose.number, 7);
  }
  EXPECT_EQ(schema.parse(ExampleBuilder().integers("number", 3).encode()).number, 3);
}

TEST(ExampleSchema, messages_teach) {
  const auto schema = sample_schema();
  EXPECT_EQ(error_of([&] {
              schema.parse(ExampleBuilder().bytes("image", "abcd").integers("lable", 1).encode());
            }).message(),
            "feature 'label' is required but could not be found; the record has 'image' (bytes), "
            "'lable' (integers)");
  EXPECT_EQ(error_of([&] { schema.parse(""); }).message(),
            "feature 'image' is required but could not be found; the record has no features");
  EXPECT_EQ(error_of([&] {
              schema.parse(ExampleBuilder().bytes("image", "abc").integers("label", 1).encode());
            }).message(),
            "feature 'image' has 3 bytes, but 4 are wanted");
  // An empty list is not missing unless the schema says so.
  EXPECT_EQ(error_of([&] {
              schema.parse(ExampleBuilder()
                               .bytes("image", "abcd")
                               .integers("label", std::span<const std::int64_t>())
                               .encode());
            }).message(),
            "feature 'label' holds 0 values, but 1 is wanted");
  EXPECT_EQ(error_of([] {
              ExampleSchema<Sample>().feature("x", &Sample::label).feature("x", &Sample::label);
            }).message(),
            "feature 'x' is given twice, as features 0 and 1 (from 0 on); leave one out, or give "
            "it another name");
}

struct Grid {
  std::vector<std::vector<std::int64_t>> rows;
  std::vector<std::vector<std::string>> words;
  std::int64_t label = 0;
};

TEST(ExampleSchema, a_ragged_feature_is_cut_by_another) {
  const auto schema = ExampleSchema<Grid>()
                          .ragged("values", RowSplits{"splits"}, &Grid::rows)
                          .feature("label", &Grid::label, 7)
                          .ragged("words", RowLengths{"lengths"}, &Grid::words);
  const Grid in = {{{1, 2}, {}, {3}}, {{"a"}, {"b", "c"}}, 9};
  const std::string bytes = schema.encode(in);
  EXPECT_EQ(bytes, ExampleBuilder()
                       .integers("values", std::array<std::int64_t, 3>{1, 2, 3})
                       .integers("splits", std::array<std::int64_t, 4>{0, 2, 2, 3})
                       .integers("label", 9)
                       .bytes("words", std::array<std::string_view, 3>{"a", "b", "c"})
                       .integers("lengths", std::array<std::int64_t, 2>{1, 2})
                       .encode());
  for (const std::string& example : {bytes, schema.encode({})}) {
    const Grid out = schema.parse(example);
    EXPECT_EQ(out.rows, example == bytes ? in.rows : Grid().rows);
    EXPECT_EQ(out.words, example == bytes ? in.words : Grid().words);
  }
  EXPECT_TRUE(schema.parse("").rows.empty());
  EXPECT_EQ(schema.parse("").label, 7);
  EXPECT_THAT(schema.names(), ElementsAre("values", "splits", "label", "words", "lengths"));

  RowColumn<std::vector<std::vector<std::int64_t>>> rows;
  RowColumn<std::vector<std::vector<std::string>>> words;
  RowColumn<std::int64_t> labels;
  const std::array<void*, 3> columns = {&rows, &labels, &words};
  for (std::size_t i = 0; i < 2; ++i) schema.append_row(Record(bytes), i, columns);
  EXPECT_THAT(rows.values.values(), ElementsAre(1, 2, 3, 1, 2, 3));
  EXPECT_THAT(rows.inner_splits.values(), ElementsAre(0, 2, 2, 3, 5, 5, 6));
  EXPECT_THAT(rows.row_splits.values(), ElementsAre(0, 3, 6));
  EXPECT_THAT(words.inner_splits.values(), ElementsAre(0, 1, 3, 4, 6));
  EXPECT_THAT(labels.values.values(), ElementsAre(9, 9));
}

TEST(ExampleSchema, ragged_features_share_a_partition) {
  const auto schema = ExampleSchema<Grid>()
                          .ragged("values", RowLengths{"lengths"}, &Grid::rows)
                          .feature("label", &Grid::label)
                          .ragged("words", RowLengths{"lengths"}, &Grid::words);
  EXPECT_THAT(schema.names(), ElementsAre("values", "lengths", "label", "words"));
  const Grid in = {{{1, 2}, {3}}, {{"a", "b"}, {"c"}}, 9};
  const std::string bytes = schema.encode(in);
  EXPECT_EQ(bytes, ExampleBuilder()
                       .integers("values", std::array<std::int64_t, 3>{1, 2, 3})
                       .integers("lengths", std::array<std::int64_t, 2>{2, 1})
                       .integers("label", 9)
                       .bytes("words", std::array<std::string_view, 3>{"a", "b", "c"})
                       .encode());
  const Grid out = schema.parse(bytes);
  EXPECT_EQ(out.rows, in.rows);
  EXPECT_EQ(out.words, in.words);
  EXPECT_EQ(out.label, 9);

  RowColumn<std::vector<std::vector<std::int64_t>>> rows;
  RowColumn<std::vector<std::vector<std::string>>> words;
  RowColumn<std::int64_t> labels;
  const std::array<void*, 3> columns = {&rows, &labels, &words};
  for (std::size_t i = 0; i < 2; ++i) schema.append_row(Record(bytes), i, columns);
  EXPECT_THAT(rows.inner_splits.values(), ElementsAre(0, 2, 3, 5, 6));
  EXPECT_THAT(words.inner_splits.values(), ElementsAre(0, 2, 3, 5, 6));

  EXPECT_EQ(error_of([&] {
              schema.encode({{{1}}, {{"a", "b"}}, 9});
            }).message(),
            "feature 'lengths' can't cut several features into inner sequences of different "
            "lengths; give each of them a partition of its own");
}

TEST(ExampleSchema, partitions_that_do_not_fit_say_why) {
  const auto message = [](bool has_splits, std::vector<std::int64_t> cuts) {
    ExampleSchema<Grid> schema;
    if (has_splits) {
      schema.ragged("v", RowSplits{"p"}, &Grid::rows);
    } else {
      schema.ragged("v", RowLengths{"p"}, &Grid::rows);
    }
    ExampleBuilder builder;
    builder.integers("v", std::array<std::int64_t, 3>{1, 2, 3});
    if (!cuts.empty()) builder.integers("p", std::span<const std::int64_t>(cuts));
    const std::string bytes = builder.encode();
    return error_of([&] { schema.parse(bytes); }).message();
  };
  const std::string begin = "feature 'p' can't cut the 3 values of feature 'v': ";
  EXPECT_EQ(message(true, {}), begin + "it could not be found");
  EXPECT_EQ(message(true, {1, 3}), begin + "its first split is 1, not 0");
  EXPECT_EQ(message(true, {0, 2, 1, 3}), begin + "its split 2 is 1, behind 2");
  EXPECT_EQ(message(false, {2, -1}), begin + "its length 1 is -1");
  EXPECT_EQ(message(false, {2, 5}), begin + "sequence 1 would end behind them");
  EXPECT_EQ(message(false, {2}), begin + "its sequences have only 2");
}

TEST(ExampleSchema, errors_of_a_record_say_where_it_lies) {
  const TemporaryFolder folder;
  const auto schema = sample_schema();
  const auto file = folder.write("x", test::frame({schema.encode({{1, 2, 3, 4}, 9}), "rubbish"}));
  RecordReader reader(file);
  Record record;
  ASSERT_TRUE(reader.next(record));
  EXPECT_EQ(schema.parse(record).label, 9);
  ASSERT_TRUE(reader.next(record));
  const Error error = error_of([&] { schema.parse(record); });
  EXPECT_EQ(error.code(), ErrorCode::data_loss);
  EXPECT_EQ(error.file(), file);
  EXPECT_EQ(error.record(), 1U);
  EXPECT_EQ(error.offset(), record.offset());
}

struct WideNumbers {
  std::uint64_t id;
  double weight;
  std::vector<double> weights;
};

/// They became other numbers: negative ones, and infinity.
TEST(ExampleSchema, NumbersThatFeaturesDontHoldAreRefused) {
  const auto schema = ExampleSchema<WideNumbers>()
                          .feature("id", &WideNumbers::id)
                          .feature("weight", &WideNumbers::weight)
                          .feature("weights", &WideNumbers::weights);
  const auto message = [&](const WideNumbers& row) {
    const Error error = error_of([&] { schema.encode(row); });
    EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
    return error.message();
  };
  constexpr std::uint64_t kLargest = std::numeric_limits<std::int64_t>::max();
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  EXPECT_THAT(message({kLargest + 1, 0, {}}),
              HasSubstr("feature 'id' can't hold 9223372036854775808"));
  EXPECT_THAT(message({0, 1e39, {}}), HasSubstr("'weight' can't hold 1e+39"));
  EXPECT_THAT(message({0, 0, {1, -1e300}}), HasSubstr("'weights' can't hold -1e+300"));
  const WideNumbers read = schema.parse(schema.encode({kLargest, kInfinity, {0.5, -kInfinity}}));
  EXPECT_EQ(read.id, kLargest);
  EXPECT_EQ(read.weight, kInfinity);
  EXPECT_THAT(read.weights, ElementsAre(0.5, -kInfinity));
}

}  // namespace
}  // namespace infeed
