#include <cstdio>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <memory>
#include <numeric>
#include <set>
#include <string>
#include <vector>

#include <infeed/infeed.h>
#include <infeed/records/fingerprint.h>

#include "pipeline/suite/stream.h"
#include "records/temporary_files.h"

namespace infeed::test {
namespace {

namespace recipes {
// pipeline/recipes.md
#include "recipes.h"
}  // namespace recipes

recipes::Tokens tokens_of(const std::string& text) { return {text.begin(), text.end()}; }

class Recipes : public ::testing::Test {
 protected:
  /// Documents of one letter, of all lengths up to `most`.
  Dataset<recipes::Tokens> documents(char letter, int count, int most) {
    std::string lines;
    for (int i = 0; i < count; ++i) {
      lines += fmt::format("{{\"id\": {}, \"text\": \"{}\"}}\n", i,
                           std::string(static_cast<std::size_t>(1 + i * 37 % most), letter));
    }
    folder_.write(fmt::format("{}.jsonl", letter), lines);
    return recipes::documents(folder_.file(fmt::format("{}.jsonl", letter)), &tokens_of);
  }

  const TemporaryFolder folder_;
};

/// Returns how often a letter is there.
double count_of(const ColumnBatch& batch, char letter) {
  const auto tokens = batch.column("tokens").values<std::int32_t>();
  return static_cast<double>(std::count(tokens.begin(), tokens.end(), letter));
}

TEST_F(Recipes, MixTokens) {
  const auto web = documents('w', 3000, 900) | repeat();
  const auto code = documents('c', 3000, 90) | repeat();
  auto iterator = recipes::by_tokens(web, code).iterate();
  double share = 0;
  double all = 0;
  for (int i = 0; i < 10; ++i) {
    const auto batch = iterator.next();
    ASSERT_EQ(batch->column("tokens").values().shape(), infeed::Shape({8, 2048}));
    share += count_of(*batch, 'w');
    all += count_of(*batch, 'w') + count_of(*batch, 'c');
  }
  EXPECT_NEAR(share / all, 0.7, 0.01);
}

TEST_F(Recipes, MixSequences) {
  const auto web = documents('w', 3000, 900) | repeat();
  const auto code = documents('c', 3000, 90) | repeat();
  auto iterator = recipes::by_sequences(web, code).iterate();
  int rows_of_web = 0;
  for (int i = 0; i < 50; ++i) {
    const auto batch = iterator.next();
    ASSERT_EQ(batch->rows(), 8);
    for (int row = 0; row < 8; ++row) {
      const ColumnBatch one = batch->slice(row, 1);
      EXPECT_NE(count_of(one, 'w') == 0, count_of(one, 'c') == 0) << "each row is of one source";
      rows_of_web += count_of(one, 'w') != 0 ? 1 : 0;
    }
  }
  EXPECT_NEAR(rows_of_web, 280, 40);
}

TEST_F(Recipes, MakeColumnsOfARecommender) {
  folder_.write("a.csv", "city,tags,price,user\nRome,a|b,80,7\nBonn,,1000,8\n");
  auto iterator = recipes::inputs(folder_.file("a.csv")).iterate();
  const auto batch = iterator.next();
  EXPECT_THAT(batch->column("city").values<std::int64_t>(), ::testing::ElementsAre(0, 2));
  EXPECT_THAT(batch->column("price").values<float>(), ::testing::ElementsAre(0, 7));
  EXPECT_THAT(batch->column("tags").row_splits(), ::testing::ElementsAre(0, 2, 2));
  EXPECT_EQ(batch->column("user").values<std::int64_t>()[0],
            static_cast<std::int64_t>(fingerprint64("7") % 1'000'000));
}

TEST_F(Recipes, DrawNegativeSamples) {
  auto known = std::make_shared<recipes::Clicks>();
  std::vector<recipes::Click> clicks;
  for (std::int64_t i = 0; i < 200; ++i) {
    clicks.push_back({i % 10, i * 7 % 50});
    known->insert({clicks.back().user, clicks.back().item});
  }
  const auto choices = recipes::with_negatives(slices(clicks), 50, 4, known) | repeat(2);
  std::vector<std::vector<std::int64_t>> drawn;
  for (const recipes::Choice& choice : choices.iterate()) {
    EXPECT_EQ(choice.others.size(), 4);
    for (const std::int64_t item : choice.others) {
      EXPECT_FALSE(known->contains({choice.click.user, item}));
    }
    drawn.push_back(choice.others);
  }
  ASSERT_EQ(drawn.size(), 400);
  EXPECT_NE(drawn[0], drawn[200]) << "each epoch draws anew";
  auto iterator = choices.iterate();
  for (int i = 0; i < 300; ++i) iterator.next();
  auto resumed = choices.iterate({.resume = iterator.checkpoint()});
  EXPECT_EQ(resumed.next()->others, iterator.next()->others);
}

TEST(Pages, ThePipelineOfThePipelinesReadme) {
  const auto decode = [](std::int64_t x) { return x; };
  const auto augment = [](std::int64_t x) { return 2 * x; };
  const auto dataset =
#include "pipeline_readme.h"
      ;
  EXPECT_EQ(dataset.cardinality().count(), (50'000U + 31) / 32);
}

TEST(Pages, TheLoopOfTheTunersReadme) {
  const auto dataset =
      range(100) | map([](std::int64_t x) { return x; }, {.parallelism = autotune});
  std::int64_t sum = 0;
  const auto use = [&sum](std::int64_t x) { sum += x; };
#include "tune_readme.h"
  EXPECT_EQ(sum, 4950);
}

}  // namespace
}  // namespace infeed::test
