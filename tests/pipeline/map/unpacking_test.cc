#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <infeed/infeed.h>

#include "pipeline/suite/stream.h"

namespace infeed::test {
namespace {

using Values = std::vector<std::int64_t>;

Dataset<std::tuple<std::int64_t, std::string>> numbered_words() {
  return zip(range(3), slices(std::vector<std::string>{"a", "bc", "def"}));
}

TEST(Unpacking, MapTakesTheMembersOfATuple) {
  EXPECT_EQ((numbered_words() | map([](std::int64_t number, const std::string& word) {
               return std::to_string(number) + word;
             })).collect(),
            (std::vector<std::string>{"0a", "1bc", "2def"}));
  EXPECT_EQ((numbered_words() | map([](std::int64_t, std::string&& word) {
               return std::string(std::move(word));  // the stage's own, so it may be moved
             })).collect(),
            (std::vector<std::string>{"a", "bc", "def"}));
}

TEST(Unpacking, MapTakesTheMembersOfAPair) {
  EXPECT_EQ((range(5, 8) | enumerate() | map([](auto number, auto value) {
               return 100 * number + value;
             })).collect(),
            (Values{5, 106, 207}));
}

TEST(Unpacking, AFunctionThatTakesTheTupleGetsIt) {
  const auto size = [](const auto& element) {
    return std::int64_t{std::tuple_size_v<std::remove_cvref_t<decltype(element)>>};
  };
  EXPECT_EQ((numbered_words() | map(size)).collect(), (Values{2, 2, 2}));
  EXPECT_EQ((numbered_words() | map([](const auto&... elements) {
               return std::int64_t{sizeof...(elements)};
             })).collect(),
            (Values{1, 1, 1}));
}

TEST(Unpacking, TheRngStandsBehindTheMembers) {
  const auto pairs = range(100) | enumerate();
  const auto draw = [](Rng& rng) { return static_cast<std::int64_t>(rng() % 1000); };
  EXPECT_EQ(
      (pairs | map([&](std::int64_t, std::int64_t, Rng& rng) { return draw(rng); }, {.seed = 3}))
          .collect(),
      (pairs | map([&](const auto&, Rng& rng) { return draw(rng); }, {.seed = 3})).collect());
}

TEST(Unpacking, FilterAndTakeWhile) {
  const auto words = numbered_words();
  const auto number = [](std::int64_t i, const std::string&) { return i; };
  EXPECT_EQ(
      (words | filter([](std::int64_t i, const std::string&) { return i != 1; }) | map(number))
          .collect(),
      (Values{0, 2}));
  EXPECT_EQ((words | take_while([](std::int64_t, const std::string& w) { return w.size() < 3; }) |
             map(number))
                .collect(),
            (Values{0, 1}));
}

TEST(Unpacking, ScanTakesTheStateFirst) {
  EXPECT_EQ(
      (numbered_words() | scan(std::string(),
                               [](const std::string& all, std::int64_t, const std::string& word) {
                                 return std::pair(all + word, all + word);
                               }))
          .collect(),
      (std::vector<std::string>{"a", "abc", "abcdef"}));
}

TEST(Unpacking, FlatMapAndInterleave) {
  const auto repeat_number = [](std::int64_t number, const std::string& word) {
    return slices(std::vector<std::int64_t>(word.size(), number));
  };
  EXPECT_EQ((numbered_words() | flat_map(repeat_number)).collect(), (Values{0, 1, 1, 2, 2, 2}));
  EXPECT_EQ((numbered_words() | interleave(repeat_number, {.cycle_length = 3})).collect(),
            (Values{0, 1, 2, 1, 2, 2}));
}

}  // namespace
}  // namespace infeed::test
