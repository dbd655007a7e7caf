#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <infeed/infeed.h>

#include "pipeline/suite/stream.h"

namespace infeed::test {
namespace {

template <class T>
std::vector<T> values_of(const Dataset<T>& dataset) {
  std::vector<T> values;
  for (const T& value : dataset.iterate()) values.push_back(value);
  return values;
}

using Values = std::vector<std::int64_t>;

Dataset<std::tuple<std::int64_t, std::string>> numbered_words() {
  return zip(range(3), slices(std::vector<std::string>{"a", "bc", "def"}));
}

TEST(Unpacking, MapTakesTheMembersOfATuple) {
  EXPECT_EQ(values_of(numbered_words() | map([](std::int64_t number, const std::string& word) {
                        return std::to_string(number) + word;
                      })),
            (std::vector<std::string>{"0a", "1bc", "2def"}));
  EXPECT_EQ(values_of(numbered_words() | map([](std::int64_t, std::string&& word) {
                        return std::string(std::move(word));  // the stage's own, so it may be moved
                      })),
            (std::vector<std::string>{"a", "bc", "def"}));
}

TEST(Unpacking, MapTakesTheMembersOfAPair) {
  EXPECT_EQ(values_of(range(5, 8) | enumerate() |
                      map([](auto number, auto value) { return 100 * number + value; })),
            (Values{5, 106, 207}));
}

TEST(Unpacking, AFunctionThatTakesTheTupleGetsIt) {
  const auto size = [](const auto& element) {
    return std::int64_t{std::tuple_size_v<std::remove_cvref_t<decltype(element)>>};
  };
  EXPECT_EQ(values_of(numbered_words() | map(size)), (Values{2, 2, 2}));
  EXPECT_EQ(values_of(numbered_words() | map([](const auto&... elements) {
                        return std::int64_t{sizeof...(elements)};
                      })),
            (Values{1, 1, 1}));
}

TEST(Unpacking, TheRngStandsBehindTheMembers) {
  const auto pairs = range(100) | enumerate();
  const auto draw = [](Rng& rng) { return static_cast<std::int64_t>(rng() % 1000); };
  EXPECT_EQ(values_of(pairs | map([&](std::int64_t, std::int64_t, Rng& rng) { return draw(rng); },
                                  {.seed = 3})),
            values_of(pairs | map([&](const auto&, Rng& rng) { return draw(rng); }, {.seed = 3})));
}

TEST(Unpacking, FilterAndTakeWhile) {
  const auto words = numbered_words();
  const auto number = [](std::int64_t i, const std::string&) { return i; };
  EXPECT_EQ(values_of(words | filter([](std::int64_t i, const std::string&) { return i != 1; }) |
                      map(number)),
            (Values{0, 2}));
  EXPECT_EQ(values_of(words |
                      take_while([](std::int64_t, const std::string& w) { return w.size() < 3; }) |
                      map(number)),
            (Values{0, 1}));
}

TEST(Unpacking, ScanTakesTheStateFirst) {
  EXPECT_EQ(values_of(numbered_words() |
                      scan(std::string(),
                           [](const std::string& all, std::int64_t, const std::string& word) {
                             return std::pair(all + word, all + word);
                           })),
            (std::vector<std::string>{"a", "abc", "abcdef"}));
}

TEST(Unpacking, FlatMapAndInterleave) {
  const auto repeat_number = [](std::int64_t number, const std::string& word) {
    return slices(std::vector<std::int64_t>(word.size(), number));
  };
  EXPECT_EQ(values_of(numbered_words() | flat_map(repeat_number)), (Values{0, 1, 1, 2, 2, 2}));
  EXPECT_EQ(values_of(numbered_words() | interleave(repeat_number, {.cycle_length = 3})),
            (Values{0, 1, 2, 1, 2, 2}));
}

}  // namespace
}  // namespace infeed::test
