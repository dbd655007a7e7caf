#include <infeed/infeed.h>

#include "pipeline/suite/stage_suite.h"
#include "thrown_error.h"

namespace infeed::test {
namespace {

struct Place {
  float latitude = 0;
  std::array<std::int32_t, 2> cell{};
};
struct Document {
  std::string text;
  Place place;
  std::vector<std::int64_t> tokens;
  std::vector<std::string> tags;
  bool is_good = false;
};

/// Rows n, n + 1, ..., of n % 4 rows.
ColumnBatch documents_from(std::int64_t n) {
  std::vector<std::string> texts;
  std::vector<float> latitudes;
  std::vector<std::int32_t> cells;
  RaggedBuilder<std::int64_t> tokens;
  RaggedBuilder<std::string> tags;
  std::vector<bool> good;
  for (std::int64_t i = n; i < n + n % 4; ++i) {
    texts.push_back("text " + std::to_string(i));
    latitudes.push_back(static_cast<float>(i));
    cells.insert(cells.end(), {static_cast<std::int32_t>(i), -1});
    tokens.add_row(std::vector<std::int64_t>(static_cast<std::size_t>(i % 3), i));
    tags.add_row(std::vector<std::string>(static_cast<std::size_t>(i % 2), "tag"));
    good.push_back(i % 2 == 0);
  }
  return ColumnBatch(
      {{"unused", column_of(std::vector(latitudes))},
       {"tags", tags.finish()},
       {"text", column_of(texts)},
       {"tokens", tokens.finish()},
       {"place.latitude", column_of(std::move(latitudes))},
       {"place.cell", Column::dense(column_of(std::move(cells)).values().reshaped({n % 4, 2}))},
       {"is_good", column_of(good)}});
}

std::int64_t number_of_document(const Document& document) {
  const std::int64_t number = document.place.cell[0];
  EXPECT_EQ(document.text, "text " + std::to_string(number));
  EXPECT_EQ(document.place.latitude, static_cast<float>(number));
  EXPECT_EQ(document.tokens,
            std::vector<std::int64_t>(static_cast<std::size_t>(number % 3), number));
  EXPECT_EQ(document.tags.size(), static_cast<std::size_t>(number % 2));
  EXPECT_EQ(document.is_good, number % 2 == 0);
  return number;
}

TEST(UnbatchAs, PassesTheSuite) {
  run_stage_suite_on<std::int64_t>(
      [](const Dataset<std::int64_t>& dataset) {
        return dataset | map(documents_from) |
               unbatch_as<Document>(
                   {"text", "place.latitude", "place.cell", "tokens", "tags", "is_good"}) |
               map(number_of_document);
      },
      [](const Slots& in) {
        Stream stream;
        for (const Slot& slot : in) {
          if (slot.fails) stream.push_back(show(slot));
          for (std::int64_t i = 0; !slot.fails && i < slot.value % 4; ++i) {
            stream.push_back(std::to_string(slot.value + i));
          }
        }
        return stream;
      });
}

/// A template, so that compilers which don't know the names of members leave it out.
template <class Row>
void expect_found_by_names() {
  if constexpr (kHasMemberNames) {
    auto iterator = (range(7, 8) | map(documents_from) | unbatch_as<Row>()).iterate();
    EXPECT_EQ(number_of_document(*iterator.next()), 7);
  }
}

TEST(UnbatchAs, FindsColumnsByTheMembersNames) {
  expect_found_by_names<Document>();
  auto texts = (range(7, 8) | map(documents_from) | unbatch_as<std::string>({"text"})).iterate();
  EXPECT_EQ(*texts.next(), "text 7");
  EXPECT_EQ(*texts.next(), "text 8");
}

TEST(UnbatchAs, LeavesPaddingBehind) {
  const Column padded = Column::padded(Tensor::copy_of<int>({2, 2}, {1, 9, 2, 3}),
                                       column_of(std::vector<std::int64_t>{1, 2}).values());
  const auto rows = range(1) | map([padded](std::int64_t) {
                      return ColumnBatch({{"x", padded}});
                    }) |
                    unbatch_as<std::vector<int>>({"x"});
  auto iterator = rows.iterate();
  EXPECT_THAT(*iterator.next(), ElementsAre(1));
  EXPECT_THAT(*iterator.next(), ElementsAre(2, 3));
}

TEST(UnbatchAs, RefusesColumnsOfAnotherType) {
  const auto batches = range(7, 8) | map(documents_from);
  auto wrong = (batches | unbatch_as<std::int32_t>({"place.latitude"})).iterate();
  EXPECT_THAT(error_of([&] { wrong.next(); }).message(),
              HasSubstr("column 'place.latitude' is dense of float32 [], but the member needs it "
                        "dense, shape [], of int32"));
  auto missing = (batches | unbatch_as<std::string>({"txt"})).iterate();
  EXPECT_THAT(error_of([&] { missing.next(); }).message(), HasSubstr("did you mean 'text'?"));
  EXPECT_THAT(error_of([&] { (void)(batches | unbatch_as<Document>({"text"})); }).message(),
              HasSubstr("a row has 6 values, but 1 columns are named (text)"));
}

}  // namespace
}  // namespace infeed::test
