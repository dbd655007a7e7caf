#include <string>
#include <vector>

#include <infeed/records/detail/nearest_names.h>

#include "matchers.h"

namespace infeed::test {
namespace {

TEST(NearestNames, DistanceCountsLettersAndSwappedNeighbours) {
  EXPECT_EQ(detail::edit_distance("", ""), 0U);
  EXPECT_EQ(detail::edit_distance("", "abc"), 3U);
  EXPECT_EQ(detail::edit_distance("label", "label"), 0U);
  EXPECT_EQ(detail::edit_distance("label", "lable"), 1U) << "swapped";
  EXPECT_EQ(detail::edit_distance("ab", "ba"), 1U) << "swapped";
  EXPECT_EQ(detail::edit_distance("label", "labels"), 1U) << "inserted";
  EXPECT_EQ(detail::edit_distance("label", "lbel"), 1U) << "left out";
  EXPECT_EQ(detail::edit_distance("label", "lahel"), 1U) << "changed";
  EXPECT_EQ(detail::edit_distance("kitten", "sitting"), 3U);
  EXPECT_EQ(detail::edit_distance("abcd", "badc"), 2U) << "swapped twice";
  EXPECT_EQ(detail::edit_distance("xab", "xba"), 1U) << "swapped at the end";
  EXPECT_EQ(detail::edit_distance("ca", "abc"), 3U) << "swapped ones stay neighbours";
  EXPECT_EQ(detail::edit_distance("a", "b"), 1U);
}

TEST(NearestNames, NearestComesFirstAndEqualOnesKeepTheirOrder) {
  const std::vector<std::string> names = {"image", "tokens", "token", "tokans", "labels"};
  EXPECT_THAT(detail::names_by_distance(names, "tokens"),
              ElementsAre("tokens", "token", "tokans", "labels", "image"));
  EXPECT_TRUE(detail::names_by_distance({}, "x").empty());
  std::vector<std::string> many(10'000, "far away");
  many.back() = "nearer";
  many.emplace_back("near");
  const auto nearest = detail::names_by_distance(many, "near");
  EXPECT_EQ(nearest.size(), 10'000U) << "more would take too long";
  EXPECT_EQ(nearest.front(), "nearer");
}

TEST(NearestNames, TwelveAreTold) {
  const std::vector<std::string> names(13, "x");
  EXPECT_EQ(detail::quoted_names(std::span(names).first(1)), "'x'");
  EXPECT_EQ(detail::quoted_names(std::span(names).first(2)), "'x', 'x'");
  const std::string twelve = "'x', 'x', 'x', 'x', 'x', 'x', 'x', 'x', 'x', 'x', 'x', 'x'";
  EXPECT_EQ(detail::quoted_names(std::span(names).first(12)), twelve);
  EXPECT_EQ(detail::quoted_names(names), twelve + ", ...");
}

TEST(NearestNames, AsksForOnesThatAreNearEnough) {
  const auto asked = [](const std::string& nearest, std::string_view name) {
    const std::vector<std::string> names = {nearest, "label"};
    return detail::did_you_mean(names, name);
  };
  EXPECT_EQ(asked("ab", "cd"), "; did you mean 'ab'?") << "two changes always are";
  EXPECT_EQ(asked("abc", "xyz"), "");
  EXPECT_EQ(asked("abcdexyz", "abcdefgh"), "") << "three of eight";
  EXPECT_EQ(asked("abcdefxyz", "abcdefghi"), "; did you mean 'abcdefxyz'?") << "three of nine";
  EXPECT_EQ(detail::did_you_mean({}, "label"), "");
}

}  // namespace
}  // namespace infeed::test
