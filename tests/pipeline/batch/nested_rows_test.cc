#include <infeed/infeed.h>

#include "thrown_error.h"

// Rows that have structs in structs: a column for each number at the bottom.
namespace infeed::test {
namespace {

struct NestedLens {
  float focal_length = 0;
  std::string maker;
};
struct NestedCamera {
  std::int32_t iso = 0;
  NestedLens lens;
  std::array<std::int16_t, 2> offset{};
};
struct NestedShot {
  std::int64_t id = 0;
  NestedCamera camera;
  double weight = 0;
};

NestedShot nested_shot(std::int64_t i) {
  const auto small = static_cast<std::int16_t>(i);
  return {i,
          {static_cast<std::int32_t>(100 * i),
           {static_cast<float>(i) / 2, "maker " + std::to_string(i)},
           {small, static_cast<std::int16_t>(-small)}},
          static_cast<double>(i) * 10};
}

TEST(NestedRows, HaveAColumnForEachLeaf) {
  static_assert(Batch<NestedShot>::kColumns == 6);
  for (const Batch<NestedShot>& rows : (range(3) | map(nested_shot) | batch(3)).iterate()) {
    EXPECT_THAT(rows.column(&NestedShot::id), ElementsAre(0, 1, 2));
    EXPECT_THAT(rows.column(&NestedShot::camera, &NestedCamera::iso), ElementsAre(0, 100, 200));
    EXPECT_THAT(rows.column(&NestedShot::camera, &NestedCamera::lens, &NestedLens::focal_length),
                ElementsAre(0.0F, 0.5F, 1.0F));
    EXPECT_THAT(rows.column<3>(), ElementsAre("maker 0", "maker 1", "maker 2"));
    EXPECT_THAT(rows.column(&NestedShot::weight), ElementsAre(0.0, 10.0, 20.0));
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(rows.column<2>().data()) % 64, 0U);
    const NestedShot second = rows.row(1);
    EXPECT_EQ(second.camera.lens.maker, "maker 1");
    EXPECT_THAT(second.camera.offset, ElementsAre(1, -1));
  }
}

TEST(NestedRows, AreTakenApartAgain) {
  std::int64_t i = 0;
  for (const NestedShot& row : (range(5) | map(nested_shot) | batch(2) | unbatch()).iterate()) {
    EXPECT_EQ(row.id, i);
    EXPECT_EQ(row.camera.iso, 100 * i);
    EXPECT_EQ(row.camera.lens.maker, "maker " + std::to_string(i));
    EXPECT_EQ(row.weight, static_cast<double>(10 * i));
    ++i;
  }
  EXPECT_EQ(i, 5);
}

TEST(NestedRows, TuplesOfStructsAreSo) {
  for (const auto& rows : (zip(range(2) | map(nested_shot), range(7, 9)) | batch(2)).iterate()) {
    EXPECT_THAT(rows.column<0>(), ElementsAre(0, 1));
    EXPECT_THAT(rows.column<6>(), ElementsAre(7, 8));
    EXPECT_EQ(std::get<0>(rows.row(1)).camera.iso, 100);
  }
}

ExampleSchema<NestedShot> nested_schema() {
  return ExampleSchema<NestedShot>()
      .feature("id", &NestedShot::id)
      .nested("camera", &NestedShot::camera,
              ExampleSchema<NestedCamera>()
                  .feature("iso", &NestedCamera::iso, -1)
                  .nested("lens", &NestedCamera::lens,
                          ExampleSchema<NestedLens>()
                              .feature("maker", &NestedLens::maker)
                              .feature("focal_length", &NestedLens::focal_length))
                  .feature("offset", &NestedCamera::offset))
      .feature("weight", &NestedShot::weight);
}

TEST(NestedRows, AreParsedByDottedNames) {
  EXPECT_THAT(nested_schema().names(),
              ElementsAre("id", "camera.iso", "camera.lens.maker", "camera.lens.focal_length",
                          "camera.offset", "weight"));
  const NestedShot read = nested_schema().parse(nested_schema().encode(nested_shot(3)));
  EXPECT_EQ(read.camera.iso, 300);
  EXPECT_EQ(read.camera.lens.maker, "maker 3");
  const auto records =
      range(4) | map([](std::int64_t i) { return Record(nested_schema().encode(nested_shot(i))); });
  for (const Batch<NestedShot>& rows : (records | parse_batch(nested_schema(), 4)).iterate()) {
    EXPECT_THAT(rows.column(&NestedShot::camera, &NestedCamera::lens, &NestedLens::maker),
                ElementsAre("maker 0", "maker 1", "maker 2", "maker 3"));
    EXPECT_THAT(rows.column(&NestedShot::camera, &NestedCamera::iso),
                ElementsAre(0, 100, 200, 300));
  }
  const Error missing =
      error_of([] { nested_schema().parse(ExampleBuilder().integers("id", 1).encode()); });
  EXPECT_THAT(missing.message(), HasSubstr("camera.lens.maker"));
}

TEST(NestedRows, AreFilledInPlace) {
  const auto fill = [](std::int64_t i, const Row<NestedShot>& row) {
    row.column(&NestedShot::id) = i;
    row.column(&NestedShot::camera, &NestedCamera::iso) = 5;
    row.column(&NestedShot::camera, &NestedCamera::lens, &NestedLens::focal_length) = 2.5F;
    row.column(&NestedShot::camera, &NestedCamera::offset) = {1, 2};
    row.column(&NestedShot::weight) = 0;
  };
  for (const Batch<NestedShot>& rows : (range(2) | batch_into<NestedShot>(2, fill)).iterate()) {
    EXPECT_THAT(rows.column(&NestedShot::camera, &NestedCamera::iso), ElementsAre(5, 5));
    EXPECT_EQ(rows.row(1).camera.lens.focal_length, 2.5F);
  }
}

struct NestedTokens {
  std::vector<std::int32_t> ids;
  std::int64_t source = 0;
};
struct NestedDocument {
  NestedTokens tokens;
  std::string name;
};

TEST(NestedRows, MayHaveSequences) {
  const std::vector<NestedDocument> documents = {{{{1, 2, 3}, 4}, "a"}, {{{5}, 6}, "b"}};
  for (const auto& rows : (slices(documents) | padded_batch(2, {.padding = -1})).iterate()) {
    const Padded<std::int32_t>& ids = rows.column(&NestedDocument::tokens, &NestedTokens::ids);
    EXPECT_THAT(ids.values(), ElementsAre(1, 2, 3, 5, -1, -1));
    EXPECT_THAT(rows.column(&NestedDocument::tokens, &NestedTokens::source), ElementsAre(4, 6));
  }
  for (const auto& rows : (slices(documents) | ragged_batch(2)).iterate()) {
    const Ragged<std::int32_t>& ids = rows.column(&NestedDocument::tokens, &NestedTokens::ids);
    EXPECT_THAT(ids.row_splits(), ElementsAre(0, 3, 4));
  }
}

}  // namespace
}  // namespace infeed::test
