#include "profile/replay.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>

#include <infeed/device/cost_model.h>
#include <infeed/infeed.h>

#include "profile/outputs/profile_figures.h"
#include "profile/outputs/profile_json.h"
#include "profile/recorded_service.h"
#include "temporary_folder.h"
#include "thrown_error.h"
#include "tools/profile/made_recording.h"
#include "tools/run_program.h"

/// Reads each batch's time out of recordings whose truth is known: they are made by the same
/// recursion that replays them.
namespace infeed::tools {
namespace {

using test::drawn_times;
using test::recording_of;
using test::Truth;

constexpr std::int64_t kPsPerMs = 1'000'000'000;
constexpr std::uint64_t kNsPerMs = 1'000'000;

double mean(const std::vector<std::int64_t>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

TEST(RecordedService, IsExactWhereStepsWaited) {
  const Truth truth{.service_ps = drawn_times(200, 12 * kPsPerMs, 30 * kPsPerMs)};
  const RecordedService service = recorded_service(recording_of(truth));
  ASSERT_EQ(service.ps.size(), 200u);
  for (std::size_t i = 1; i < 200; ++i) EXPECT_EQ(service.ps[i], truth.service_ps[i]) << i;
  EXPECT_EQ(service.step_ps, truth.step_ps);
  EXPECT_EQ(service.examples, 32);
  EXPECT_EQ(service.bytes, 3200);
  EXPECT_EQ(service.queue_depth, 2);
}

TEST(RecordedService, IsTheStagesWorkWhereNobodyWaited) {
  const Truth truth{.service_ps = drawn_times(400, 4 * kPsPerMs, 8 * kPsPerMs)};
  const RecordedService service = recorded_service(recording_of(truth));
  EXPECT_NEAR(mean(service.ps), mean(truth.service_ps), 0.01 * mean(truth.service_ps));
}

TEST(RecordedService, IsTheWaitOfAPipelineThatWorksWhenItIsAsked) {
  const Truth truth{.service_ps = drawn_times(100, 4 * kPsPerMs, 8 * kPsPerMs),
                    .depth = 0,
                    .steps_per_window = 1};
  const RecordedService service = recorded_service(recording_of(truth));
  EXPECT_NEAR(mean(service.ps), mean(truth.service_ps), 0.1 * mean(truth.service_ps));
  for (std::size_t i = 0; i < 100; ++i) EXPECT_GE(service.ps[i], truth.service_ps[i]);
  EXPECT_EQ(service.queue_depth, 0);
}

TEST(RecordedService, HasTheSlowCallsThatAQueueHid) {
  Truth truth{.service_ps = std::vector<std::int64_t>(100, 4 * kPsPerMs)};
  truth.service_ps[50] = 18 * kPsPerMs;  // hidden by the queue: nobody waits
  RecordedRun run = recording_of(truth);
  ASSERT_LT(run.steps[51].infeed_wait_ns, 1 * kNsPerMs);
  run.slow_calls.push_back({.begin_ns = run.steps[50].begin_ns + 1,
                            .took_ns = 14 * kNsPerMs,
                            .stage = 2,
                            .position = 50 * 32});
  const RecordedService service = recorded_service(run);
  EXPECT_GT(service.ps[50], 17 * kPsPerMs);
  EXPECT_LT(service.ps[60], 5 * kPsPerMs);
  EXPECT_NEAR(mean(service.ps), mean(truth.service_ps), 0.02 * mean(truth.service_ps));
}

/// Returns a recording in which one batch of `every` takes 104 ms instead of 4, for a slow call of
/// 100 ms. The queue hides some of it, and a step waits for the rest.
RecordedRun with_slow_calls(std::size_t batches, std::size_t every) {
  Truth truth{.service_ps = std::vector<std::int64_t>(batches, 4 * kPsPerMs)};
  for (std::size_t i = every / 2; i < batches; i += every) truth.service_ps[i] = 104 * kPsPerMs;
  RecordedRun run = recording_of(truth);
  for (std::size_t i = every / 2; i < batches; i += every) {
    const RecordedStep& step = run.steps[i];
    EXPECT_GT(step.infeed_wait_ns, 50 * kNsPerMs);
    const std::uint64_t ready_ns = step.begin_ns + step.infeed_wait_ns;
    run.slow_calls.push_back({.begin_ns = ready_ns - 102 * kNsPerMs,
                              .took_ns = 100 * kNsPerMs,
                              .stage = 2,
                              .position = i * 32});
  }
  return run;
}

/// The step that waited for the rest of a slow batch seemed to have a slow one, too.
TEST(RecordedService, AShortWaitIsThePartOfASlowBatchThatAQueueDidNotHide) {
  const RecordedRun run = with_slow_calls(100, 100);
  const RecordedService service = recorded_service(run);
  EXPECT_NEAR(static_cast<double>(service.ps[50]), 104.0 * kPsPerMs, 6.0 * kPsPerMs);
  for (std::size_t i = 0; i < 100; ++i) {
    if (i == 50) continue;
    EXPECT_LE(service.ps[i], 5 * kPsPerMs) << i;
  }
  EXPECT_NEAR(mean(service.ps), 5.0 * kPsPerMs, 0.1 * kPsPerMs);
}

/// The first step to wait showed a part of its batch, which was taken for all of it.
TEST(RecordedService, AShortWaitMakesABatchNoQuickerThanTheAverage) {
  Truth truth{.service_ps = std::vector<std::int64_t>(200, 5 * kPsPerMs)};
  for (std::size_t i = 100; i < 200; ++i) truth.service_ps[i] = 18 * kPsPerMs;
  const RecordedRun run = recording_of(truth);
  const auto first =
      std::ranges::find_if(run.steps.begin() + 100, run.steps.end(),
                           [](const auto& step) { return step.infeed_wait_ns > 2 * kNsPerMs; });
  ASSERT_LT(first->begin_ns + first->infeed_wait_ns - (first - 1)->begin_ns, 17 * kNsPerMs);
  const RecordedService service = recorded_service(run);
  for (std::size_t i = 100; i < 200; ++i) {
    EXPECT_NEAR(static_cast<double>(service.ps[i]), 18.0 * kPsPerMs, 0.1 * kPsPerMs) << i;
  }
}

TEST(RecordedService, CallsThatAreSlowAsUsualAreInTheAverage) {
  RecordedRun run = recording_of({.service_ps = std::vector<std::int64_t>(100, 4 * kPsPerMs)});
  run.call_histograms.resize(3);
  run.call_histograms[2].resize(32);
  run.call_histograms[2][21] = 100;  // all of 2 to 4 ms
  for (const RecordedStep& step : run.steps) {
    run.slow_calls.push_back({.begin_ns = step.begin_ns, .took_ns = 4 * kNsPerMs, .stage = 2});
  }
  for (const std::int64_t ps : recorded_service(run).ps) EXPECT_EQ(ps, 4 * kPsPerMs);
}

/// Each step waited for its own thread's part of the work, and seemed to take all of the time since
/// the one before.
TEST(RecordedService, WorkOfTheStepsOwnThreadIsNoWait) {
  RecordedRun run = recording_of(
      {.service_ps = std::vector<std::int64_t>(200, 4 * kPsPerMs), .step_ps = 5 * kPsPerMs});
  run.stages[0].runs_ahead = false;
  run.stages[2].runs_ahead = true;
  for (RecordedStep& step : run.steps) {
    step.infeed_wait_ns = 700'000;
    step.compute_ns = 4'300'000;
  }
  for (RecordedWindow& window : run.windows) {
    window.stages[1].cpu_ns = window.elements * 700'000;
    window.stages[2].buffered_elements = 64;
  }
  const RecordedService service = recorded_service(run);
  EXPECT_FALSE(service.works_in_step);
  EXPECT_NEAR(mean(service.ps), 4.0 * kPsPerMs, 0.05 * kPsPerMs);
}

/// Batches of 12 ms, of which a step of 100 ms takes four at its begin: two are ready, one is in
/// work, and while the step computes the pipeline rests.
TEST(RecordedService, APipelineRestsWhereItsQueueHoldsLessThanAStepTakes) {
  RecordedRun run;
  run.has_steps = true;
  run.stages = {
      {.id = 0, .name = "prefetch", .label = "prefetch", .runs_ahead = true},
      {.id = 1, .name = "map", .label = "map", .consumer = 0},
  };
  for (std::uint64_t i = 0; i < 40; ++i) {
    const std::uint64_t begin_ns = i * 112 * kNsPerMs;
    run.steps.push_back({.number = i,
                         .begin_ns = begin_ns,
                         .infeed_wait_ns = 12 * kNsPerMs,
                         .compute_ns = 100 * kNsPerMs,
                         .elements = 4});
    run.windows.push_back(
        {.begin_ns = begin_ns,
         .length_ns = 112 * kNsPerMs,
         .elements = 4,
         .cores = 4,
         .stages = {{.stage = 0, .elements = 4, .full_ns = 64 * kNsPerMs, .queue_elements_max = 2},
                    {.stage = 1, .elements = 4, .cpu_ns = 48 * kNsPerMs}}});
  }
  const RecordedService service = recorded_service(run);
  EXPECT_NEAR(mean(service.ps), 48.0 * kPsPerMs, 0.01 * 48 * kPsPerMs);
}

TEST(RecordedService, TheStageThatRunsAheadMayStandFurtherUp) {
  // If a parallel stage is ahead of it, the tuner makes a prefetch do its work in the step's
  // thread.
  Truth truth{.service_ps = drawn_times(200, 4 * kPsPerMs, 8 * kPsPerMs)};
  RecordedRun run = recording_of(truth);
  run.stages[0].runs_ahead = false;
  run.stages[2].runs_ahead = true;
  for (RecordedWindow& window : run.windows) window.stages[2].buffered_elements = 6;
  const RecordedService service = recorded_service(run);
  EXPECT_EQ(service.queue_depth, 6);
  EXPECT_FALSE(service.works_in_step);
  EXPECT_NEAR(mean(service.ps), mean(truth.service_ps), 0.01 * mean(truth.service_ps));
  // Unless the stages behind it have most of the work.
  for (RecordedWindow& window : run.windows) window.stages[1].cpu_ns = window.stages[2].cpu_ns;
  EXPECT_TRUE(recorded_service(run).works_in_step);
  EXPECT_EQ(replay(run, {.slice = "v3-8"}).as_recorded_steps_per_s, 0);
}

TEST(RecordedService, CallsOfNextThatWerePutTogetherAreSteps) {
  RecordedRun run;
  run.stages = {{.id = 0, .name = "map", .label = "map"}};
  for (std::uint64_t i = 0; i < 10; ++i) {
    run.steps.push_back({.number = 4 * i,
                         .begin_ns = i * kNsPerMs,
                         .infeed_wait_ns = kNsPerMs * 3 / 4,
                         .compute_ns = kNsPerMs / 4,
                         .elements = 4});
  }
  const RecordedService service = recorded_service(run);
  EXPECT_EQ(service.ps.size(), 40u);
  EXPECT_EQ(service.ps[7], kPsPerMs * 3 / 16);
  EXPECT_EQ(service.step_ps, kPsPerMs / 16);
  EXPECT_EQ(service.examples, 0);
}

TEST(RecordedService, NeedsSteps) {
  RecordedRun run;
  run.path = "a.profile";
  const Error error = error_of([&] { recorded_service(run); });
  EXPECT_EQ(error.message(),
            "there is no step in the recording, so that nothing can be replayed; record a run that "
            "lasts longer");
  EXPECT_EQ(error.file(), "a.profile");
}

TEST(RecordedService, OtherBatchesArePartsOrSums) {
  EXPECT_THAT(for_other_batches({10, 20, 30, 40}, 32, 64), ElementsAre(30, 70));
  EXPECT_THAT(for_other_batches({10, 20, 30}, 32, 16), ElementsAre(5, 5, 10, 10, 15, 15));
  EXPECT_THAT(for_other_batches({10, 20, 30}, 32, 48), ElementsAre(20, 40));
  EXPECT_THAT(for_other_batches({10, 20}, 32, 32), ElementsAre(10, 20));
  EXPECT_THAT(for_other_batches({10, 20}, 32, 128), ElementsAre(60));  // more than there is
  EXPECT_THAT(for_other_batches({10, 20}, 0, 128), ElementsAre(10, 20));
}

TEST(Replay, GivesBackWhatWasMeasured) {
  for (const std::int64_t most_ms : {9, 14, 30}) {
    SCOPED_TRACE(most_ms);
    const Truth truth{.service_ps = drawn_times(600, 3 * kPsPerMs, most_ms * kPsPerMs)};
    const RecordedRun run = recording_of(truth);
    const double measured = explain(run).steps_per_s;
    const ReplayedRun replayed = replay(run, {.slice = "v3-8"});
    EXPECT_NEAR(replayed.as_recorded_steps_per_s, measured, 0.03 * measured);
    EXPECT_EQ(replayed.hosts, 1);
    EXPECT_EQ(replayed.step_ns, 10'000'000);
    EXPECT_NEAR(replayed.input_bound_percent, explain(run).input_bound_percent, 3);
  }
}

TEST(Replay, GivesBackWhatSlowCallsCost) {
  const RecordedRun run = with_slow_calls(1000, 100);
  const double measured = explain(run).steps_per_s;
  const ReplayedRun replayed = replay(run, {.slice = "v3-8"});
  EXPECT_NEAR(replayed.as_recorded_steps_per_s, measured, 0.01 * measured);
  EXPECT_NEAR(replayed.input_bound_percent, explain(run).input_bound_percent, 1);
}

TEST(Replay, FasterSlicesWaitMoreAndManyHostsForTheSlowest) {
  // 8 to 16 ms for 1024 images; nobody waits while a step takes 20.
  Truth truth{.service_ps = drawn_times(500, 8 * kPsPerMs, 16 * kPsPerMs),
              .step_ps = 20 * kPsPerMs};
  const RecordedRun run = recording_of(truth);
  EXPECT_LT(explain(run).input_bound_percent, 1);
  const ReplayedRun same = replay(run, ReplayRequest::parse("v3-8"));
  EXPECT_LT(same.input_bound_percent, 1);
  EXPECT_EQ(same.batch, 32);
  const ReplayedRun faster = replay(run, ReplayRequest::parse("v3-8:lenet5"));
  EXPECT_GT(faster.input_bound_percent, 90);
  // Three passes of two operations for each multiply-add, of the peak of 4 chips.
  EXPECT_NEAR(
      faster.model_flop_utilisation,
      6.0 * static_cast<double>(workload("lenet5").macs()) * faster.examples_per_s / (4 * 123e12),
      1e-9);
  EXPECT_EQ(same.model_flop_utilisation, 0) << "no model was named";
  // A batch of twice the size takes the host twice the time.
  const ReplayedRun twice = replay(run, ReplayRequest::parse("v3-8:lenet5:64"));
  EXPECT_NEAR(faster.steps_per_s, 2 * twice.steps_per_s, 0.03 * faster.steps_per_s);
  EXPECT_NEAR(faster.examples_per_s, twice.examples_per_s, 0.03 * faster.examples_per_s);
  // Each of 4 hosts has a quarter.
  const ReplayedRun quarter = replay(run, ReplayRequest::parse("v3-32:lenet5:128"));
  EXPECT_EQ(quarter.hosts, 4);
  EXPECT_EQ(quarter.service_p50_ns, faster.service_p50_ns);
  EXPECT_LT(quarter.steps_per_s, 1.05 * faster.steps_per_s);
  const ReplayedRun many = replay(run, ReplayRequest::parse("v3-2048"));
  EXPECT_EQ(many.hosts, 256);
  EXPECT_EQ(many.batch, 256 * 32);
  EXPECT_GE(many.slowest_host_p50_ns, many.service_p99_ns);
}

TEST(Replay, RequestsAreParsed) {
  const ReplayRequest request = ReplayRequest::parse("v3-32:resnet50:4096");
  EXPECT_EQ(request.slice, "v3-32");
  EXPECT_EQ(request.model, "resnet50");
  EXPECT_EQ(request.batch, 4096);
  EXPECT_EQ(ReplayRequest::parse("v4-16").model, "");
  const auto message = [](const std::string& text) {
    return error_of([&] { ReplayRequest::parse(text); }).message();
  };
  EXPECT_EQ(message("v3-8:"),
            "'v3-8:' names no replay; expected SLICE, SLICE:MODEL or SLICE:MODEL:BATCH, such as "
            "v3-32:resnet50:4096");
  EXPECT_EQ(message("v3-8:resnet50:many"),
            "'v3-8:resnet50:many' has a batch of 'many'; expected a whole number from 1 to "
            "4294967296");
  EXPECT_EQ(ReplayRequest::parse("v3-8:resnet50:4294967296").batch, std::int64_t{1} << 32);
  for (const std::string batch : {"4294967297", "9223372036854775807"}) {
    EXPECT_THAT(message("v3-8:resnet50:" + batch), HasSubstr("expected a whole number from 1 to"));
  }
  EXPECT_THAT(message("v3-8:resnet50:0"), HasSubstr("expected a whole number from 1"));
  EXPECT_THAT(message("v3-7"), HasSubstr("v3-7"));
  EXPECT_THAT(message("v3-8:resnet51"), HasSubstr("resnet51"));
}

TEST(Replay, SaysWhatIsMissing) {
  RecordedRun run;
  run.path = "a.profile";
  run.stages = {{.id = 0, .name = "map", .label = "map"}};
  run.steps = {{.infeed_wait_ns = kNsPerMs}};
  EXPECT_EQ(error_of([&] { replay(run, {.slice = "v3-8"}); }).message(),
            "the recorded steps take no time of their own; name a model, as in --replay "
            "v3-8:resnet50");
  EXPECT_EQ(error_of([&] { replay(run, {.slice = "v3-8", .model = "lenet5"}); }).message(),
            "no stage of the recording makes batches, so that the batch isn't known; name it, as "
            "in --replay v3-8:lenet5:1024");
  EXPECT_EQ(replay(run, {.slice = "v3-8", .model = "lenet5", .batch = 64}).note,
            "no stage of the recording makes batches: what a step took is taken for a host's "
            "share");
  // As infeed step says; a step that no slice can hold was replayed.
  EXPECT_THAT(error_of([&] {
                replay(run, {.slice = "v3-8", .model = "resnet50", .batch = 1 << 20});
              }).message(),
              HasSubstr("of HBM a device, and v3-8 has 16.00 GiB"));
}

TEST(Replay, StandsInTheOutputs) {
  const Truth truth{.service_ps = drawn_times(300, 8 * kPsPerMs, 16 * kPsPerMs)};
  const RecordedRun run = recording_of(truth);
  ProfileReport report = explain(run);
  report.replays.push_back(replay(run, ReplayRequest::parse("v3-32:lenet5:128")));
  const auto json = nlohmann::json::parse(profile_json_text(run, report));
  ASSERT_EQ(json.at("replays").size(), 1u);
  EXPECT_EQ(json.at("replays")[0].at("slice"), "v3-32");
  EXPECT_EQ(json.at("replays")[0].at("batch"), 128);
  EXPECT_EQ(json.at("replays")[0].at("input_bound_percent"), report.replays[0].input_bound_percent);
  EXPECT_THAT(replay_title(report.replays[0]),
              HasSubstr("Replayed on v3-32 (4 hosts), lenet5, batch 128: steps of "));
  const std::vector<std::string> sentences =
      replay_sentences(report.replays[0], report.steps_per_s);
  ASSERT_EQ(sentences.size(), 5u);
  EXPECT_THAT(sentences[0], HasSubstr("highly input-bound: "));
  EXPECT_THAT(sentences[1], HasSubstr("model FLOP utilisation "));
  EXPECT_THAT(sentences[2], HasSubstr("with 16 batches ready on each host instead of 2: "));
  EXPECT_THAT(sentences[3], HasSubstr("; all wait for the slowest, which takes "));
  EXPECT_THAT(sentences[4], HasSubstr("replayed as it was recorded, this run makes "));
}

TEST(Replay, IsAnOptionOfTheCommand) {
  const TemporaryFolder folder;
  const std::string file = folder.file("run.profile");
  {
    auto iterator = (range(200'000) | batch(100)).iterate({.recording = {.file = file}});
    StepTimer timer(iterator);
    while (iterator.next()) {
      timer.begin();
      timer.end();
    }
  }
  const std::string json = folder.file("report.json");
  const auto ended = test::run_infeed({"profile", file, "--replay", "v3-8:resnet50:1024",
                                       "--replay", "v3-32:lenet5", "--json", json, "--no-color"});
  EXPECT_EQ(ended.status, 0) << ended.err;
  EXPECT_THAT(ended.out, HasSubstr("Replayed on v3-8, resnet50, batch 1,024: steps of "));
  EXPECT_THAT(ended.out, HasSubstr("Replayed on v3-32 (4 hosts), lenet5, batch 400: steps of "));
  EXPECT_EQ(nlohmann::json::parse(read_whole(json)).at("replays").size(), 2u);
  const auto wrong = test::run_infeed({"profile", file, "--replay", "v3-8:resnet"});
  EXPECT_EQ(wrong.status, 1);
  EXPECT_THAT(wrong.err, HasSubstr("resnet"));
}

}  // namespace
}  // namespace infeed::tools
