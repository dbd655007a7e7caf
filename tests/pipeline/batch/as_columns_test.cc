#include <optional>

#include <infeed/infeed.h>
#include <infeed/records/arrow.h>

#include "thrown_error.h"

namespace infeed::test {
namespace {

enum class ShownColour : std::uint8_t { red, blue };
struct ShownMeta {
  ShownColour colour;
  bfloat16 score;
};
struct ShownSample {
  std::array<std::array<float, 2>, 3> image;
  ShownMeta meta;
  std::string text;
  bool is_good;
};

std::vector<ShownSample> shown_samples() {
  return {{{{{1, 2}, {3, 4}, {5, 6}}}, {ShownColour::red, bfloat16(0.5F)}, "one", true},
          {{{{7, 8}, {9, 10}, {11, 12}}}, {ShownColour::blue, bfloat16(2.0F)}, "two", false}};
}

Batch<ShownSample> batch_of_shown() {
  return *(slices(shown_samples()) | batch(2)).iterate().next();
}

std::vector<std::string> shown_names() {
  return {"image", "meta.colour", "meta.score", "text", "is_good"};
}

TEST(AsColumns, ShowsABatchByName) {
  const Batch<ShownSample> rows = batch_of_shown();
  const ColumnBatch columns = as_columns(rows, shown_names());
  EXPECT_EQ(columns.rows(), 2);
  const Column& image = columns.column("image");
  EXPECT_EQ(image.values().shape(), (Shape{2, 3, 2}));
  EXPECT_EQ(static_cast<const void*>(image.values().data()),
            rows.column(&ShownSample::image).data());
  EXPECT_EQ(image.values<float>()[7], 8);
  EXPECT_THAT(columns.column("meta.colour").values<std::uint8_t>(), ElementsAre(0, 1));
  EXPECT_EQ(columns.column("meta.score").dtype(), DType::bfloat16);
  EXPECT_EQ(columns.column("text").bytes(1), "two");
  EXPECT_THAT(columns.column("is_good").values<bool>(), ElementsAre(true, false));
}

/// A template, in which code that a compiler can't take isn't instantiated.
template <class Sample, class Number = float>
void expect_names_of_members(const Batch<Sample>& batch) {
  if constexpr (kHasMemberNames) {
    EXPECT_EQ(as_columns(batch).names(), shown_names());
    EXPECT_THAT((member_names<std::pair<decltype(Sample::meta), int>>()),
                ElementsAre("0.colour", "0.score", "1"));
    EXPECT_THAT(member_names<Number>(), ElementsAre("value"));
  }
}

TEST(AsColumns, CallsColumnsWhatTheMembersAreCalled) { expect_names_of_members(batch_of_shown()); }

TEST(AsColumns, KeepsTheMemoryOfTheBatch) {
  std::optional<Batch<ShownSample>> rows = batch_of_shown();
  const ColumnBatch columns = as_columns(*rows, shown_names());
  rows.reset();
  EXPECT_EQ(columns.column("image").values<float>()[11], 12);
  ArrowSchema schema;
  ArrowArray array;
  export_arrow(columns, &schema, &array);
  EXPECT_EQ(array.length, 2);
  array.release(&array);
  schema.release(&schema);
}

TEST(AsColumns, NamesMustBeAsManyAsLeaves) {
  EXPECT_THAT(error_of([] {
                as_columns(batch_of_shown(), {"image", "text"});
              }).message(),
              HasSubstr("a batch of 5 columns has 2 names"));
}

struct ShownSentence {
  std::vector<std::int32_t> tokens;
  std::vector<std::array<float, 2>> boxes;
  std::int64_t label;
};
struct ShownTags {
  std::vector<std::string> tags;
  std::vector<std::vector<std::int16_t>> groups;
};

TEST(AsColumns, ShowsPaddedAndRaggedColumns) {
  const std::vector<ShownSentence> sentences = {{{1, 2, 3}, {{{1, 2}}}, 7}, {{4}, {}, 8}};
  const std::vector<std::string> names = {"tokens", "boxes", "label"};
  const auto padded = *(slices(sentences) | padded_batch(2, {.padding = -1})).iterate().next();
  const ColumnBatch shown = as_columns(padded, names);
  EXPECT_EQ(shown.column("tokens").kind(), Column::Kind::padded);
  EXPECT_THAT(shown.column("tokens").values<std::int32_t>(), ElementsAre(1, 2, 3, 4, -1, -1));
  EXPECT_THAT(shown.column("tokens").lengths(), ElementsAre(3, 1));
  EXPECT_EQ(shown.column("boxes").values().shape(), (Shape{2, 1, 2}));
  const auto ragged = *(slices(sentences) | ragged_batch(2)).iterate().next();
  const ColumnBatch rows = as_columns(ragged, names);
  EXPECT_THAT(rows.column("tokens").values<std::int32_t>(), ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(rows.column("boxes").row_splits(), ElementsAre(0, 1, 1));
  EXPECT_THAT(rows.column("label").values<std::int64_t>(), ElementsAre(7, 8));
}

TEST(AsColumns, ShowsTwoLevelsAndTexts) {
  const std::vector<ShownTags> rows = {{{"a", "b"}, {{1, 2}, {3}}}, {{}, {{}}}};
  const auto ragged = *(slices(rows) | ragged_batch(2)).iterate().next();
  const ColumnBatch shown = as_columns(ragged, {"tags", "groups"});
  EXPECT_EQ(shown.column("tags").kind(), Column::Kind::ragged_bytes);
  EXPECT_EQ(shown.column("tags").bytes(1), "b");
  EXPECT_THAT(shown.column("tags").row_splits(), ElementsAre(0, 2, 2));
  EXPECT_THAT(shown.column("groups").row_splits(0), ElementsAre(0, 2, 3));
  EXPECT_THAT(shown.column("groups").row_splits(1), ElementsAre(0, 2, 3, 3));
}

}  // namespace
}  // namespace infeed::test
