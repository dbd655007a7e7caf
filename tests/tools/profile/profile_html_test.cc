#include "profile/outputs/profile_html.h"

#include <nlohmann/json.hpp>

#include "matchers.h"
#include "tools/profile/synthetic_run.h"

namespace infeed::test {
namespace {

using Json = nlohmann::json;

std::string page_of(const SyntheticProfile& profile) {
  return tools::profile_html(profile.run, profile.report);
}

/// Returns the data of the page's script.
Json data_of(const std::string& page) {
  constexpr std::string_view kBegin = "<script type=\"application/json\" id=\"profile\">";
  const std::size_t begin = page.find(kBegin) + kBegin.size();
  return Json::parse(page.substr(begin, page.find("</script>", begin) - begin));
}

std::size_t count_of(const std::string& text, std::string_view part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++count;
  return count;
}

TEST(ProfileHtml, HasTheVerdictWithoutAnyScriptAndTheFiguresForIt) {
  const SyntheticProfile profile = synthetic_profile();
  const std::string page = page_of(profile);
  EXPECT_THAT(page, HasSubstr("<h1>HIGHLY input-bound: the steps wait for map 'augment'"));
  EXPECT_THAT(page, HasSubstr("<title>Profile of train on host-1"));
  const Json data = data_of(page);
  EXPECT_EQ(data["report"]["late_steps"].size(), 10u);
  EXPECT_EQ(data["timeline"]["steps"].size(), 400u);
  EXPECT_EQ(data["timeline"]["parts_ns"][2][0], 12'000'000);
  EXPECT_EQ(data["timeline"]["late"][0], Json({20, 0}));
  EXPECT_EQ(data["windows"]["parallelism"][2].front(), 2);
  EXPECT_EQ(data["windows"]["memory_bytes"].size(), 5u);
}

TEST(ProfileHtml, ALongStepDoesNotFlattenTheOthers) {
  SyntheticProfile profile = synthetic_profile();
  EXPECT_EQ(data_of(page_of(profile))["timeline"]["cut_above_ns"], 0);
  profile.run.steps[7].compute_ns += 3'000'000'000;
  EXPECT_EQ(data_of(page_of(profile))["timeline"]["cut_above_ns"], 5 * 20'000'000);
}

TEST(ProfileHtml, AsksForNothingOutsideOfItself) {
  const std::string page = page_of(synthetic_profile());
  EXPECT_THAT(page, HasSubstr("content=\"default-src 'none';"));
  EXPECT_THAT(page, Not(HasSubstr("<link rel=\"stylesheet")));
  EXPECT_THAT(page, Not(HasSubstr("<script src")));
  EXPECT_THAT(page, Not(HasSubstr("@import")));
  for (const std::string_view place : {"@TITLE@", "@STYLE@", "@DATA@", "@LIBRARY@", "@SCRIPT@"}) {
    EXPECT_THAT(page, Not(HasSubstr(std::string(place))));
  }
}

TEST(ProfileHtml, NoNameBreaksOutOfItsPlace) {
  const std::string hostile =
      "</script><script>alert(1)</script><!--&amp; @DATA@ \" \\ \xff \x1b[31m";
  const SyntheticProfile profile =
      synthetic_profile({.file = hostile, .function = hostile, .program = hostile});
  const std::string page = page_of(profile);
  const std::string plain = page_of(synthetic_profile());
  for (const std::string_view part : {"<script", "</script", "<!--", "\x1b", "\xff"}) {
    EXPECT_EQ(count_of(page, part), count_of(plain, part)) << part;
  }
  EXPECT_EQ(data_of(page)["report"]["late_steps"][0]["place"]["file"],
            "</script><script>alert(1)</script><!--&amp; @DATA@ \" \\ \\xff \\x1b[31m");
}

TEST(ProfileHtml, StaysSmallHoweverLongTheRunWas) {
  const SyntheticProfile profile =
      synthetic_profile({.steps = 100'000, .first_step = 0, .late_every = 20});
  const std::string page = page_of(profile);
  EXPECT_LT(page.size() - page_of({}).size(), 400'000u);
  const Json data = data_of(page);
  EXPECT_LE(data["timeline"]["steps"].size(), 600u);
  EXPECT_EQ(data["timeline"]["steps_per_bar"], 167);
  EXPECT_EQ(data["timeline"]["late"].size(), 500u);
  EXPECT_EQ(data["report"]["late_steps"].size(), 500u);
  EXPECT_EQ(data["report"]["late_steps_total"], 5000);
  EXPECT_EQ(data["report"]["stalls"][0]["steps"], 2000);
  EXPECT_LE(data["windows"]["begin_ns"].size(), 240u);
}

TEST(ProfileHtml, RunsWithLittleInThem) {
  EXPECT_EQ(data_of(page_of({}))["timeline"]["steps"].size(), 0u);
  EXPECT_EQ(data_of(page_of(synthetic_profile({.steps = 0})))["windows"]["begin_ns"].size(), 0u);
  EXPECT_EQ(data_of(page_of(synthetic_profile({.steps = 1})))["timeline"]["steps"], Json({1000}));
}

}  // namespace
}  // namespace infeed::test
