#include "infeed/records/detail/example_shapes.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <gtest/gtest.h>
#include <string>
#include <vector>

#include <infeed/error.h>
#include <infeed/records/detail/usual_form.h>
#include <infeed/records/example_schema.h>

#include "seeded_random.h"

namespace infeed {
namespace {

struct Shaped {
  std::array<float, 3> floats;
  std::int64_t label;
  std::string text;

  bool operator==(const Shaped&) const = default;
};

ExampleSchema<Shaped> shaped_schema() {
  return ExampleSchema<Shaped>()
      .feature("floats", &Shaped::floats)
      .feature("label", &Shaped::label)
      .feature("text", &Shaped::text);
}

std::string shaped_example(const Shaped& values, const std::string& unwanted) {
  ExampleBuilder builder;
  builder.floats("floats", values.floats);
  builder.integers("label", values.label);
  builder.bytes("note", unwanted);
  builder.bytes("text", values.text);
  return builder.encode();
}

/// Returns "" and the values, or the error's text.
std::string outcome(const ExampleSchema<Shaped>& schema, const std::string& example) {
  try {
    const Shaped parsed = schema.parse(example);
    return ::testing::PrintToString(parsed.floats) + std::to_string(parsed.label) + parsed.text;
  } catch (const Error& error) {
    return error.what();
  }
}

TEST(ExampleShapes, AreLearntFromTheSecondRecordOfASize) {
  const std::vector<std::string> names{"floats", "label", "text"};
  const ExampleParser parser(names);
  const auto ignore = [](std::size_t, FeatureKind, std::string_view) { return true; };
  const std::string first = shaped_example({{1, 2, 3}, 4, "five"}, "no");
  ASSERT_TRUE(detail::visit_usual_features(parser, first, ignore));
  EXPECT_EQ(parser.shapes().find(first), nullptr);
  ASSERT_TRUE(detail::visit_usual_features(parser, first, ignore));
  EXPECT_NE(parser.shapes().find(first), nullptr);
  const std::string other_values = shaped_example({{6, 7, 8}, 9, "zero"}, "NO");
  EXPECT_NE(parser.shapes().find(other_values), nullptr);
  EXPECT_EQ(parser.shapes().find(shaped_example({{6, 7, 8}, 9, "zeros"}, "N")), nullptr);
  EXPECT_EQ(ExampleParser(parser).shapes().find(first), nullptr) << "a copy learns anew";
}

TEST(ExampleShapes, FourAreKept) {
  const std::vector<std::string> names{"floats", "label", "text"};
  const ExampleParser parser(names);
  const auto example_of = [](std::size_t text_bytes, std::size_t note_bytes) {
    return shaped_example({{1, 2, 3}, 4, std::string(text_bytes, 't')},
                          std::string(note_bytes, 'n'));
  };
  const std::vector<std::string> examples{example_of(1, 1), example_of(2, 1), example_of(1, 2),
                                          example_of(3, 1), example_of(4, 1)};
  ASSERT_EQ(examples[1].size(), examples[2].size());
  detail::ExampleShapes shapes;
  for (const std::string& example : examples) {
    for (int i = 0; i < 2; ++i) {  // one that is known takes no room
      shapes.learn(detail::usual_shape(parser.name_table(), example));
    }
  }
  for (std::size_t i = 0; i < 4; ++i) EXPECT_NE(shapes.find(examples[i]), nullptr) << i;
  EXPECT_EQ(shapes.find(examples[4]), nullptr);
  for (int i = 0; i < 2; ++i) EXPECT_FALSE(shapes.wants(examples[4])) << "there is no room";
  shapes.clear();
  EXPECT_EQ(shapes.find(examples[0]), nullptr);
  EXPECT_FALSE(shapes.wants(examples[4]));
  EXPECT_TRUE(shapes.wants(examples[4])) << "whose size came twice in a row";
  EXPECT_FALSE(shapes.wants(examples[0]));
}

TEST(ExampleShapes, TextsAreTheSameInEachByte) {
  for (std::size_t size = 0; size < 40; ++size) {
    std::string a(size, 'x');
    for (std::size_t i = 0; i < size; ++i) a[i] = static_cast<char>('a' + i);
    // Another byte behind both.
    EXPECT_TRUE(detail::is_same_text((a + "1").data(), (a + "2").data(), size)) << size;
    for (std::size_t i = 0; i < size; ++i) {
      std::string b = a;
      b[i] = static_cast<char>(b[i] ^ 1);
      EXPECT_FALSE(detail::is_same_text(a.data(), b.data(), size)) << size << ' ' << i;
    }
  }
}

TEST(ExampleShapes, AnUnwantedFeatureMayHoldAnything) {
  const ExampleSchema<Shaped> schema = shaped_schema();
  for (const char* const note : {"abc", "abc", "xyz", "123"}) {
    const Shaped values{{1, 2, 3}, 200, "text"};
    EXPECT_EQ(schema.parse(shaped_example(values, note)), values);
  }
}

TEST(ExampleShapes, ChangeNothingForBytesOfAnyKind) {
  test::SeededRandom random;
  const ExampleSchema<Shaped> schema = shaped_schema();
  for (int i = 0; i < 4000; ++i) {
    const Shaped values{{static_cast<float>(random.below(9)), 2, 3},
                        static_cast<std::int64_t>(random.below(3) * 100),
                        std::string(random.below(3), static_cast<char>('a' + random.below(26)))};
    std::string example =
        shaped_example(values, std::string(2, static_cast<char>('a' + random.below(9))));
    if (random.below(2) == 0)
      example[random.below(example.size())] ^= static_cast<char>(1 << random.below(8));
    const ExampleSchema<Shaped> fresh = shaped_schema();
    ASSERT_EQ(outcome(schema, example), outcome(fresh, example));
  }
}

}  // namespace
}  // namespace infeed
