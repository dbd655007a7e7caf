#include <algorithm>
#include <chrono>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <infeed/records/inferred_schema.h>

#include "cpu_time.h"
#include "records/temporary_files.h"
#include "records/tfrecord/framed.h"
#include "thrown_error.h"

namespace infeed {
namespace {

std::string image(std::int64_t label, std::size_t words) {
  return ExampleBuilder()
      .bytes("image", std::string(784, 'x'))
      .integers("label", label)
      .bytes("words", std::vector<std::string>(words, std::string(words, 'w')))
      .encode();
}

TEST(InferredSchema, says_kind_counts_and_presence) {
  SchemaInference inference;
  inference.add(image(3, 0));
  inference.add(image(4, 7));
  inference.add(ExampleBuilder().bytes("image", std::string(784, 'y')).floats("label", 1).encode());
  inference.add("no Example at all");
  const InferredSchema schema = inference.schema();
  EXPECT_EQ(schema.records, 4U);
  EXPECT_EQ(schema.opaque_records, 1U);
  ASSERT_EQ(schema.features.size(), 3U);
  EXPECT_EQ(schema.features[0].name, "image");
  EXPECT_EQ(schema.features[0].examples, 3U);
  EXPECT_TRUE(schema.features[0].is_fixed_length());
  EXPECT_EQ(schema.features[0].value_bytes, (ValueRange{784, 784}));
  EXPECT_EQ(schema.features[1].kind, FeatureKind::integers);
  EXPECT_EQ(schema.features[1].other_kinds, 1U);
  EXPECT_FALSE(schema.features[2].is_fixed_length());
  EXPECT_EQ(schema.features[2].value_count, (ValueRange{0, 7}));
  EXPECT_EQ(schema.to_text(),
            "3 records of 4 are Examples\n"
            "  image  bytes     1 value of 784 bytes\n"
            "  label  integers  1 value; of another kind in 1\n"
            "  words  bytes     0 to 7 values of 7 bytes; in 2 records\n");
  EXPECT_EQ(schema.to_json(),
            R"({"records":4,"opaque_records":1,"features":[)"
            R"({"name":"image","examples":3,"kind":"bytes","other_kinds":0,"values":3,)"
            R"("value_count_min":1,"value_count_max":1,"value_bytes_min":784,)"
            R"("value_bytes_max":784,"is_fixed_length":true},)"
            R"({"name":"label","examples":2,"kind":"integers","other_kinds":1,"values":2,)"
            R"("value_count_min":1,"value_count_max":1,"is_fixed_length":true},)"
            R"({"name":"words","examples":2,"kind":"bytes","other_kinds":0,"values":7,)"
            R"("value_count_min":0,"value_count_max":7,"value_bytes_min":7,"value_bytes_max":7,)"
            R"("is_fixed_length":false}],"feature_lists":[]})");
}

InferredFeature feature_of(std::string name, std::optional<FeatureKind> kind, ValueRange count,
                           ValueRange bytes = {}) {
  InferredFeature feature;
  feature.name = std::move(name);
  feature.kind = kind;
  feature.examples = 8;
  feature.values = 9;
  feature.value_count = count;
  feature.value_bytes = bytes;
  return feature;
}

TEST(InferredSchema, texts_of_ranges_and_presence) {
  InferredSchema schema;
  schema.records = 10;
  schema.opaque_records = 2;
  schema.features = {feature_of("a", FeatureKind::bytes, {1, 1}, {1, 1}),
                     feature_of("b", FeatureKind::bytes, {2, 2}, {0, 0}),
                     feature_of("c", FeatureKind::bytes, {0, 1}, {0, 9}),
                     feature_of("d", FeatureKind::bytes, {0, 0}),
                     feature_of("e", FeatureKind::floats, {3, 3}),
                     feature_of("f", FeatureKind::integers, {1, 1})};
  schema.features[4].examples = 7;
  schema.features[4].other_kinds = 1;
  schema.features[5].examples = 6;
  schema.features[5].other_kinds = 1;
  EXPECT_EQ(schema.to_text(),
            "8 records of 10 are Examples\n"
            "  a  bytes     1 value of 1 byte\n"
            "  b  bytes     2 values of 0 bytes\n"
            "  c  bytes     0 to 1 values of 0 to 9 bytes\n"
            "  d  bytes     0 values\n"
            "  e  floats    3 values; of another kind in 1\n"
            "  f  integers  1 value; in 7 records; of another kind in 1\n");
  schema.features.clear();
  InferredFeatureList list;
  list.name = "empty";
  list.examples = 8;
  list.step_count = {0, 1};
  list.empty_steps = 1;
  schema.lists = {list};
  schema.lists.push_back({});
  schema.lists.back().name = "none";
  EXPECT_EQ(schema.to_text(),
            "8 records of 10 are SequenceExamples\n"
            "  empty  none      0 to 1 steps of no values\n"
            "  none   none      no steps of no values; in 0 records\n");
  EXPECT_EQ(schema.to_json(),
            R"({"records":10,"opaque_records":2,"features":[],"feature_lists":[)"
            R"({"name":"empty","examples":8,"step_count_min":0,"step_count_max":1,"kind":null,)"
            R"("other_kinds":0,"values":0,"is_fixed_length":false},)"
            R"({"name":"none","examples":0,"kind":null,"other_kinds":0,"values":0,)"
            R"("is_fixed_length":false}]})");
}

TEST(InferredSchema, lengths_are_fixed_where_each_is_the_same) {
  const auto is_fixed = [](ValueRange count, ValueRange bytes = {}) {
    return feature_of("x", FeatureKind::bytes, count, bytes).is_fixed_length();
  };
  EXPECT_TRUE(is_fixed({0, 0}));
  EXPECT_TRUE(is_fixed({2, 2}));
  EXPECT_TRUE(is_fixed({2, 2}, {5, 5}));
  EXPECT_FALSE(is_fixed({2, 2}, {5, 6}));
  EXPECT_FALSE(is_fixed({2, 3}, {5, 5}));
  EXPECT_FALSE(InferredFeature().is_fixed_length());
}

TEST(InferredSchema, names_are_aligned_up_to_64_bytes) {
  const auto text = [](std::size_t size) {
    InferredSchema schema;
    schema.records = 8;
    schema.features = {feature_of("a", FeatureKind::floats, {1, 1}),
                       feature_of(std::string(size, 'b'), FeatureKind::floats, {1, 1})};
    return schema.to_text();
  };
  for (const std::size_t size : {2U, 64U, 65U}) {
    const std::string blanks(std::min<std::size_t>(size, 64) - 1, ' ');
    EXPECT_EQ(text(size), "8 records of 8 are Examples\n  a" + blanks + "  floats    1 value\n  " +
                              std::string(size, 'b') + "  floats    1 value\n");
  }
}

TEST(InferredSchema, knows_feature_lists) {
  SchemaInference inference;
  for (const int steps : {2, 5}) {
    SequenceExampleBuilder builder;
    builder.context().integers("label", 1);
    FeatureListBuilder& frames = builder.list("frames");
    for (int i = 0; i < steps; ++i) frames.floats(std::vector<float>(3, 0.5F));
    if (steps == 5) builder.list("odd").nothing().integers(1).bytes("x");
    inference.add(builder.encode());
  }
  const InferredSchema schema = inference.schema();
  ASSERT_EQ(schema.lists.size(), 2U);
  EXPECT_EQ(schema.lists[0].step_count, (ValueRange{2, 5}));
  EXPECT_TRUE(schema.lists[0].steps.is_fixed_length());
  EXPECT_EQ(schema.lists[1].steps.other_kinds, 1U);
  EXPECT_EQ(schema.to_text(),
            "2 records of 2 are SequenceExamples\n"
            "  label   integers  1 value\n"
            "  frames  floats    2 to 5 steps of 3 values\n"
            "  odd     integers  3 steps of 1 value; in 1 records; 1 steps of another kind\n");
  EXPECT_THAT(schema.to_json(),
              HasSubstr(R"("feature_lists":[{"name":"frames","examples":2,"step_count_min":2,)"
                        R"("step_count_max":5,"kind":"floats","other_kinds":0,"values":21,)"));
}

TEST(InferredSchema, a_damaged_record_counts_nowhere_else) {
  SequenceExampleBuilder builder;
  builder.context().integers("label", 1);
  builder.list("frames").bytes("x");
  std::string bytes = builder.encode();
  bytes[bytes.size() - 2] = '\x7f';  // the value passes its end
  SchemaInference inference;
  inference.add(bytes);
  EXPECT_EQ(inference.schema().opaque_records, 1U);
  EXPECT_TRUE(inference.schema().features.empty());
  EXPECT_TRUE(inference.schema().lists.empty());
}

TEST(InferredSchema, merging_is_looking_at_both) {
  SchemaInference first, second, both;
  for (const std::string& bytes : {image(1, 2), std::string("rubbish")}) {
    first.add(bytes);
    both.add(bytes);
  }
  SequenceExampleBuilder builder;
  builder.context().integers("other", 1).floats("label", 1);
  builder.list("steps").integers(5);
  for (const std::string& bytes : {image(1, 5), builder.encode(), builder.encode()}) {
    second.add(bytes);
    both.add(bytes);
  }
  first.merge(second);
  EXPECT_EQ(first.schema().to_json(), both.schema().to_json());
  first.add(image(2, 9));
  both.add(image(2, 9));
  EXPECT_EQ(first.schema().to_json(), both.schema().to_json());
}

TEST(InferredSchema, merging_counts_what_differs) {
  SchemaInference first, second;
  SequenceExampleBuilder one;
  one.context().integers("label", 1);
  one.list("steps").nothing().integers(5);
  first.add(one.encode());
  SequenceExampleBuilder other;
  other.context().floats("label", 1);
  other.list("steps").nothing().nothing();
  second.add(other.encode());
  second.add(ExampleBuilder().floats("label", 1).encode());
  second.add(ExampleBuilder().bytes("label", "x").encode());
  second.add("rubbish");
  first.merge(second);
  const InferredSchema schema = first.schema();
  EXPECT_EQ(schema.records, 5U);
  EXPECT_EQ(schema.opaque_records, 1U);
  ASSERT_EQ(schema.features.size(), 1U);
  EXPECT_EQ(schema.features[0].kind, FeatureKind::integers);
  EXPECT_EQ(schema.features[0].examples, 1U);
  EXPECT_EQ(schema.features[0].values, 1U);
  EXPECT_EQ(schema.features[0].other_kinds, 3U);
  ASSERT_EQ(schema.lists.size(), 1U);
  EXPECT_EQ(schema.lists[0].examples, 2U);
  EXPECT_EQ(schema.lists[0].step_count, (ValueRange{2, 2}));
  EXPECT_EQ(schema.lists[0].empty_steps, 3U);
}

/// New names in each record took as long as all names before them: 18 s.
TEST(InferredSchema, new_names_in_each_record_cost_no_more) {
  const auto begin = test::process_cpu_time();
  SchemaInference inference;
  for (int i = 0; i < 30'000; ++i) {
    inference.add(
        ExampleBuilder().integers("label", i).integers("new " + std::to_string(i), 1).encode());
  }
  const InferredSchema schema = inference.schema();
  EXPECT_LT(test::process_cpu_time() - begin, std::chrono::seconds(3));
  ASSERT_EQ(schema.features.size(), 30'001U);
  EXPECT_EQ(schema.features[0].name, "label");
  EXPECT_EQ(schema.features[0].examples, 30'000U);
  EXPECT_EQ(schema.features[30'000].examples, 1U);
}

/// Names are kept for good, whatever record or list or other inference they belong to.
TEST(InferredSchema, so_many_names_are_kept) {
  const auto fails = [](auto function) {
    const Error error = error_of(function);
    EXPECT_EQ(error.code(), ErrorCode::resource_exhausted);
    EXPECT_THAT(error.message(), HasSubstr("there are 65537 columns with "));
  };
  SchemaInference features, lists, more;
  for (int record = 0; record < 64; ++record) {
    ExampleBuilder feature_builder;
    SequenceExampleBuilder list_builder;
    for (int i = 0; i < 1024; ++i) {
      const std::string name = std::to_string(record * 1024 + i);
      feature_builder.integers(name, 1);
      list_builder.list(name).integers(1);
    }
    features.add(feature_builder.encode());
    lists.add(list_builder.encode());
  }
  SequenceExampleBuilder builder;
  builder.context().integers("one more", 1);
  more.add(builder.encode());
  fails([&] { features.merge(more); });
  fails([&] { features.add(builder.encode()); });
  builder.list("one more list").integers(1);
  more.add(builder.encode());
  fails([&] { lists.merge(more); });
  fails([&] { lists.add(builder.encode()); });
}

TEST(InferredSchema, so_many_bytes_of_names_are_kept) {
  const auto named = [](std::size_t bytes, char c) {
    SequenceExampleBuilder builder;
    builder.context().integers(std::string(bytes, c), 1);
    builder.list(std::string(bytes, c)).integers(1);
    return builder.encode();
  };
  constexpr std::size_t kHalf = std::size_t{8} << 20;
  SchemaInference inference;
  inference.add(named(kHalf, 'a'));
  SchemaInference fitting, larger;
  fitting.add(named(kHalf, 'b'));
  larger.add(named(kHalf + 1, 'b'));
  const auto refusal = [](SchemaInference into, const SchemaInference& later) {
    const Error error = error_of([&] { into.merge(later); });
    EXPECT_EQ(error.code(), ErrorCode::resource_exhausted);
    return error.message();
  };
  EXPECT_THAT(refusal(inference, larger),
              HasSubstr("there are 2 columns with 16777217 bytes of names"));
  inference.merge(fitting);
  SchemaInference one_more;
  one_more.add(ExampleBuilder().integers("c", 1).encode());
  EXPECT_THAT(refusal(inference, one_more),
              HasSubstr("there are 3 columns with 16777217 bytes of names"));
  SequenceExampleBuilder list;
  list.list("d").integers(1);
  SchemaInference one_more_list;
  one_more_list.add(list.encode());
  EXPECT_THAT(refusal(inference, one_more_list),
              HasSubstr("there are 3 columns with 16777217 bytes of names"));
}

/// A name of a megabyte would widen each line of the others.
TEST(InferredSchema, one_long_name_widens_no_other_line) {
  SchemaInference inference;
  ExampleBuilder builder;
  builder.integers(std::string(1 << 20, 'n'), 1);
  for (int i = 0; i < 300; ++i) builder.integers("short " + std::to_string(i), 1);
  inference.add(builder.encode());
  EXPECT_LT(inference.schema().to_text().size(), std::size_t{2} << 20);
}

TEST(InferredSchema, names_of_any_bytes_make_json) {
  SchemaInference inference;
  inference.add(ExampleBuilder().integers("a\"\\\n\xff\xc3\xa9", 1).encode());
  EXPECT_THAT(inference.schema().to_json(),
              HasSubstr("\"name\":\"a\\\"\\\\\\u000a\\u00ff\xc3\xa9\""));
  const auto json_of = [](std::string name) {
    InferredSchema schema;
    schema.features = {feature_of(std::move(name), FeatureKind::floats, {1, 1})};
    const std::string json = schema.to_json();
    const std::size_t begin = json.find("\"name\":\"") + 8;
    return json.substr(begin, json.find("\",\"examples\"") - begin);
  };
  EXPECT_EQ(json_of(" ~\xc2\x80\xe2\x82\xac\xf0\x9f\x98\x80"),
            " ~\xc2\x80\xe2\x82\xac\xf0\x9f\x98\x80");
  EXPECT_EQ(json_of("\x1f\x7f"), "\\u001f\\u007f");
  EXPECT_EQ(json_of("\xc2"), "\\u00c2") << "cut";
  EXPECT_EQ(json_of("\xed\xa0\x80"), "\\u00ed\\u00a0\\u0080") << "a surrogate";
}

TEST(InferredSchema, looks_at_the_first_records_of_files) {
  const TemporaryFolder folder;
  const std::vector<std::string> files = {
      folder.write("a", test::frame({image(1, 1), image(2, 1)})),
      folder.write("b", test::frame({image(3, 1), image(4, 4)}))};
  EXPECT_EQ(infer_schema(files).records, 4U);
  EXPECT_EQ(infer_schema(files, {.records_max = 0}).features[2].value_count, (ValueRange{1, 4}));
  const InferredSchema three = infer_schema(files, {.records_max = 3});
  EXPECT_EQ(three.records, 3U);
  EXPECT_TRUE(three.features[2].is_fixed_length());
  EXPECT_EQ(infer_schema({files[0], folder.file("none")}, {.records_max = 2}).records, 2U)
      << "files behind them aren't opened";
}

}  // namespace
}  // namespace infeed
