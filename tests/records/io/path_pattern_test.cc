#include "io/pattern/path_pattern.h"

#include <string>
#include <utility>
#include <vector>

#include <infeed/records/limits.h>

#include "thrown_error.h"

namespace infeed::detail {
namespace {

using ::testing::ElementsAreArray;

TEST(ExpandBraces, GivesThePatternsInTheirOrder) {
  for (const auto& [pattern, expanded] :
       std::vector<std::pair<std::string, std::vector<std::string>>>{
           {"", {""}},
           {"plain", {"plain"}},
           {"x{a,b}y", {"xay", "xby"}},
           {"{a,b}{c,d}", {"ac", "ad", "bc", "bd"}},
           {"{a,{b,c}d}", {"a", "bd", "cd"}},
           {"{,x}", {"", "x"}},
           {"{a,}", {"a", ""}},
           {"{1..3}", {"1", "2", "3"}},
           {"{3..1}", {"3", "2", "1"}},
           {"{7..7}", {"7"}},
           {"{9..11}", {"9", "10", "11"}},
           {"{0..2}", {"0", "1", "2"}},
           {"{00..2}", {"00", "01", "02"}},
           {"{8..010}", {"008", "009", "010"}},
           {"{08..10}", {"08", "09", "10"}},
           {"t-{0..1}.{gz,lz4}", {"t-0.gz", "t-0.lz4", "t-1.gz", "t-1.lz4"}},
           // Braces around neither a list nor a range of numbers stay as they are.
           {"{}", {"{}"}},
           {"{a}", {"{a}"}},
           {"{a..c}", {"{a..c}"}},
           {"{1..}", {"{1..}"}},
           {"{..2}", {"{..2}"}},
           {"{1.2}", {"{1.2}"}},
           {"{1..2..3}", {"{1..2..3}"}},
           {"{a,b", {"{a,b"}},
           {"{a,b\\}", {"{a,b\\}"}},
           {"a,b}", {"a,b}"}},
           {"{", {"{"}},
           {"{{a,b}", {"{a", "{b"}},
           {"{x}{a,b}", {"{x}a", "{x}b"}},
           // A backslash takes the next character's meaning away.
           {"\\{a,b}", {"\\{a,b}"}},
           {"{a\\,b,c}", {"a\\,b", "c"}},
           {"{a\\},b}", {"a\\}", "b"}},
           {"{a\\{,b}", {"a\\{", "b"}},
           {"\\\\{a,b}", {"\\\\a", "\\\\b"}},
       }) {
    EXPECT_THAT(expand_braces(pattern), ElementsAreArray(expanded)) << pattern;
  }
}

TEST(ExpandBraces, StandForSoManyNames) {
  EXPECT_EQ(expand_braces("{1..99999}").size(), limits::shard_names);
  EXPECT_EQ(expand_braces("{99999..1}").back(), "1");
  EXPECT_EQ(expand_braces("{1..33333}{a,b,c}").size(), limits::shard_names);
}

TEST(ExpandBraces, ThatStandForMoreAreRefused) {
  for (const std::string pattern :
       {"{1..100000}", "{100000..1}", "{0..18446744073709551615}", "{1..50000}{a,b}"}) {
    const Error error = error_of([&] { expand_braces(pattern); });
    EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
    EXPECT_EQ(error.message(), "the braces of '" + pattern +
                                   "' stand for more than 99999 names, which is the limit; name "
                                   "fewer");
  }
}

TEST(PathParts, StandBetweenSlashes) {
  EXPECT_THAT(path_parts("a/b"), ElementsAre("a", "b"));
  EXPECT_THAT(path_parts("/a"), ElementsAre("", "a"));
  EXPECT_THAT(path_parts("a//b/"), ElementsAre("a", "b"));
  EXPECT_THAT(path_parts("/"), ElementsAre(""));
  EXPECT_THAT(path_parts(""), ElementsAre(""));
}

TEST(PartMatches, HeedsALeadingDot) {
  EXPECT_TRUE(part_matches("*", "a"));
  EXPECT_FALSE(part_matches("*", ".a"));
  EXPECT_TRUE(part_matches(".*", ".a"));
  EXPECT_TRUE(part_matches("[a-c]?", "bx"));
  EXPECT_FALSE(part_matches("[a-c]?", "dx"));
  EXPECT_TRUE(part_matches("\\*", "*"));
  EXPECT_FALSE(part_matches("\\*", "a"));
}

TEST(HasWildcard, IsTrueForEachOfThem) {
  for (const std::string name : {"*", "a?b", "[", "a\\"}) EXPECT_TRUE(has_wildcard(name)) << name;
  for (const std::string name : {"", "a", "]", "{a,b}", "a.b-c"}) {
    EXPECT_FALSE(has_wildcard(name)) << name;
  }
}

}  // namespace
}  // namespace infeed::detail
