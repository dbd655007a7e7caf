#include <algorithm>
#include <array>
#include <chrono>
#include <fmt/format.h>

#include <infeed/records/example.h>

#include "cpu_time.h"
#include "example.pb.h"
#include "records/example/wire_writer.h"
#include "seeded_random.h"
#include "thrown_error.h"

namespace infeed {
namespace {

using namespace std::string_literals;
using test::bytes_field;
using test::varint;
using test::varint_field;

std::string entry(const std::string& name, const std::string& feature) {
  return bytes_field(1, bytes_field(1, name) + bytes_field(2, feature));
}
std::string example(const std::string& entries) { return bytes_field(1, entries); }
std::string integer_list(const std::string& packed) {
  return bytes_field(3, bytes_field(1, packed));
}

std::vector<std::int64_t> integers_of(const std::string& bytes, const std::string& name = "a") {
  const ExampleParser parser({name});
  std::array<FeatureView, 1> views;
  parser.parse(bytes, views);
  std::vector<std::int64_t> values;
  views[0].append_integers(values);
  return values;
}

TEST(ExampleBuilder, gives_the_bytes_of_protobuf) {
  reference::Example message;
  auto& features = *message.mutable_features()->mutable_feature();
  for (const char* value : {"hello", "", "x"}) {
    features["words"].mutable_bytes_list()->add_value(value);
  }
  for (const std::int64_t value : {0L, 1L, 127L, 128L, -1L, INT64_MIN, INT64_MAX}) {
    features["numbers"].mutable_int64_list()->add_value(value);
  }
  for (const float value : {0.0F, -1.5F, 1e30F}) {
    features["floats"].mutable_float_list()->add_value(value);
  }
  features["empty"].mutable_int64_list();
  std::string expected;
  {
    google::protobuf::io::StringOutputStream stream(&expected);
    google::protobuf::io::CodedOutputStream coded(&stream);
    coded.SetSerializationDeterministic(true);
    message.SerializeToCodedStream(&coded);
  }
  const std::array<std::int64_t, 7> numbers = {0, 1, 127, 128, -1, INT64_MIN, INT64_MAX};
  const std::array<float, 3> floats = {0.0F, -1.5F, 1e30F};
  const std::array<std::string_view, 3> words = {"hello", "", "x"};
  const std::string bytes = ExampleBuilder()
                                .bytes("words", words)
                                .integers("numbers", numbers)
                                .integers("empty", std::span<const std::int64_t>())
                                .floats("floats", floats)
                                .encode();
  EXPECT_EQ(bytes, expected);
}

TEST(ExampleBuilder, refuses_a_name_given_twice_and_can_be_used_again) {
  ExampleBuilder builder;
  builder.integers("a", 1).floats("a", 2);
  EXPECT_EQ(error_of([&] { builder.encode(); }).message(), "feature 'a' was given twice");
  builder.clear();
  EXPECT_EQ(integers_of(builder.integers("a", 7).encode()), std::vector<std::int64_t>{7});
}

TEST(ExampleParser, finds_features_whatever_their_order) {
  for (const auto& wanted : std::vector<std::vector<std::string>>{
           {"a", "b", "c"}, {"c", "a", "b"}, {"b"}, {"d", "c"}, {"c", "b"}}) {
    const ExampleParser parser(wanted);
    for (const std::string& order : {"abc"s, "cba"s, "bca"s}) {
      std::string entries;
      for (const char c : order) entries += entry({c}, integer_list({c}));
      std::vector<FeatureView> views(wanted.size());
      const std::string bytes = example(entries);
      parser.parse(bytes, views);
      for (const FeatureView& view : views) {
        if (view.name() == "d") {
          EXPECT_FALSE(view.is_present());
        } else {
          std::int64_t value = 0;
          view.read_integers(std::span(&value, 1));
          EXPECT_EQ(value, view.name()[0]);
        }
      }
    }
  }
}

TEST(ExampleParser, odd_but_legal_encodings) {
  const auto a = [](const std::string& feature) {
    return integers_of(example(entry("a", feature)));
  };
  EXPECT_THAT(a(integer_list("\1\2")), ElementsAre(1, 2));
  // Two packed pieces; packed, then not; not packed at all.
  EXPECT_THAT(a(bytes_field(3, bytes_field(1, "\1") + bytes_field(1, "\2"))), ElementsAre(1, 2));
  EXPECT_THAT(a(bytes_field(3, bytes_field(1, "\1") + varint_field(1, 2))), ElementsAre(1, 2));
  EXPECT_THAT(a(bytes_field(3, varint_field(1, 1) + varint_field(1, 2))), ElementsAre(1, 2));
  // The list itself in two pieces, with another kind before it that is forgotten.
  EXPECT_THAT(a(integer_list("\1") + integer_list("\2")), ElementsAre(1, 2));
  EXPECT_THAT(a(integer_list("\7") + bytes_field(1, bytes_field(1, "x")) + integer_list("\2")),
              ElementsAre(2));
  // The value before the name; the value in two pieces; unknown fields at every level.
  EXPECT_THAT(
      integers_of(example(bytes_field(1, bytes_field(2, integer_list("\1")) + bytes_field(1, "a") +
                                             bytes_field(2, integer_list("\2"))))),
      ElementsAre(1, 2));
  const std::string unknown = varint_field(9, 300) + bytes_field(10, "zz") + varint(11 << 3 | 5) +
                              "1234" + varint(12 << 3 | 1) + "12345678" + varint(13 << 3 | 3) +
                              varint_field(1, 1) + varint(13 << 3 | 4);
  EXPECT_THAT(
      integers_of(
          unknown +
          bytes_field(
              1, unknown +
                     bytes_field(
                         1, unknown + bytes_field(1, "a") + unknown +
                                bytes_field(
                                    2, unknown +
                                           bytes_field(3, unknown + varint_field(1, 5) + unknown) +
                                           unknown)) +
                     unknown)),
      ElementsAre(5));
  // The last duplicate wins, also across concatenated Examples.
  EXPECT_THAT(integers_of(example(entry("a", integer_list("\1")) + entry("a", integer_list("\2")))),
              ElementsAre(2));
  EXPECT_THAT(integers_of(example(entry("a", integer_list("\1"))) +
                          example(entry("a", integer_list("\2")))),
              ElementsAre(2));
  // ... even when it is empty.
  EXPECT_THAT(integers_of(example(entry("a", integer_list("\1")) + entry("a", ""))), ElementsAre());
  // No name is the empty name; names may hold NUL.
  EXPECT_THAT(integers_of(example(bytes_field(1, bytes_field(2, integer_list("\3")))), ""),
              ElementsAre(3));
  EXPECT_THAT(integers_of(example(entry("a\0b"s, integer_list("\4"))), "a\0b"s), ElementsAre(4));
  EXPECT_THAT(
      integers_of(example(entry(std::string(300, 'n'), integer_list("\4"))), std::string(300, 'n')),
      ElementsAre(4));
  // Ten bytes for -1, also with surplus bits.
  EXPECT_THAT(a(integer_list(std::string(9, '\xff') + "\x7f")), ElementsAre(-1));
}

TEST(ExampleParser, missing_is_not_an_error_before_a_value_is_asked_for) {
  const ExampleParser parser({"a"});
  std::array<FeatureView, 1> views;
  for (const std::string& bytes :
       {""s, example(""), example(entry("b", integer_list("\1"))), example(entry("a", "")),
        example(bytes_field(1, bytes_field(1, "a")))}) {
    parser.parse(bytes, views);
    EXPECT_FALSE(views[0].is_present());
    EXPECT_EQ(views[0].count(), 0U);
    std::int64_t value = 0;
    EXPECT_EQ(error_of([&] { views[0].read_integers(std::span(&value, 1)); }).message(),
              "feature 'a' is required but could not be found");
  }
}

TEST(ExampleParser, messages_name_feature_kind_and_counts) {
  const ExampleParser parser({"a", "f", "s"});
  std::array<FeatureView, 3> views;
  const std::array<std::int64_t, 2> two = {300, -1};
  const std::string bytes =
      ExampleBuilder().integers("a", two).floats("f", 1.5F).bytes("s", "x").encode();
  parser.parse(bytes, views);
  std::array<std::int64_t, 4> four{};
  std::array<std::uint8_t, 2> small{};
  std::array<std::int64_t, 1> one{};
  EXPECT_EQ(error_of([&] { views[0].read_integers(std::span(four)); }).message(),
            "feature 'a' holds 2 values, but 4 are wanted");
  EXPECT_EQ(error_of([&] { views[0].read_integers(std::span(one)); }).message(),
            "feature 'a' holds 2 values, but 1 is wanted");
  EXPECT_EQ(error_of([&] { views[1].read_integers(std::span(one)); }).message(),
            "feature 'f' holds floats, but integers are wanted");
  EXPECT_EQ(error_of([&] { views[0].single_bytes(); }).message(),
            "feature 'a' holds integers, but bytes are wanted");
  EXPECT_EQ(error_of([&] { views[0].read_integers(std::span(small)); }).message(),
            "feature 'a' holds 300, which is not in the wanted range 0 to 255");
  EXPECT_EQ(error_of([&] {
              ExampleParser({"a", "a"});
            }).message(),
            "feature 'a' is given twice, as features 0 and 1 (from 0 on); leave one out, or give "
            "it another name");
}

TEST(ExampleParser, what_is_no_example_is_data_loss) {
  const auto fails = [](const std::string& bytes) {
    const Error error = error_of([&] { integers_of(bytes); });
    EXPECT_EQ(error.code(), ErrorCode::data_loss);
    EXPECT_THAT(error.what(), HasSubstr("the record is not a valid Example"));
  };
  fails("hello world");
  fails(example(entry("a", bytes_field(3, "\x0a\5\1"s))));                   // list passes its end
  fails(example(entry("a", integer_list(std::string(10, '\xff') + "\1"))));  // eleven bytes
  fails(example(entry("a", integer_list("\x80"))));                          // cut varint
  fails("\x0a\xff\xff\xff\xff\x0f");                                         // length over 2^31
  fails("\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\1");
  fails(varint_field(0, 1));
  fails("\x0c");      // an end of group without a start
  fails("\x0b\x14");  // a group ends with another number
  const auto groups = [](std::size_t depth) {
    return std::string(depth, '\x0b') + std::string(depth, '\x0c');
  };
  fails(groups(101));  // libprotobuf's limit is 100
  integers_of(groups(100) + example(entry("a", integer_list("\1"))));
  fails("\x0e");
  const std::string floats = example(entry("a", bytes_field(2, bytes_field(1, "12345"))));
  const ExampleParser parser({"a"});
  std::array<FeatureView, 1> views;
  parser.parse(floats, views);
  std::array<float, 1> one{};
  EXPECT_THAT(error_of([&] { views[0].read_floats(std::span(one)); }).what(),
              HasSubstr("packed floats are cut"));
}

TEST(ExampleParser, every_truncation_is_an_error) {
  const std::array<float, 3> floats = {1, 2, 3};
  const std::string good =
      ExampleBuilder().integers("a", 300).floats("f", floats).bytes("s", "hello").encode();
  for (std::size_t size = 1; size < good.size(); ++size) {
    EXPECT_EQ(error_of([&] { integers_of(good.substr(0, size)); }).code(), ErrorCode::data_loss);
  }
}

TEST(ExampleParser, a_list_longer_than_its_place_writes_nothing_behind_it) {
  std::string list;
  for (int i = 0; i < 100; ++i) list += varint_field(1, 7);
  const std::string bytes = example(entry("a", bytes_field(3, list)));
  const ExampleParser parser({"a"});
  std::array<FeatureView, 1> views;
  parser.parse(bytes, views);
  std::array<std::int64_t, 4> place = {0, 0, 0, 42};
  EXPECT_THAT(error_of([&] { views[0].read_integers(std::span(place).first(3)); }).message(),
              HasSubstr("holds 100 values, but 3 are wanted"));
  EXPECT_EQ(place[3], 42);
}

TEST(ExampleParser, finds_any_of_many_names_in_any_order) {
  test::SeededRandom random;
  for (const std::size_t count : {2, 17, 256, 257, 258, 20'000}) {
    std::vector<std::string> names;
    for (std::size_t i = 0; i < count; ++i) names.push_back("name " + std::to_string(i));
    std::shuffle(names.begin(), names.end(), random);
    std::vector<std::string> entries;
    for (std::size_t i = 0; i < count; ++i) {
      entries.push_back(entry(names[i], integer_list(varint(i))));
    }
    std::shuffle(entries.begin(), entries.end(), random);
    std::string all;
    for (const std::string& text : entries) all += text;
    const std::string bytes = example(all);
    const ExampleParser parser(names);
    std::vector<FeatureView> views(count);
    parser.parse(bytes, views);
    for (std::size_t i = 0; i < count; ++i) {
      std::size_t value = count;
      views[i].read_integers(std::span(&value, 1));
      ASSERT_EQ(value, i);
    }
    EXPECT_EQ(summarise_example(bytes).size(), count);
  }
}

/// The quick hash looks only at both ends of a name. 40,000 names with the same ends took 20 s.
TEST(ExampleParser, names_that_were_made_to_collide_cost_no_more) {
  constexpr std::size_t kNames = 40'000;
  std::string all;
  for (std::size_t i = 0; i < kNames; ++i) {
    all += entry(fmt::format("the same{:08}the same", i), integer_list(varint(i)));
  }
  const std::string bytes = example(all);
  const auto begin = test::process_cpu_time();
  ExampleParser parser;
  parser.want_features_of(bytes);
  ASSERT_EQ(parser.size(), kNames);
  std::vector<FeatureView> views(kNames);
  EXPECT_EQ(parser.parse(bytes, views), 0U);
  for (std::size_t i = 0; i < kNames; ++i) {
    std::size_t value = kNames;
    views[i].read_integers(std::span(&value, 1));
    ASSERT_EQ(value, i);
  }
  EXPECT_LT(test::process_cpu_time() - begin, std::chrono::seconds(5));
}

TEST(SummariseExample, lists_what_is_there) {
  const auto summary = summarise_example(ExampleBuilder()
                                             .integers("z", 1)
                                             .floats("f", std::span<const float>())
                                             .bytes("b", "x")
                                             .encode());
  ASSERT_EQ(summary.size(), 3U);
  EXPECT_EQ(summary[0].name, "b");
  EXPECT_EQ(summary[1].kind, FeatureKind::floats);
  EXPECT_EQ(summary[1].count, 0U);
  EXPECT_EQ(summary[2].count, 1U);
}

}  // namespace
}  // namespace infeed
