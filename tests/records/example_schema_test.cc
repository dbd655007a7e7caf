#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <infeed/records/example_schema.h>
#include <infeed/records/record_reader.h>

#include "records/framed.h"
#include "records/temporary_files.h"
#include "records/thrown_error.h"

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

using ::testing::ElementsAre;
using testing::error_of;

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
  // An empty list is not missing where nothing says so.
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
            "feature 'x' is asked for twice");
}

TEST(ExampleSchema, errors_of_a_record_say_where_it_lies) {
  const testing::TemporaryFolder folder;
  const auto schema = sample_schema();
  const auto file =
      folder.write("x", testing::frame({schema.encode({{1, 2, 3, 4}, 9}), "rubbish"}));
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

}  // namespace
}  // namespace infeed
