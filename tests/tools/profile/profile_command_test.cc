#include <atomic>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <sys/resource.h>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include <infeed/infeed.h>

#include "profile/described_pipeline.h"
#include "profile/profile_report.h"
#include "profile/run_comparison.h"
#include "quiet_run.h"
#include "temporary_folder.h"
#include "thrown_error.h"
#include "tools/run_program.h"

/// Arguments that a person types: recordings, whole or not, pipelines in JSON, processes.
namespace infeed::tools {
namespace {

using Json = nlohmann::json;

void expect_refused(const std::function<void()>& call, const std::string& why) {
  const std::string text = error_of(call).what();
  EXPECT_NE(text.find(why), std::string::npos) << text;
}

class ProfileCommand : public ::testing::Test {
 protected:
  /// Batches of 20 records of two features.
  std::string record_file() const {
    const std::string file = folder_.file("data.tfrecord");
    RecordWriter writer(file);
    for (int i = 0; i < 400; ++i) {
      ExampleBuilder example;
      example.integers("label", i % 10);
      example.floats("x", std::vector<float>{static_cast<float>(i), 2.0F});
      writer.write(example.encode());
    }
    writer.close();
    return file;
  }
  std::string recording() const {
    const std::string file = folder_.file("run.profile");
    auto iterator = (range(1000) | batch(10)).iterate({.recording = {.file = file}});
    while (iterator.next()) {
    }
    return file;
  }

  TemporaryFolder folder_;
};

TEST_F(ProfileCommand, ReadsWhatAKilledProcessHasWritten) {
  const std::string whole = read_whole(recording());
  // Cut at any byte but the line feed at its end.
  for (std::size_t bytes = whole.find('\n') + 1; bytes + 1 < whole.size(); bytes += 97) {
    const std::string cut = folder_.write("cut.profile", whole.substr(0, bytes));
    const RecordedRun run = read_recorded_run(cut);
    EXPECT_TRUE(run.is_cut);
    EXPECT_FALSE(explain(run).verdict.empty());
  }
  EXPECT_FALSE(read_recorded_run(folder_.file("run.profile")).is_cut);
}

TEST_F(ProfileCommand, SaysWhatAFileIsThatIsNoRecording) {
  expect_refused([&] { (void)(read_recorded_run(folder_.file("none"))); }, "no such file");
  expect_refused([&] { (void)(read_recorded_run(folder_.write("a", "{\"traceEvents\": []}"))); },
                 "this is no recording of infeed (a trace)");
  expect_refused(
      [&] { (void)(read_recorded_run(folder_.write("b", std::string("\x1f\x8b") + "rest"))); },
      "compressed by gzip");
  expect_refused([&] { (void)(read_recorded_run(folder_.write("t", "age,city\n31,Rome\n"))); },
                 "this is no recording of infeed (it begins with 'age,city')");
  expect_refused([&] { (void)(read_recorded_run(folder_.write("c", ""))); },
                 "the recording is empty");
  expect_refused(
      [&] {
        (void)(read_recorded_run(
            folder_.write("d", "{\"infeed_recording\": 99, \"process\": 1}\n")));
      },
      "the recording has format version 99, and this infeed knows versions up to 1");
  std::string damaged = read_whole(recording());
  damaged.insert(damaged.find('\n') + 1, "{\"stages\": 7}\n");
  expect_refused([&] { (void)(read_recorded_run(folder_.write("e", damaged))); },
                 "line 2 of the recording is damaged");
  const std::string deep = std::string(100'000, '[');
  expect_refused(
      [&] {
        (void)(read_recorded_run(
            folder_.write("f", "{\"infeed_recording\": 1, \"x\": " + deep + "\n")));
      },
      "nested too deeply");
}

TEST_F(ProfileCommand, RunsAPipelineThatAFileDescribes) {
  const std::string pipeline = folder_.write("pipeline.json", fmt::format(R"({{"stages": [
      {{"stage": "records", "files": ["{}"]}}, {{"stage": "shuffle", "buffer": 100, "seed": 1}},
      {{"stage": "repeat"}}, {{"stage": "parse"}}, {{"stage": "batch", "size": 20}},
      {{"stage": "prefetch"}}], "step_us": 500}})",
                                                                          record_file()));
  EXPECT_TRUE(test::holds_in_a_quiet_run([&] {
    const TemporaryFolder out;
    const std::string file = out.file("described.profile");
    const auto ended = test::run_infeed({"profile", file, "--pipeline", pipeline, "--seconds",
                                         "0.5", "--json", out.file("report.json"), "--html",
                                         out.file("report.html"), "--no-color"});
    EXPECT_EQ(ended.status, 0) << ended.err;
    EXPECT_NE(ended.out.find("parse_columns"), std::string::npos) << ended.out;
    const Json report = Json::parse(read_whole(out.file("report.json")));
    EXPECT_EQ(report.at("schema"), "infeed.profile");
    EXPECT_NE(read_whole(out.file("report.html")).find("<html"), std::string::npos);
    return read_recorded_run(file).steps.size() > 50U;
  }));
}

TEST_F(ProfileCommand, TriesWhatItAdvises) {
  const std::string pipeline = folder_.write(
      "pipeline.json",
      fmt::format(R"({{"stages": [{{"stage": "records", "files": "{}", "parallelism": 1}},
                  {{"stage": "repeat"}}, {{"stage": "parse"}},
                  {{"stage": "batch", "size": 20, "parallelism": 1}}], "step_us": 300}})",
                  record_file()));
  const auto ended = test::run_infeed({"profile", folder_.file("tried.profile"), "--pipeline",
                                       pipeline, "--seconds", "0.4", "--try", "--no-color"});
  EXPECT_EQ(ended.status, 0) << ended.err;
}

TEST_F(ProfileCommand, SaysWhatTryingNeeds) {
  const auto ended = test::run_infeed({"profile", folder_.file("tried.profile"), "--try"});
  EXPECT_NE(ended.status, 0);
  EXPECT_NE(ended.err.find("--try needs something to run: a pipeline in JSON (--pipeline FILE)"),
            std::string::npos)
      << ended.err;
}

TEST_F(ProfileCommand, NamesWhatIsWrongWithAPipeline) {
  const auto parse = [](const std::string& json) { DescribedPipeline::parse(json, "p.json"); };
  expect_refused([&] { (void)(parse("{")); }, "the pipeline is no JSON");
  expect_refused([&] { (void)(parse("[]")); }, "$ is []; it must be an object");
  expect_refused([&] { (void)(parse("{}")); }, "$ has no \"stages\"");
  expect_refused([&] { (void)(parse(R"({"stages": [{"stage": "range", "stepp": 3}]})")); },
                 "range has no option 'stepp' ($.stages[0].stepp); did you mean 'step'?");
  expect_refused([&] { (void)(parse(R"({"stages": [{"stage": "range", "stop": 3}]})")); },
                 "a training step takes batches");
  expect_refused([&] { (void)(parse(R"({"stages": [], "step_us": 60000001})")); },
                 "$.step_us is 60000001; it must be a whole number from 0 to 60000000");
  expect_refused([&] { (void)(parse(R"({"stages": [], "stepus": 3})")); },
                 "the pipeline has no option 'stepus' ($.stepus); did you mean 'step_us'?; there "
                 "are version, stages, step_us");
}

TEST_F(ProfileCommand, ChangesAPipelineAsItAdvises) {
  const auto pipeline = DescribedPipeline::parse(
      fmt::format(R"({{"stages": [{{"stage": "records", "files": "{}", "parallelism": 1}},
          {{"stage": "parse"}}, {{"stage": "batch", "size": 20}}]}})",
                  record_file()),
      "p.json");
  const auto stages = [](const std::optional<DescribedPipeline>& changed) {
    return changed ? changed->description.text() : "";
  };
  EXPECT_NE(stages(pipeline.with_cache()).find("| cache() | parse()"), std::string::npos);
  EXPECT_FALSE(pipeline.with_cache()->with_cache());
  EXPECT_NE(stages(pipeline.with_prefetch()).find("batch(size=20) | prefetch()"),
            std::string::npos);
  EXPECT_FALSE(pipeline.with_prefetch()->with_prefetch());
  EXPECT_EQ(stages(pipeline.with_tuned_threads()).find("parallelism"), std::string::npos);
  EXPECT_FALSE(pipeline.with_tuned_threads()->with_tuned_threads());
}

/// A run that could no longer be shown ended with an error, though it was recorded.
TEST_F(ProfileCommand, RecordsARunThatCantBeShown) {
  if (::access("/dev/shm", W_OK) != 0) return;  // a machine without pages
  const std::string pipe = folder_.file("pipe");
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  const auto pipeline = DescribedPipeline::parse(
      fmt::format(R"({{"step_us": 10000, "stages": [{{"stage": "json_lines", "files": ["{}"],
          "columns": [{{"name": "id", "dtype": "int64"}}]}}, {{"stage": "batch", "size": 1}}]}})",
                  pipe),
      "p.json");
  rlimit limit{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &limit), 0);
  std::atomic<bool> has_ended{false};
  std::string rows;
  for (int i = 0; i < 150; ++i) rows += fmt::format("{{\"id\": {}}}\n", i);
  ::setenv("INFEED_TOP", "1", 1);
  // Nothing can be opened once the source has opened the pipe: no page of the run, of which there
  // are two each second.
  std::thread writer([&] {
    int end = -1;
    while (end < 0 && !has_ended) {
      std::this_thread::yield();
      end = ::open(pipe.c_str(), O_WRONLY | O_NONBLOCK);
    }
    const rlimit standard_only{.rlim_cur = 3, .rlim_max = limit.rlim_max};
    ::setrlimit(RLIMIT_NOFILE, &standard_only);
    (void)!::write(end, rows.data(), rows.size());
    ::close(end);
  });
  std::uint64_t steps = 0;
  std::string error;
  try {
    steps = run_described(pipeline, 60, folder_.file("shown.profile"), {}).steps;
  } catch (const Error& thrown) {
    error = thrown.what();
  }
  has_ended = true;
  writer.join();
  ::setrlimit(RLIMIT_NOFILE, &limit);
  ::unsetenv("INFEED_TOP");
  EXPECT_EQ(error, "");
  EXPECT_EQ(steps, 150U);
}

TEST_F(ProfileCommand, RecordsAProgramThatItStarts) {
  const auto missing =
      test::run_infeed({"profile", folder_.file("x.profile"), "--", "no-such-program"});
  EXPECT_EQ(missing.status, 1);
  EXPECT_NE(missing.err.find("no-such-program"), std::string::npos) << missing.err;
  const auto silent = test::run_infeed({"profile", folder_.file("x.profile"), "--", "true"});
  EXPECT_EQ(silent.status, 1);
  EXPECT_NE(silent.err.find("true iterated no dataset"), std::string::npos) << silent.err;
  // Nor is an older run explained instead.
  const auto older = test::run_infeed({"profile", recording(), "--", "true"});
  EXPECT_EQ(older.status, 1);
  EXPECT_NE(older.err.find("what is there is an older one"), std::string::npos) << older.err;
}

/// A script took a training that had failed for one that had not.
TEST_F(ProfileCommand, EndsAsItsProgramDoes) {
  const std::string made = recording();
  const auto profile = [&](const std::string& end) {
    return test::run_infeed({"profile", folder_.file("x.profile"), "--", "sh", "-c",
                             "cat " + made + " >\"$INFEED_PROFILE\"; " + end});
  };
  EXPECT_EQ(profile("exit 0").status, 0);
  const auto failed = profile("exit 3");
  EXPECT_EQ(failed.status, 3);
  EXPECT_NE(failed.err.find("sh ended with status 3"), std::string::npos) << failed.err;
  EXPECT_NE(failed.out.find("batch"), std::string::npos) << "it is explained all the same";
  EXPECT_EQ(profile("kill -TERM $$").status, 128 + SIGTERM);
}

/// The program ran to its end before anybody said so.
TEST_F(ProfileCommand, SaysWhatCantBeWrittenBeforeTheProgramRuns) {
  const std::string made = folder_.file("made");
  const std::string absent = folder_.file("absent/p");
  const std::string own = folder_.file("x.profile");
  for (const std::vector<std::string>& options :
       {std::vector<std::string>{absent}, {own, "--json", absent}, {own, "--trace", absent}}) {
    std::vector<std::string> arguments{"profile"};
    arguments.insert(arguments.end(), options.begin(), options.end());
    arguments.insert(arguments.end(), {"--", "touch", made});
    const auto ended = test::run_infeed(arguments);
    EXPECT_EQ(ended.status, 1);
    EXPECT_NE(ended.err.find(absent), std::string::npos) << ended.err;
    EXPECT_FALSE(fs::exists(made));
  }
}

TEST_F(ProfileCommand, ComparesTwoRuns) {
  const RecordedRun run = read_recorded_run(recording());
  const RunComparison same(run, run);
  for (const ComparedFigure& figure : same.figures())
    EXPECT_FALSE(figure.is_changed) << figure.name;
  EXPECT_TRUE(same.holds("elements_per_s > 0"));
  EXPECT_FALSE(same.holds("elements_per_s_change_percent < -1"));
  expect_refused([&] { (void)(same.holds("speed > 1")); }, "there is no figure 'speed'; there are");
  expect_refused([&] { (void)(same.holds("elements_per_s")); }, "there is no < or >");
  for (const std::string number : {"much", "nan", "-nan", "inf", ""}) {
    expect_refused([&] { (void)(same.holds("elements_per_s > " + number)); },
                   "'" + number + "' is no number");
  }
}

/// A misspelt condition exited as one that holds.
TEST_F(ProfileCommand, AConditionThatCantBeJudgedIsWrongUsage) {
  const std::string run = recording();
  const auto status = [&](const std::string& condition) {
    return test::run_infeed({"compare", run, run, "--fail-if", condition}).status;
  };
  EXPECT_EQ(status("elements_per_s < 0"), 0);
  EXPECT_EQ(status("elements_per_s > 0"), 1);
  EXPECT_EQ(status("speed > 0"), 2);
  EXPECT_EQ(status("elements_per_s = 0"), 2);
  EXPECT_THAT(test::run_infeed({"compare", run, run, "--fail-if", "elements_per_s > 0", "--fail-if",
                                "elements_per_s < 0", "--fail-if", "late_steps < 1e9"})
                  .err,
              HasSubstr("--fail-if is true of this recording: 'elements_per_s > 0', "
                        "'late_steps < 1e9' [file " +
                        run + "]"));
  const std::string file = folder_.file("figures.json");
  EXPECT_EQ(test::run_infeed({"compare", run, run, "--json", file}).status, 0);
  EXPECT_EQ(Json::parse(read_whole(file)).at("schema"), "infeed.compare");
}

}  // namespace
}  // namespace infeed::tools
