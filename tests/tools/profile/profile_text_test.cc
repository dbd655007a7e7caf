#include "profile/outputs/profile_text.h"

#include <cstdio>
#include <memory>

#include <infeed/detail/printable_text.h>

#include "matchers.h"
#include "tools/profile/synthetic_run.h"

namespace infeed::test {
namespace {

std::vector<std::string> text_of(const SyntheticProfile& profile) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> nowhere(std::fopen("/dev/null", "w"),
                                                                &std::fclose);
  return tools::profile_text(profile.run, profile.report,
                             tools::Terminal(nowhere.get(), {.unicode = false}));
}

std::string joined(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

TEST(ProfileText, SaysWhatTheReportSays) {
  const std::vector<std::string> lines = text_of(synthetic_profile());
  EXPECT_EQ(lines.front(), "train on host-1 (process 4242), 400 steps in 8.4 s");
  const std::string text = joined(lines);
  EXPECT_THAT(text, HasSubstr("\nHIGHLY input-bound: the steps wait for map 'augment'"));
  EXPECT_THAT(text, HasSubstr("W wait for input 23.0 %   T transfer 4.7 %   C compute 58.0 %   "
                              "A all-reduce 9.5 %   . idle 4.7 %\n"));
  EXPECT_THAT(text, HasSubstr("typical step 20 ms, slowest 80 ms; 47.4 steps and"));
  EXPECT_THAT(text, HasSubstr("10 of 400 steps were late, by 430 ms together\n"));
  EXPECT_THAT(text, HasSubstr("    4 steps  slow read in records\n"));
  EXPECT_THAT(text, HasSubstr("data/train-00003-of-00016.tfrecord, record 68 at byte 55,210\n"));
  EXPECT_THAT(text, HasSubstr("no record can be named: the order of shuffle isn't known here\n"));
  EXPECT_THAT(text, HasSubstr("the device, with an infinitely fast pipeline     62.5  ####"));
  EXPECT_THAT(text, HasSubstr("      +22 %   +19 %  twice the cores\n"));
  EXPECT_THAT(text, HasSubstr("      +21 %       -  cache behind the map\n"));
}

/// The reason stood in the sentence, and again below it.
TEST(ProfileText, SaysOnceWhyNoRecordCanBeNamed) {
  SyntheticProfile profile = synthetic_profile();
  const std::string reason = "the order of shuffle isn't known here";
  for (tools::LateStep& late : profile.report.late_steps) {
    if (late.cause == tools::Cause::slow_element)
      late.sentence = "element 7, not traced (" + reason + ")";
  }
  const std::string text = joined(text_of(profile));
  EXPECT_THAT(text, HasSubstr("not traced (" + reason + ")"));
  EXPECT_THAT(text, Not(HasSubstr("no record can be named")));
}

TEST(ProfileText, ListsWhatTheProgramTried) {
  SyntheticProfile profile = synthetic_profile();
  EXPECT_THAT(joined(text_of(profile)), Not(HasSubstr("Tried while it ran")));
  profile.run.tuning = {
      {.at_ns = 1, .text = "  2.0 s  map 2 -> 4: a try; predicted +90 %, under way"},
      {.at_ns = 2, .text = "  2.0 s  map 2 -> 4: a try; predicted +90 %, got +84 %, rolled back"},
      {.at_ns = 3, .text = "INFEED_TRY: 1 setting was tried"}};
  EXPECT_THAT(
      joined(text_of(profile)),
      HasSubstr("Tried while it ran\n  2.0 s  map 2 -> 4: a try; predicted +90 %, got +84 %, "
                "rolled back\n  INFEED_TRY: 1 setting was tried\n"));
  profile.run.tuning.clear();
  profile.report.program_tries = true;
  EXPECT_THAT(joined(text_of(profile)),
              HasSubstr("Tried while it ran\n  nothing: no stage has a setting marked autotune"));
}

TEST(ProfileText, MarksTheBottleneckAndNoOtherStage) {
  const std::vector<std::string> lines = text_of(synthetic_profile());
  EXPECT_THAT(lines, Contains(AllOf(HasSubstr("map 'augment' "), StartsWith("> "),
                                    HasSubstr("1,598      1,758   90 %"))));
  EXPECT_EQ(std::count_if(lines.begin(), lines.end(),
                          [](const std::string& line) { return line.starts_with(">"); }),
            1);
}

TEST(ProfileText, NoNameBreaksOutOfItsPlace) {
  const SyntheticProfile profile =
      synthetic_profile({.file = "a\x1b[31m\nb\xff",
                         .function = "</script>\n\x1b]0;title\x07 \xc3\x28 \"q\"",
                         .program = std::string(3000, 'x')});
  for (const std::string& line : text_of(profile)) {
    EXPECT_LE(line.size(), 100u) << line;
    EXPECT_EQ(detail::printable_text(line), line);
  }
}

TEST(ProfileText, RunsWithLittleInThem) {
  EXPECT_THAT(joined(text_of({})), HasSubstr("No step was recorded.\n"));
  EXPECT_THAT(joined(text_of(synthetic_profile({.steps = 0}))),
              AllOf(HasSubstr("No step was recorded.\n"), Not(HasSubstr("nan"))));
  EXPECT_THAT(joined(text_of(synthetic_profile({.steps = 1, .late_every = 0}))),
              AllOf(HasSubstr("No step was late.\n"), Not(HasSubstr("nan"))));
  SyntheticProfile profile = synthetic_profile();
  profile.run.windows.clear();
  profile.run.is_cut = true;
  profile.run.dropped_events = 1234;
  EXPECT_THAT(joined(text_of(profile)), AllOf(HasSubstr("the recording has no end"),
                                              HasSubstr("1,234 events came too quickly")));
}

}  // namespace
}  // namespace infeed::test
