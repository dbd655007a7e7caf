#include <regex>
#include <sstream>

#include "matchers.h"
#include "temporary_folder.h"
#include "tools/run_program.h"

namespace infeed::test {
namespace {

using ::testing::EndsWith;

/// Expects one line, without anything that only a programmer understands.
void expect_one_line(const std::string& text) {
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1) << text;
  EXPECT_THAT(text, StartsWith("infeed"));
  EXPECT_THAT(text, EndsWith("\n"));
}

TEST(CommandLine, VersionAndHelp) {
  const ProgramResult version = run_infeed({"--version"});
  EXPECT_EQ(version.status, 0);
  EXPECT_THAT(version.out, StartsWith("infeed 0."));
  const ProgramResult help = run_infeed({"--help"});
  EXPECT_EQ(help.status, 0);
  EXPECT_THAT(help.out, AllOf(HasSubstr("convert"), HasSubstr("train"), HasSubstr("Exit status")));
  const ProgramResult train = run_infeed({"train", "--help"});
  EXPECT_EQ(train.status, 0);
  EXPECT_THAT(train.out, AllOf(HasSubstr("--slice"), HasSubstr("--json"), HasSubstr("deep-mnist")));
}

/// Returns the first groups of all matches.
std::vector<std::string> all_of(const std::string& text, const std::string& pattern) {
  std::vector<std::string> found;
  const std::regex regex(pattern);
  for (auto at = std::sregex_iterator(text.begin(), text.end(), regex);
       at != std::sregex_iterator(); ++at) {
    found.push_back((*at)[1]);
  }
  return found;
}

/// Returns the commands of `infeed --help`.
std::vector<std::string> listed_commands() {
  const std::string help = run_infeed({"--help"}).out;
  return all_of(help.substr(help.find("\nCommands:\n")), "\n  ([a-z]+)  ");
}

/// Returns the options of `infeed COMMAND --help`: their long names.
std::vector<std::string> listed_options(const std::string& command) {
  return all_of(run_infeed({command, "--help"}).out, "\n  (?:-[a-zA-Z], |    )--([a-z-]+)");
}

/// Returns the words that don't stand in the text between these two, with each - as `hyphen`.
std::vector<std::string> missing_words(const std::vector<std::string>& words,
                                       const std::string& before, const std::string& behind,
                                       const std::string& text, const std::string& hyphen = "-") {
  std::vector<std::string> missing;
  for (const std::string& word : words) {
    const std::string shown = std::regex_replace(word, std::regex("-"), hyphen);
    if (text.find(before + shown + behind) == text.npos) missing.push_back(word);
  }
  return missing;
}

TEST(CommandLine, EachCommandAndOptionIsInManualPagesAndCompletions) {
  const std::vector<std::string> commands = listed_commands();
  EXPECT_THAT(commands, AllOf(SizeIs(::testing::Ge(17)), Contains("convert"), Contains("help")));
  const std::string page = run_infeed({"help", "--man"}).out;
  const std::string bash = run_infeed({"completion", "bash"}).out;
  const std::string zsh = run_infeed({"completion", "zsh"}).out;
  EXPECT_THAT(missing_words(commands, ".BR infeed\\-", " (1)\n", page), IsEmpty());
  EXPECT_THAT(missing_words(commands, "\n    ", ")\n", bash), IsEmpty());
  EXPECT_THAT(missing_words(commands, "\n    ", ")\n", zsh), IsEmpty());
  EXPECT_THAT(missing_words({"help", "gone"}, "\n    ", ")\n", bash), ElementsAre("gone"));
  const auto part_of = [](const std::string& script, const std::string& command) {
    const std::size_t at = script.find("\n    " + command + ")\n");
    return script.substr(at, script.find("\n      ;;\n", at) - at);
  };
  for (const std::string& command : commands) {
    SCOPED_TRACE(command);
    const std::vector<std::string> options = listed_options(command);
    EXPECT_THAT(options, Contains("help"));
    EXPECT_THAT(missing_words(options, "\\fB\\-\\-", "\\fR",
                              run_infeed({"help", command, "--man"}).out, "\\-"),
                IsEmpty());
    EXPECT_THAT(missing_words(options, " --", "", part_of(bash, command)), IsEmpty());
    EXPECT_THAT(missing_words(options, "--", "", part_of(zsh, command)), IsEmpty());
  }
}

TEST(CommandLine, HelpIsAskedForInEveryUsualWay) {
  const std::string whole = run_infeed({"--help"}).out;
  EXPECT_EQ(run_infeed({"-h"}).out, whole);
  EXPECT_EQ(run_infeed({"help"}).out, whole);
  for (const std::string& name : listed_commands()) {
    SCOPED_TRACE(name);
    EXPECT_THAT(whole, HasSubstr("\n  " + name + " "));
    const ProgramResult own = run_infeed({name, "--help"});
    EXPECT_EQ(own.status, 0);
    EXPECT_THAT(own.err, IsEmpty());
    EXPECT_THAT(own.out, StartsWith("Usage: infeed " + name + " [OPTION]..."));
    EXPECT_THAT(own.out, HasSubstr("\nExample"));
    EXPECT_EQ(run_infeed({name, "-h"}).out, own.out);
    EXPECT_EQ(run_infeed({"--help", name}).out, own.out);
    EXPECT_EQ(run_infeed({"help", name}).out, own.out);
  }
  EXPECT_EQ(run_infeed({"-V"}).out, run_infeed({"--version"}).out);
}

TEST(CommandLine, HelpFitsIntoEightyColumns) {
  std::istringstream lines(run_infeed({"convert", "--help"}).out);
  for (std::string line; std::getline(lines, line);) {
    const bool is_to_be_copied =
        line.find(": infeed ") != std::string::npos || line.starts_with("          infeed ");
    EXPECT_TRUE(line.size() <= 80 || is_to_be_copied) << line;
  }
}

TEST(CommandLine, HelpSaysWhatAnOptionTakes) {
  const std::string help = run_infeed({"convert", "--help"}).out;
  EXPECT_THAT(help, HasSubstr("Usage: infeed convert [OPTION]... [INPUT...]\n"));
  EXPECT_THAT(help, HasSubstr("\n  -o, --output DIR "));
  EXPECT_THAT(help, HasSubstr("not with --data"));
  EXPECT_THAT(help, HasSubstr("(required)"));
  const std::string verify = run_infeed({"verify", "--help"}).out;
  EXPECT_THAT(verify, HasSubstr("[OPTION]... NAME...\n"));
  EXPECT_THAT(verify,
              HasSubstr("\n      --threads N       Threads to use; 0: one a core (0 to 1024; "
                        "default 0)\n"));
}

TEST(CommandLine, HelpShowsTheWholeFormOfAValue) {
  EXPECT_THAT(run_infeed({"profile", "--help"}).out, HasSubstr("--replay SLICE[:MODEL[:BATCH]]"));
}

TEST(CommandLine, ManualPagesHaveEveryCommandAndNothingOfThisMachine) {
  const ProgramOptions home{.environment = {{"HOME", "/tmp"}}};
  const ProgramResult page = run_infeed({"help", "--man"}, home);
  EXPECT_EQ(page.status, 0);
  EXPECT_THAT(page.out, StartsWith(".TH infeed 1 "));
  EXPECT_THAT(page.out, HasSubstr("\n.SH NAME\ninfeed \\- "));
  EXPECT_THAT(page.out, HasSubstr("\n.BR infeed\\-convert (1)\nWrite "));
  EXPECT_THAT(page.out, HasSubstr("\n.BR infeed\\-help (1)\n"));
  const ProgramResult convert = run_infeed({"help", "convert", "--man"}, home);
  EXPECT_EQ(convert.status, 0);
  EXPECT_THAT(convert.out, StartsWith(".TH infeed\\-convert 1 "));
  EXPECT_THAT(convert.out, HasSubstr("\n.SH SYNOPSIS\ninfeed convert [OPTION]... [INPUT...]\n"));
  EXPECT_THAT(convert.out, HasSubstr("\n.TP\n\\fB\\-o\\fR, \\fB\\-\\-output\\fR \\fIDIR\\fR\n"));
  EXPECT_THAT(run_infeed({"help", "train", "--man"}, home).out, Not(HasSubstr("/tmp")));
}

/// Returns what bash offers behind these words, the last of which is being typed.
std::string completed(const std::string& words) {
  const std::string script = R"(source <("$0" completion bash); COMP_WORDS=($1)
    ((COMP_CWORD = ${#COMP_WORDS[@]} - 1)); [[ ${COMP_WORDS[-1]} != _ ]] || COMP_WORDS[-1]=
    _infeed; echo "${COMPREPLY[*]}")";
  const ProgramResult result =
      run_infeed({"-c", script, INFEED_COMMAND, words}, {.program = "/bin/bash"});
  EXPECT_EQ(result.err, "");
  return result.out;
}

TEST(CommandLine, BashCompletesCommandsOptionsAndValues) {
  EXPECT_EQ(completed("infeed con"), "convert\n");
  EXPECT_EQ(completed("infeed --ver"), "--version\n");
  EXPECT_EQ(completed("infeed help tra"), "train\n");
  EXPECT_EQ(completed("infeed completion _"), "bash zsh\n");
  EXPECT_EQ(completed("infeed convert --outp"), "--output\n");
  EXPECT_THAT(completed("infeed convert --compression _"), HasSubstr("gzip"));
  EXPECT_EQ(completed("infeed convert --compression = gz"), "gzip\n");
  EXPECT_EQ(completed("infeed convert -o _"), "\n") << "bash takes names of files";
  EXPECT_EQ(completed("infeed convert peo"), "\n");
}

TEST(CommandLine, ZshCompletionHasEveryOptionWithItsDescription) {
  const std::string script = run_infeed({"completion", "zsh"}).out;
  EXPECT_THAT(script, StartsWith("#compdef infeed\n"));
  EXPECT_THAT(script, HasSubstr("\n      'convert:Write "));
  EXPECT_THAT(script, HasSubstr("'(-o --output)--output=[Folder"));
  EXPECT_THAT(script, HasSubstr("\n    help)\n"));
  EXPECT_EQ(run_infeed({"completion", "fish"}).status, 2);
}

struct WrongUsage {
  const char* name;
  std::vector<std::string> arguments;
  std::vector<std::string> said;
};

class WrongUsageTest : public ::testing::TestWithParam<WrongUsage> {};

TEST_P(WrongUsageTest, IsOneLineAndStatus2) {
  const ProgramResult result = run_infeed(GetParam().arguments);
  EXPECT_EQ(result.status, 2);
  EXPECT_THAT(result.out, IsEmpty());
  expect_one_line(result.err);
  for (const std::string& text : GetParam().said) EXPECT_THAT(result.err, HasSubstr(text));
  EXPECT_THAT(result.err, HasSubstr("--help"));
}

INSTANTIATE_TEST_SUITE_P(
    CommandLine, WrongUsageTest,
    ::testing::Values(
        WrongUsage{"Nothing", {}, {"which command?", "convert, reshard, inspect, batch, verify"}},
        WrongUsage{"UnknownCommand",
                   {"trane"},
                   {"no command 'trane'", "convert, reshard, inspect, batch, verify"}},
        WrongUsage{"UnknownOption", {"train", "--fast"}, {"infeed train:", "no option --fast;"}},
        WrongUsage{"MistypedCommand", {"trian"}, {"no command 'trian'; did you mean train?"}},
        WrongUsage{"MistypedOption",
                   {"convert", "a.csv", "--ouput", "x"},
                   {"infeed convert: there is no option --ouput; did you mean --output?"}},
        WrongUsage{"MistypedOptionWithValue",
                   {"verify", "x", "--theads=3"},
                   {"no option --theads; did you mean --threads?"}},
        WrongUsage{"BeginOfAnOption",
                   {"convert", "-o", "x", "--quarantine", "3"},
                   {"did you mean --quarantine-max?"}},
        WrongUsage{"NegativeQuarantine",
                   {"convert", "-o", "x", "--quarantine-max", "-1"},
                   {"--quarantine-max", "'-1' is given, but a whole number, 0 or more"}},
        WrongUsage{"NegativeSeed", {"convert", "-o", "x", "--seed", "-1"}, {"--seed", "0 or more"}},
        WrongUsage{
            "HugeSeed", {"train", "--seed", "18446744073709551616"}, {"--seed", "too large"}},
        WrongUsage{"NegativeTrainSeed", {"train", "--seed", "-1"}, {"--seed", "0 or more"}},
        WrongUsage{"NegativeShards", {"convert", "-o", "x", "--shards", "-1"}, {"--shards", "-1"}},
        WrongUsage{"NegativeShardSize",
                   {"convert", "-o", "x", "--shard-size", "-5MB"},
                   {"--shard-size", "0 or more"}},
        WrongUsage{"NegativeThreads", {"verify", "x", "--threads", "-1"}, {"--threads", "-1"}},
        WrongUsage{"NegativeShow", {"inspect", "x", "--show", "-1"}, {"--show", "0 or more"}},
        WrongUsage{"InspectNothing",
                   {"inspect", "x", "--records", "0"},
                   {"--records: 0 is given, but at least 1 is expected"}},
        WrongUsage{"EmptyOutput", {"convert", "x.csv", "-o", ""}, {"--output", "an empty text"}},
        WrongUsage{"EmptyName",
                   {"convert", "x.csv", "-o", "x", "--name", ""},
                   {"--name", "an empty text"}},
        WrongUsage{"EmptyInput", {"convert", "", "-o", "x"}, {"INPUT", "an empty text"}},
        WrongUsage{"EmptyJsonFile", {"verify", "x", "--json", ""}, {"--json", "an empty text"}},
        WrongUsage{"ResizeWithoutDecoding",
                   {"convert", "x", "-o", "x", "--resize", "32"},
                   {"--resize", "--decode-images"}},
        WrongUsage{"ResizeToNothing",
                   {"convert", "x", "-o", "x", "--decode-images", "--resize", "0x5"},
                   {"'0x5' is no size", "WIDTHxHEIGHT"}},
        WrongUsage{"TwoChannels",
                   {"convert", "x", "-o", "x", "--decode-images", "--channels", "2"},
                   {"--channels", "2"}},
        WrongUsage{"SplitByWithoutAShare",
                   {"convert", "x", "-o", "x", "--split-by", "user"},
                   {"--split-by", "--validation"}},
        WrongUsage{
            "HelpForAnUnknownCommand",
            {"help", "trane"},
            {"infeed help:", "no command 'trane'", "convert, reshard, inspect, batch, verify"}},
        WrongUsage{"MissingValue", {"train", "--seed"}, {"--seed: a value is expected behind it"}},
        WrongUsage{"MissingNumber",
                   {"verify", "x", "--threads"},
                   {"--threads: a value is expected behind it"}},
        WrongUsage{
            "OptionInPlaceOfACommand", {"--nosuch"}, {"infeed: there is no option --nosuch"}},
        WrongUsage{"OptionBeforeTheCommand",
                   {"--nosuch", "convert"},
                   {"infeed: there is no option --nosuch"}},
        WrongUsage{"CountWithAnExponent",
                   {"convert", "-o", "x", "--shards", "1e3"},
                   {"--shards: '1e3' is given, but a whole number, 0 or more, is expected"}},
        WrongUsage{"CountWithAUnit",
                   {"verify", "x", "--threads", "1k"},
                   {"--threads: '1k' is given, but a whole number"}},
        WrongUsage{"CountWithAFraction",
                   {"convert", "-o", "x", "--seed", "1.5"},
                   {"--seed: '1.5' is given, but a whole number"}},
        WrongUsage{"HexadecimalCount",
                   {"inspect", "x", "--show", "0x10"},
                   {"--show: '0x10' is given, but a whole number"}},
        WrongUsage{"LeadingZerosMakeNoOctalNumber",  // 01025 would be 533, in the range
                   {"verify", "x", "--threads", "01025"},
                   {"--threads: 1025 is given, but 0 to 1024 is expected; see"}},
        WrongUsage{"CountBeyondItsRange",
                   {"convert", "-o", "x", "--shards", "18446744073709551616"},
                   {"--shards", "1 to 99999"}},
        WrongUsage{"SizeWithAFraction",
                   {"convert", "-o", "x", "--shard-size", "1.5GiB"},
                   {"'1.5GiB' is given, but a whole number, 0 or more, is expected, with a unit"}},
        WrongUsage{"HexadecimalSize",
                   {"convert", "-o", "x", "--shard-size", "0x100"},
                   {"'0x100' is given, but a whole number"}},
        WrongUsage{"PipelineAndProgram",
                   {"profile", "x", "--pipeline", "x", "--", "./train"},
                   {"PROGRAM excludes --pipeline"}},
        WrongUsage{"SecondsOfNoPipeline",
                   {"profile", "x", "--seconds", "5"},
                   {"--seconds requires --pipeline"}},
        WrongUsage{"SizeOfNoPicture",
                   {"inspect", "x", "--picture-size", "4x2"},
                   {"--picture-size requires --picture"}},
        WrongUsage{"NoProcess", {"top", "abc"}, {"PID: 'abc' is given, but a whole number"}},
        WrongUsage{"NoLearningRate",
                   {"step", "--sweep-batch", "--learning-rate", "0"},
                   {"--learning-rate: 0 is given, but a number above 0 is expected"}},
        WrongUsage{"NotANumber", {"train", "--seed", "x"}, {"--seed", "x"}},
        WrongUsage{"OutOfRange", {"train", "--seconds", "0"}, {"--seconds", "0"}},
        WrongUsage{"WrongSlice",
                   {"train", "--slice", "v3-9"},
                   {"--slice", "'v3-9'", "v3-8, v2-8, v3-32", "v4:4x4x12"}},
        WrongUsage{"SliceOfManyHosts", {"train", "--slice", "v3-32"}, {"4 hosts", "v3-8"}},
        WrongUsage{"WrongModel",
                   {"train", "--model-cost", "bert"},
                   {"unknown workload 'bert'", "classifier", "resnet50"}},
        WrongUsage{"WrongSliceOfAStep", {"step", "--slice", "v3-9"}, {"--slice", "'v3-9'"}},
        WrongUsage{"WrongModelOfAStep", {"step", "--model", "bert"}, {"unknown workload 'bert'"}},
        WrongUsage{"WrongPrecision", {"step", "--precision", "int4"}, {"--precision", "int4"}},
        WrongUsage{"WrongOptimizer", {"step", "--optimizer", "sdg"}, {"unknown optimiser 'sdg'"}},
        WrongUsage{"WrongCompression",
                   {"train", "--compression", "lz4"},
                   {"--compression: 'lz4' is given, but one of none, gzip is expected; see"}},
        WrongUsage{"MistypedCompression", {"train", "--compression", "gzp"}, {"mean gzip?; see"}},
        WrongUsage{"LongValue", {"train", "--compression", std::string(100'000, 'x')}, {"xxx"}},
        WrongUsage{"TooManyArguments",
                   {"train", "now"},
                   {"infeed train: 'now' is given, but no such argument is expected; see"}},
        WrongUsage{"OptionGivenTwice",
                   {"train", "--seed", "1", "--seed", "2"},
                   {"--seed: it is given 2 times, but at most 1 is expected; see"}},
        WrongUsage{"NoOutput", {"convert"}, {"infeed convert:", "--output"}},
        WrongUsage{"NoShards", {"convert", "-o", "x", "--shards", "0"}, {"--shards"}},
        WrongUsage{"NoShardSize", {"convert", "-o", "x", "--shard-size", "0"}, {"--shard-size"}},
        WrongUsage{"EpochBelowZero",
                   {"batch", "--pipeline", "p.json", "--step", "0", "--epoch", "-1"},
                   {"--epoch", "'-1'"}},
        WrongUsage{"ImagesWithoutLabels", {"convert", "-o", "x", "--images", "i"}, {"--labels"}}),
    [](const auto& test) { return test.param.name; });

/// NaN is neither below nor above a limit, so that it passed each range: convert made an empty set,
/// and pace slept -9e18 us.
TEST(CommandLine, NotANumberIsRefusedAtEveryRealOption) {
  const std::vector<std::vector<std::string>> options = {
      {"convert", "x", "-o", "x", "--validation"},
      {"reshard", "x", "-o", "x", "--validation"},
      {"pace", "--step-us"},
      {"pace", "--seconds"},
      {"pace", "--source-us"},
      {"plan", "x", "--step-us"},
      {"plan", "x", "--duty-cycle"},
      {"step", "--sweep-batch", "--learning-rate"},
      {"step", "--virtual", "10", "--service-us"},
      {"step", "--virtual", "10", "--service-spread"},
      {"profile", "x", "--pipeline", "x", "--seconds"},
      {"top", "1", "--every"},
      {"train", "--seconds"},
      {"train", "--step-us"}};
  for (std::vector<std::string> words : options) {
    const std::string option = words.back();
    words.emplace_back();
    for (const char* const value : {"nan", "-nan", "inf", "1e999", "0x1p3", "1,5", "2s"}) {
      words.back() = value;
      const ProgramResult result = run_infeed(words);
      EXPECT_EQ(result.status, 2) << option << " " << value;
      expect_one_line(result.err);
      EXPECT_THAT(result.err, AllOf(HasSubstr(option), HasSubstr(value)));
    }
  }
}

TEST(CommandLine, HelpThatCannotBePrintedIsAnError) {
  for (const char* const asked : {"--help", "--version", "help"}) {
    const ProgramResult result = run_infeed({asked}, {.stdout_file = "/dev/full"});
    EXPECT_EQ(result.status, 1) << asked;
    EXPECT_THAT(result.err, HasSubstr("output could not be written")) << asked;
  }
}

TEST(CommandLine, FullStandardOutputIsAnError) {
  const TemporaryFolder folder;
  const ProgramResult result =
      run_infeed({"convert", "-o", folder.file("shards"), "--split", "test", "--shards", "1"},
                 {.stdout_file = "/dev/full"});
  EXPECT_EQ(result.status, 1);
  expect_one_line(result.err);
  EXPECT_THAT(result.err, HasSubstr("output could not be written"));
}

}  // namespace
}  // namespace infeed::test
