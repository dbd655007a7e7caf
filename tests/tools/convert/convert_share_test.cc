#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <nlohmann/json.hpp>

#include "convert/convert.h"
#include "convert/journal.h"
#include "seeded_random.h"
#include "thrown_error.h"
#include "tools/convert/drawn_calls.h"
#include "tools/convert/numbered_inputs.h"
#include "tools/convert/shared_conversion.h"

/// `infeed convert --shard i/n` and `--finish`: several processes make what one makes.
namespace infeed::test {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

class ConvertShare : public ::testing::Test {
 protected:
  /// Runs a command into a folder.
  ProgramResult run(const std::vector<std::string>& words, const std::string& output,
                    const std::vector<std::string>& more, const ProgramOptions& options = {}) {
    return run_infeed(with(with(words, {"-o", folder_.file(output)}), more), options);
  }
  /// Runs a command that must succeed; returns its output.
  std::string done(const std::string& output, const std::vector<std::string>& more) {
    const ProgramResult result = run(table(), output, more);
    EXPECT_EQ(result.status, 0) << result.err;
    return result.out;
  }
  /// Runs a command that must fail with one line; returns that.
  std::string failed(const std::string& output, const std::vector<std::string>& more) {
    const ProgramResult result = run(table(), output, more);
    EXPECT_EQ(result.status, 1) << result.out;
    EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
    return result.err;
  }
  std::vector<std::string> table() const {
    return {"convert", folder_.file("table.csv"), "--shards", "7"};
  }
  void write_table(int rows) const { folder_.write("table.csv", prices(rows)); }
  std::string differences(const std::string& output) const {
    return difference(folder_content(folder_.file("whole")), folder_content(folder_.file(output)));
  }

  const TemporaryFolder folder_;
};

TEST_F(ConvertShare, ALoopOfTheShellMakesTheBytesOfOneProcess) {
  for (const SharedInput& input : write_shared_inputs(folder_)) {
    SCOPED_TRACE(input.name);
    ASSERT_EQ(run(input.words, "whole", {}).status, 0);
    for (const std::string loop :
         {R"(for i in 2 0 1; do "$@" --shard $i/3 || exit 1; done; "$@" --finish)",
          R"(for i in 0 1 2; do "$@" --shard $i/3 & pids="$pids $!"; done
             for pid in $pids; do wait $pid || exit 1; done; "$@" --finish)",
          R"(seq 0 8 | xargs -P 3 -I {} "$@" --shard {}/9 && "$@" --finish)"}) {
      const ProgramResult result = run_infeed(
          with(with({"-c", loop, "sh", INFEED_COMMAND}, input.words), {"-o", folder_.file("out")}),
          {.program = "/bin/sh"});
      EXPECT_EQ(result.status, 0) << result.err;
      EXPECT_EQ(differences("out"), "") << loop;
      fs::remove_all(folder_.file("out"));
    }
    fs::remove_all(folder_.file("whole"));
  }
}

TEST_F(ConvertShare, CommandsOfTheReadmeMakeTheBytesOfOneProcess) {
  const std::string readme = read_whole(INFEED_README);
  const std::string marker = "<!-- commands: convert over machines -->\n```sh\n";
  const std::size_t begin = readme.find(marker);
  ASSERT_NE(begin, std::string::npos);
  const std::size_t first = begin + marker.size();
  const std::string commands = readme.substr(first, readme.find("```", first) - first);
  for (const std::string name : {"a", "b"}) folder_.write("logs/" + name + ".csv", prices(50));
  const std::string prepare = R"(cd "$1"; infeed() { "$0" "$@"; }
)";
  const ProgramOptions shell{.program = "/bin/sh"};
  const ProgramResult one =
      run_infeed({"-ec", prepare + "infeed convert 'logs/*.csv' -o whole --shards 12",
                  INFEED_COMMAND, folder_.path()},
                 shell);
  ASSERT_EQ(one.status, 0) << one.err;
  const ProgramResult all =
      run_infeed({"-ec", prepare + commands, INFEED_COMMAND, folder_.path()}, shell);
  EXPECT_EQ(all.status, 0) << all.err;
  EXPECT_EQ(differences("shards"), "");
}

TEST_F(ConvertShare, ShareKilledAtDrawnMomentsAndRunAgainMakesTheSameBytes) {
  write_table(20'000);
  SeededRandom random;
  const auto begin = Clock::now();
  done("whole", {});
  const auto run_us =
      static_cast<std::uint64_t>((Clock::now() - begin) / std::chrono::microseconds(1));
  // Beyond the end now and then, so that a part ends however slow the program is.
  int kills = 0;
  for (int round = 0; kills < 30; ++round) {
    for (const std::string part : {"--shard 0/2", "--shard 1/2", "--finish"}) {
      std::vector<std::string> words{part};
      if (const auto space = part.find(' '); space != std::string::npos) {
        words = {part.substr(0, space), part.substr(space + 1)};
      }
      for (auto moments_us = run_us * 5 / 4;; moments_us += moments_us / 16) {
        const auto moment = Clock::now() + std::chrono::microseconds(random() % moments_us);
        const ProgramResult result =
            run(table(), "out", words,
                {.send_signal_when = [&] { return Clock::now() >= moment; }, .signal = SIGKILL});
        if (result.status == 0) break;
        ASSERT_EQ(result.status, 128 + SIGKILL) << result.err;
        ++kills;
      }
    }
    ASSERT_EQ(differences("out"), "") << "round " << round;
    fs::remove_all(folder_.file("out"));
  }
}

TEST_F(ConvertShare, KilledAtASystemCallTheBytesAreTheSameAfterwards) {
  write_table(30);
  const std::vector<std::string> words{"convert", folder_.file("table.csv"), "--shards", "2"};
  ASSERT_EQ(run(words, "whole", {}).status, 0);
  const std::string out = folder_.file("out");
  const std::vector<std::vector<std::string>> parts{
      {"--shard", "0/2"}, {"--shard", "1/2"}, {"--finish"}};
  for (std::size_t struck = 0; struck < parts.size(); ++struck) {
    DrawnCalls calls(struck);
    int number = calls.next();
    for (;; number = calls.next()) {
      SCOPED_TRACE(fmt::format("{} at call {}", parts[struck].front(), number));
      for (std::size_t part = 0; part < parts.size(); ++part) {
        if (part == struck) {
          run(words, "out", with(parts[part], {"--threads", "1"}),
              {.environment = {{"LD_PRELOAD", INFEED_INJECT_FAULTS},
                               {"INFEED_FAULT", fmt::format("kill {} {} {}", number, out,
                                                            folder_.file("report"))}}});
        }
        const ProgramResult result = run(words, "out", parts[part]);
        ASSERT_EQ(result.status, 0) << result.err;
      }
      ASSERT_EQ(differences("out"), "");
      fs::remove_all(out);
      if (!fs::remove(folder_.file("report"))) break;
    }
    EXPECT_GT(number, 10) << "the protocol has more system calls than that";
  }
}

TEST_F(ConvertShare, FinishNamesTheSharesThatAreMissing) {
  write_table(100);
  EXPECT_THAT(failed("out", {"--finish"}), HasSubstr("no part of"));
  EXPECT_THAT(done("out", {"--shard", "0/3"}),
              AllOf(HasSubstr("share 0/3: 44 examples in 3 shards"), HasSubstr("--finish")));
  const auto before = folder_content(folder_.file("out"));
  EXPECT_THAT(failed("out", {"--finish"}),
              AllOf(HasSubstr("4 of 7 shards are not made yet"), HasSubstr("data-00001-of-00007"),
                    HasSubstr("run --shard 1/3, --shard 2/3, then")));
  EXPECT_EQ(difference(before, folder_content(folder_.file("out"))), "");
  EXPECT_FALSE(fs::exists(folder_.file("out/data.manifest.json")));
  done("out", {"--shard", "2/3"});
  EXPECT_THAT(failed("out", {"--finish"}),
              AllOf(HasSubstr("2 of 7"), HasSubstr("run --shard 1/3, then")));
  EXPECT_THAT(done("out", {"--shard", "2/3"}), HasSubstr("in 2 shards (2 of them made before)"));
  done("out", {"--shard", "1/3"});
  done("out", {"--finish"});
  done("whole", {});
  EXPECT_EQ(differences("out"), "");
  EXPECT_THAT(done("out", {"--finish"}), HasSubstr("complete already"));
  EXPECT_THAT(done("out", {"--shard", "1/3"}), HasSubstr("complete already"));
  EXPECT_EQ(differences("out"), "");
}

TEST_F(ConvertShare, OtherArgumentsAndChangedInputsAreNamed) {
  write_table(100);
  done("out", {"--shard", "0/2"});
  const auto before = folder_content(folder_.file("out"));
  EXPECT_THAT(failed("out", {"--shard", "1/2", "--seed", "1"}),
              AllOf(HasSubstr("\"the input's\" there, \"shuffled with seed 1\" now"),
                    HasSubstr("must have the same arguments")));
  EXPECT_THAT(failed("out", {"--finish", "--compression", "gzip"}), HasSubstr("compression: "));
  write_table(101);
  EXPECT_THAT(failed("out", {"--shard", "1/2"}),
              AllOf(HasSubstr(folder_.file("table.csv")), HasSubstr("input_examples: 100")));
  EXPECT_THAT(failed("out", {"--finish"}), HasSubstr(folder_.file("table.csv")));
  EXPECT_EQ(difference(before, folder_content(folder_.file("out"))), "") << "it was touched";
}

TEST_F(ConvertShare, FinishNamesAPartOfAnotherPlan) {
  write_table(100);
  done("other", {"--shard", "1/2", "--seed", "9"});
  done("out", {"--shard", "0/2"});
  done("out", {"--shard", "1/2"});
  // A host that saw another folder under this name, and copied its files here.
  const std::string journal = "/.data.share-00001-of-00002.journal";
  fs::copy_file(folder_.file("other") + journal, folder_.file("out") + journal,
                fs::copy_options::overwrite_existing);
  EXPECT_THAT(failed("out", {"--finish"}),
              AllOf(HasSubstr("--shard 1/2 was made with other arguments or inputs (order: "),
                    HasSubstr("shuffled with seed 9"), HasSubstr("make it again")));
  done("out", {"--shard", "1/2"});
  done("out", {"--finish"});
  done("whole", {});
  EXPECT_EQ(differences("out"), "");
}

TEST_F(ConvertShare, FinishNamesADamagedShard) {
  write_table(200);
  done("whole", {});
  const std::string shard = folder_.file("out/data-00003-of-00007.tfrecord");
  done("out", {"--shard", "0/2"});
  done("out", {"--shard", "1/2"});
  write_at(shard, 60, "XX");
  EXPECT_THAT(failed("out", {"--finish", "--check"}),
              AllOf(HasSubstr("'data-00003-of-00007.tfrecord' has the checksum"),
                    HasSubstr("make it again")));
  fs::resize_file(shard, 10);
  EXPECT_THAT(failed("out", {"--finish"}), HasSubstr("has 10 bytes instead of"));
  EXPECT_THAT(done("out", {"--shard", "1/2"}), HasSubstr("in 3 shards (2 of them made before)"));
  fs::remove(folder_.file("out/data-00000-of-00007.tfrecord.index"));
  EXPECT_THAT(failed("out", {"--finish"}), HasSubstr("tfrecord.index' is missing"));
  done("out", {"--shard", "0/2"});
  done("out", {"--finish", "--check"});
  EXPECT_EQ(differences("out"), "");
}

TEST_F(ConvertShare, AnotherNumberOfProcessesGoesOn) {
  write_table(300);
  done("whole", {});
  done("out", {"--shard", "0/3"});  // shards 0, 3, 6
  EXPECT_THAT(done("out", {"--shard", "0/2"}), HasSubstr("in 4 shards (2 of them made before)"));
  EXPECT_THAT(done("out", {"--shard", "1/2"}), HasSubstr("in 3 shards (1 of them made before)"));
  EXPECT_THAT(done("out", {"--finish"}), HasSubstr("in 7 shards (7 of them made before)"));
  EXPECT_EQ(differences("out"), "");

  fs::remove_all(folder_.file("out"));
  done("out", {"--shard", "0/3"});
  EXPECT_THAT(done("out", {"--dry-run"}), HasSubstr("7 shards (3 of them made before)"));
  EXPECT_THAT(done("out", {}), HasSubstr("in 7 shards (3 of them made before)"));
  EXPECT_EQ(differences("out"), "");

  fs::remove_all(folder_.file("out"));
  done("out", {"--shard", "0/3", "--seed", "4"});
  done("out", {"--overwrite"});
  EXPECT_EQ(differences("out"), "") << "what other parts left must be gone";
}

TEST_F(ConvertShare, SharesBeyondTheShardsHaveNoWork) {
  write_table(20);
  EXPECT_THAT(done("out", {"--shard", "8/9", "--json", folder_.file("json")}),
              HasSubstr("there is no shard for it"));
  const auto set = nlohmann::json::parse(std::ifstream(folder_.file("json"))).at("sets").at(0);
  EXPECT_EQ(set.at("share"), "8/9");
  EXPECT_EQ(set.at("shards"), 0);
}

TEST_F(ConvertShare, RunningPartsAreNotDisturbed) {
  write_table(20);
  done("out", {"--shard", "0/2"});
  {
    const tools::Journal running(folder_.file("out/.data.share-00001-of-00002.journal"),
                                 Durability::leave_to_system);
    EXPECT_THAT(failed("out", {"--shard", "1/2"}),
                HasSubstr("somebody else is making --shard 1/2 at this moment"));
    for (const std::string word : {"--finish", "--overwrite", "--no-sync"}) {
      EXPECT_THAT(failed("out", {word}), HasSubstr("making --shard 1/2 at this moment")) << word;
    }
    EXPECT_FALSE(fs::exists(folder_.file("out/.data.journal")));
    done("out", {"--shard", "0/2"});
  }
  const tools::Journal whole(folder_.file("out/.data.journal"), Durability::leave_to_system);
  EXPECT_THAT(failed("out", {"--shard", "1/2"}), HasSubstr("or finishing it, at this moment"));
}

TEST_F(ConvertShare, WrongUsageIsSaidAtOnce) {
  write_table(20);
  for (const std::string share : {"3/3", "1", "/2", "1/", "-1/2", "1/2/3", "a/b", "1/0"}) {
    const ProgramResult result = run(table(), "out", {"--shard", share});
    EXPECT_EQ(result.status, 2) << share;
    EXPECT_THAT(result.err, HasSubstr("i/n")) << share;
  }
  EXPECT_EQ(run(table(), "out", {"--shard", "0/2", "--finish"}).status, 2);
  EXPECT_EQ(run(table(), "out", {"--shard", "0/2", "--overwrite"}).status, 2);
  EXPECT_EQ(run(table(), "out", {"--finish", "--overwrite"}).status, 2);
  EXPECT_FALSE(fs::exists(folder_.file("out")));
}

TEST_F(ConvertShare, BadExamplesOfAllPartsCountTogether) {
  std::stop_source stop;
  const NumberInput input({3, 30}, 1000, stop);  // one in each share
  tools::ConvertOptions options{
      .prefix = folder_.file("out/data"), .shard_count = 4, .quarantine_max = 1};
  for (const std::uint32_t index : {0U, 1U}) {
    options.share = Shard{.count = 2, .index = index};
    EXPECT_EQ(convert(input, options).manifest.quarantined.size(), 1);
  }
  options.share.reset();
  options.finish_only = true;
  const Error error = error_of([&] { convert(input, options); });
  EXPECT_THAT(error.message(), AllOf(HasSubstr("2 bad examples"), HasSubstr("number 3")));
  options.quarantine_max = 2;
  EXPECT_EQ(convert(input, options).manifest.quarantined.size(), 2);
}

}  // namespace
}  // namespace infeed::test
