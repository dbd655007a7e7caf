#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fmt/format.h>
#include <random>

#include <infeed/records/files.h>
#include <infeed/records/record_reader.h>

#include "convert/journal.h"
#include "matchers.h"
#include "seeded_random.h"
#include "temporary_folder.h"
#include "tools/convert/drawn_calls.h"
#include "tools/folder_content.h"
#include "tools/run_program.h"
#include "tools/small_dataset.h"

/// A conversion that is killed, or whose disk fails, goes on and gives the same bytes.
namespace infeed::test {
namespace {

using Clock = std::chrono::steady_clock;
using ::testing::AnyOf;

/// Images of 4x4 whose pixels are random, so that gzip has something to do.
void write_random_images(const TemporaryFolder& folder, std::uint32_t count) {
  std::mt19937 random(7);
  std::vector<std::string> images(count, std::string(16, '\0'));
  std::string labels;
  for (std::string& image : images) {
    for (char& pixel : image) pixel = static_cast<char>(random());
    labels.push_back(static_cast<char>(random() % 10));
  }
  write_images(folder.file("images"), 4, images);
  write_labels(folder.file("labels"), labels);
}

class ConvertResume : public ::testing::Test {
 protected:
  std::vector<std::string> command(const std::string& output,
                                   const std::vector<std::string>& more) const {
    std::vector<std::string> words{
        "convert", "--images",          folder_.file("images"), "--labels", folder_.file("labels"),
        "-o",      folder_.file(output)};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }

  TemporaryFolder folder_;
};

/// Every file with a shard's name is whole, and a manifest exists only if everything does.
void expect_nothing_torn(const std::string& folder, std::size_t shards) {
  std::size_t count = 0;
  for (const auto& entry : fs::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with('.') || !parse_shard_name(name)) continue;
    if (name.ends_with(".index") || name.ends_with(".points")) continue;
    EXPECT_NO_THROW(count_records(entry.path().string())) << name;
    ++count;
  }
  if (fs::exists(folder + "/data.manifest.json")) {
    EXPECT_EQ(count, shards);
  }
}

TEST_F(ConvertResume, KilledAtRandomMomentsTheBytesAreTheSame) {
  write_random_images(folder_, 20'000);
  const char* const wanted = std::getenv("INFEED_TEST_KILLS");
  const int kills_wanted = wanted != nullptr ? std::stoi(wanted) : 60;
  SeededRandom random;
  int kills = 0;
  for (int round = 0; kills < kills_wanted; ++round) {
    std::vector<std::string> options{"--shards", "24"};
    if (round % 3 == 1) options.insert(options.end(), {"--compression", "gzip"});
    if (round % 3 == 2) options.insert(options.end(), {"--compression", "lz4"});
    if (round % 2 == 1) options.insert(options.end(), {"--seed", "5"});
    const auto begin = Clock::now();
    ASSERT_EQ(run_infeed(command("whole", options)).status, 0);
    // Beyond the end now and then, so that a round ends however slow the program is.
    auto moments_us =
        static_cast<std::uint64_t>((Clock::now() - begin) / std::chrono::microseconds(1)) * 5 / 4;
    const auto whole = folder_content(folder_.file("whole"));
    while (true) {
      const auto threads = fmt::format("{}", 1 + random() % 4);
      auto words = command("killed", options);
      words.insert(words.end(), {"--threads", threads});
      const auto moment = Clock::now() + std::chrono::microseconds(random() % moments_us);
      const ProgramResult result = run_infeed(
          words, {.send_signal_when = [&] { return Clock::now() >= moment; }, .signal = SIGKILL});
      if (result.status == 0) break;
      ASSERT_EQ(result.status, 128 + SIGKILL) << result.err;
      ++kills;
      moments_us += moments_us / 16;  // the machine may have become slower
      if (fs::exists(folder_.file("killed"))) expect_nothing_torn(folder_.file("killed"), 24);
    }
    ASSERT_EQ(difference(whole, folder_content(folder_.file("killed"))), "") << "round " << round;
    fs::remove_all(folder_.file("killed"));
    fs::remove_all(folder_.file("whole"));
  }
  GTEST_LOG_(INFO) << kills << " kills";
}

struct FaultCase {
  const char* kind;
  std::vector<std::string> options;  ///< options of convert
  const char* name;
  std::size_t files = 5;  ///< two shards, an index or points of each, a manifest
};

class ConvertFaults : public ConvertResume, public ::testing::WithParamInterface<FaultCase> {};

TEST_P(ConvertFaults, AtASystemCallOfTheProtocolTheBytesAreTheSameAfterwards) {
  write_random_images(folder_, 10);
  const FaultCase& fault = GetParam();
  std::vector<std::string> options{"--shards", "2", "--threads", "1"};
  options.insert(options.end(), fault.options.begin(), fault.options.end());
  ASSERT_EQ(run_infeed(command("whole", options)).status, 0);
  const auto whole = folder_content(folder_.file("whole"));
  ASSERT_EQ(whole.size(), fault.files);

  // Each kind has its own calls.
  DrawnCalls calls(std::hash<std::string>()(fault.name));
  int number = calls.next();
  for (;; number = calls.next()) {
    const std::string output = folder_.file("out");
    const std::string report = folder_.file("report");
    const ProgramResult struck = run_infeed(
        command("out", options),
        {.environment = {
             {"LD_PRELOAD", INFEED_INJECT_FAULTS},
             {"INFEED_FAULT", fmt::format("{} {} {} {}", fault.kind, number, output, report)}}});
    if (!fs::exists(report)) {
      ASSERT_EQ(struck.status, 0) << struck.err;
      break;
    }
    SCOPED_TRACE(
        fmt::format("{} at call {}, {}: {}", fault.kind, number, read_whole(report), struck.err));
    EXPECT_THAT(struck.status, AnyOf(0, 1, 128 + SIGKILL));
    if (struck.status == 1) {
      EXPECT_EQ(std::count(struck.err.begin(), struck.err.end(), '\n'), 1);
      EXPECT_THAT(struck.err, AnyOf(HasSubstr("the disk is full"), HasSubstr("input/output error"),
                                    HasSubstr("Input/output"), HasSubstr("No space left")));
    }
    if (fs::exists(output)) expect_nothing_torn(output, 2);
    const ProgramResult resumed = run_infeed(command("out", options));
    ASSERT_EQ(resumed.status, 0) << resumed.err;
    ASSERT_EQ(difference(whole, folder_content(output)), "");
    fs::remove_all(output);
    fs::remove(report);
  }
  EXPECT_GT(number, 40) << "the protocol has more system calls than that";
}

INSTANTIATE_TEST_SUITE_P(
    Convert, ConvertFaults,
    ::testing::Values(FaultCase{"kill", {}, "Kill"}, FaultCase{"torn", {}, "Torn"},
                      FaultCase{"short", {}, "Short"}, FaultCase{"EIO", {}, "EIO"},
                      FaultCase{"ENOSPC", {}, "ENOSPC"},
                      FaultCase{"kill", {"--overwrite"}, "KillOverwriting"},
                      FaultCase{"kill", {"--compression", "gzip"}, "KillGzip"},
                      FaultCase{"ENOSPC", {"--compression", "gzip"}, "ENOSPCGzip"},
                      FaultCase{"torn", {"--compression", "lz4"}, "TornLz4", 3}),
    [](const auto& test) { return test.param.name; });

TEST_F(ConvertResume, KilledWhileAShardIsMadeAnewTheBytesAreTheSameAfterwards) {
  write_random_images(folder_, 10);
  const std::string out = folder_.file("out");
  const std::vector<std::string> options{"--shards", "2", "--threads", "1", "--check"};
  ASSERT_EQ(run_infeed(command("out", options)).status, 0);
  const auto whole = folder_content(out);
  DrawnCalls calls(0);
  int number = calls.next();
  for (;; number = calls.next()) {
    SCOPED_TRACE(fmt::format("at call {}", number));
    write_at(out + "/data-00001-of-00002.tfrecord", 50, "XX");
    const ProgramResult struck = run_infeed(
        command("out", options),
        {.environment = {
             {"LD_PRELOAD", INFEED_INJECT_FAULTS},
             {"INFEED_FAULT", fmt::format("kill {} {} {}", number, out, folder_.file("report"))}}});
    if (!fs::exists(folder_.file("report"))) {
      ASSERT_EQ(struck.status, 0) << struck.err;
      break;
    }
    const ProgramResult resumed = run_infeed(command("out", options));
    ASSERT_EQ(resumed.status, 0) << resumed.err;
    ASSERT_EQ(difference(whole, folder_content(out)), "");
    fs::remove(folder_.file("report"));
  }
  EXPECT_GT(number, 10) << "the protocol has more system calls than that";
  EXPECT_EQ(difference(whole, folder_content(out)), "");
}

TEST_F(ConvertResume, KilledWhileItReplacesADatasetThereIsTheOldOneOrTheNewOne) {
  write_random_images(folder_, 10);
  const std::vector<std::string> replacing{"--shards", "2", "--threads", "1", "--overwrite"};
  ASSERT_EQ(run_infeed(command("old", {"--shards", "3", "--seed", "1"})).status, 0);
  ASSERT_EQ(run_infeed(command("new", replacing)).status, 0);
  const std::string old_manifest = read_whole(folder_.file("old/data.manifest.json"));
  const std::string new_manifest = read_whole(folder_.file("new/data.manifest.json"));
  const std::string out = folder_.file("out");
  DrawnCalls calls(0);
  int number = calls.next();
  for (;; number = calls.next()) {
    SCOPED_TRACE(fmt::format("at call {}", number));
    fs::copy(folder_.file("old"), out);
    const ProgramResult struck = run_infeed(
        command("out", replacing),
        {.environment = {
             {"LD_PRELOAD", INFEED_INJECT_FAULTS},
             {"INFEED_FAULT", fmt::format("kill {} {} {}", number, out, folder_.file("report"))}}});
    const bool has_ended = !fs::exists(folder_.file("report"));
    if (fs::exists(out + "/data.manifest.json")) {
      const std::string manifest = read_whole(out + "/data.manifest.json");
      ASSERT_THAT(manifest, AnyOf(old_manifest, new_manifest));
      ASSERT_EQ(run_infeed({"verify", out}).status, 0) << manifest;
    }
    if (has_ended) break;
    const ProgramResult resumed = run_infeed(command("out", replacing));
    ASSERT_EQ(resumed.status, 0) << resumed.err;
    ASSERT_EQ(difference(folder_content(folder_.file("new")), folder_content(out)), "");
    fs::remove_all(out);
    fs::remove(folder_.file("report"));
  }
  EXPECT_GT(number, 40) << "the protocol has more system calls than that";
}

TEST_F(ConvertResume, SaysWhatItFoundAndRepairsWhatWasDamagedMeanwhile) {
  write_random_images(folder_, 2'000);
  const std::vector<std::string> options{"--shards", "10"};
  ASSERT_EQ(run_infeed(command("whole", options)).status, 0);
  const auto whole = folder_content(folder_.file("whole"));

  // Killed just before the manifest: all ten shards are committed.
  const std::string out = folder_.file("out");
  const auto struck = [&] {
    for (int number = 1;; ++number) {
      fs::remove_all(out);
      run_infeed(command("out", options),
                 {.environment = {
                      {"LD_PRELOAD", INFEED_INJECT_FAULTS},
                      {"INFEED_FAULT", fmt::format("kill {} {} {}", number, out + "/.data.manifest",
                                                   folder_.file("report"))}}});
      return fs::exists(folder_.file("report"));
    }
  };
  ASSERT_TRUE(struck());
  EXPECT_EQ(tools::read_journal(out + "/.data.journal").size(), 10);
  write_at(out + "/data-00003-of-00010.tfrecord", 1000, "XXXX");
  fs::remove(out + "/data-00005-of-00010.tfrecord.index");
  const ProgramResult planned = run_infeed(command("out", {"--shards", "10", "--dry-run"}));
  EXPECT_THAT(planned.out, HasSubstr("10 shards (10 of them made before)"));
  const ProgramResult resumed = run_infeed(command("out", options));
  EXPECT_THAT(resumed.out, HasSubstr("in 10 shards (8 of them made before)"));
  EXPECT_EQ(difference(whole, folder_content(out)), "");
}

TEST_F(ConvertResume, AnotherPlanIsRefusedAndTheDifferenceNamed) {
  write_random_images(folder_, 1000);
  const auto kill_before_manifest = [&] {
    fs::remove(folder_.file("report"));
    return run_infeed(
               command("out", {"--shards", "4"}),
               {.environment = {{"LD_PRELOAD", INFEED_INJECT_FAULTS},
                                {"INFEED_FAULT",
                                 fmt::format("kill 1 {} {}", folder_.file("out/.data.manifest"),
                                             folder_.file("report"))}}})
        .status;
  };
  ASSERT_EQ(kill_before_manifest(), 128 + SIGKILL);
  const auto before = folder_content(folder_.file("out"));
  ProgramResult result = run_infeed(command("out", {"--shards", "5"}));
  EXPECT_EQ(result.status, 1);
  EXPECT_THAT(result.err, HasSubstr("an unfinished conversion (shards: 4 there, 5 now)"));
  EXPECT_THAT(result.err, HasSubstr("--overwrite"));
  result = run_infeed(command("out", {"--shards", "4", "--seed", "1"}));
  EXPECT_THAT(result.err, HasSubstr("\"the input's\" there, \"shuffled with seed 1\" now"));
  write_labels(folder_.file("labels"), std::string(1000, '\1'));
  result = run_infeed(command("out", {"--shards", "4"}));
  EXPECT_EQ(result.status, 1);
  EXPECT_THAT(result.err, HasSubstr(folder_.file("labels")));
  EXPECT_EQ(difference(before, folder_content(folder_.file("out"))), "") << "it was touched";

  result = run_infeed(command("out", {"--shards", "5", "--overwrite"}));
  EXPECT_EQ(result.status, 0) << result.err;
  ASSERT_EQ(run_infeed(command("fresh", {"--shards", "5"})).status, 0);
  EXPECT_EQ(difference(folder_content(folder_.file("fresh")), folder_content(folder_.file("out"))),
            "");
}

TEST_F(ConvertResume, TwoAtOnceAreRefused) {
  write_random_images(folder_, 10);
  fs::create_directory(folder_.file("out"));
  const tools::Journal other(folder_.file("out/.data.journal"), Durability::leave_to_system);
  const ProgramResult result = run_infeed(command("out", {}));
  EXPECT_EQ(result.status, 1);
  EXPECT_THAT(result.err, HasSubstr("somebody else is converting"));
}

}  // namespace
}  // namespace infeed::test
