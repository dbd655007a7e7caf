#include "train/train.h"

#include <algorithm>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>

#include <infeed/device/models.h>
#include <infeed/device/slice.h>
#include <infeed/records/file.h>
#include <infeed/records/files.h>
#include <infeed/records/record_reader.h>
#include <infeed/records/training_checkpoint.h>

#include "matchers.h"
#include "quiet_run.h"
#include "sanitizers.h"
#include "temporary_folder.h"
#include "tools/run_program.h"
#include "tools/small_dataset.h"
#include "train/device_tricks.h"
#include "train/train_learning.h"
#include "train/train_report.h"
#include "train/train_shards.h"

namespace infeed::test {
namespace {

class Train : public ::testing::Test {
 protected:
  void SetUp() override {
    fs::create_directory(data());
    write_dataset(data());
  }
  std::string data() const { return folder_.file("data"); }
  std::string work() const { return folder_.file("work"); }

  ProgramResult run(std::vector<std::string> more = {}, ProgramOptions options = {}) const {
    std::vector<std::string> arguments{"train", "--data",    data(), "--work",
                                       work(),  "--seconds", "0.1"};
    if (std::ranges::find(more, "--epochs") == more.end())
      arguments.insert(arguments.end(), {"--epochs", "3"});
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run_infeed(arguments, options);
  }

  tools::TrainShards shards(tools::Split split, std::uint32_t count) const {
    return tools::prepare_shards(
        {.data_folder = data(), .shard_folder = work(), .split = split, .shard_count = count});
  }

  TemporaryFolder folder_;
};

void expect_failure(const ProgramResult& result, int status, const std::vector<std::string>& said) {
  EXPECT_EQ(result.status, status) << result.err;
  EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
  EXPECT_THAT(result.err, StartsWith("infeed train: "));
  for (const std::string& text : said) EXPECT_THAT(result.err, HasSubstr(text));
}

TEST_F(Train, TheWholeJob) {
  const std::string json_file = folder_.file("result.json");
  const ProgramResult result = run({"--json", json_file}, {.environment = {{"LC_ALL", "C"}}});
  ASSERT_EQ(result.status, 0) << result.err;
  EXPECT_THAT(result.err, IsEmpty());
  for (const char* const text :
       {"TPU v3-8 (8 replicas on 4 chips)", "3,000 training images in 16 shards",
        "600 test images in 2 shards", "A step of 1,024 images", "naive", "parallel interleave",
        "parallel map", "cache", "prefetch", "all but cache", "all, by hand", "all of them",
        "What autotune did:", "geometric mean of all ", "Test accuracy",
        "What is learnt is the same, bit for bit", "+ mixed_bfloat16", "tensorboard --logdir"}) {
    EXPECT_THAT(result.out, HasSubstr(text));
  }
  EXPECT_THAT(result.out, Not(HasSubstr("\x1b"))) << "no colours in a file";

  const auto json = nlohmann::json::parse(std::ifstream(json_file));
  EXPECT_GT(json.at("speedup_total").get<double>(), 0);
  EXPECT_GT(json.at("test_accuracy").get<double>(), 0.9) << "ten bright bars are easy";
  std::vector<std::string> names;
  for (const auto& run : json.at("runs")) {
    names.push_back(run.at("name"));
    EXPECT_GT(run.at("steps_per_s").get<double>(), 0);
    EXPECT_NEAR(run.at("images_per_s").get<double>(), run.at("steps_per_s").get<double>() * 1024,
                1);
    const auto& shares = run.at("shares");
    EXPECT_NEAR(shares.at("wait").get<double>() + shares.at("transfer").get<double>() +
                    shares.at("idle").get<double>() + shares.at("busy").get<double>(),
                1, 1e-9);
    for (const char* const share : {"duty_cycle", "infeed_wait_share"}) {
      EXPECT_GE(run.at(share).get<double>(), 0);
      EXPECT_LE(run.at(share).get<double>(), 1);
    }
    EXPECT_THAT(run.at("verdict").get<std::string>(),
                ::testing::AnyOf("NOT", "MODERATELY", "HIGHLY"));
  }
  EXPECT_THAT(names, ElementsAre("naive", "parallel interleave", "parallel map", "cache",
                                 "prefetch", "all but interleave", "all but map", "all but cache",
                                 "all but prefetch", "all, by hand", "all of them"));
  EXPECT_THAT(json.at("runs").at(0).at("images_per_s_turns"), SizeIs(3));
  EXPECT_EQ(json.at("model_cost"), "mlp");
  EXPECT_THAT(json.at("trick_gains"), SizeIs(4));
  EXPECT_THAT(json.at("networks"), SizeIs(2 * nn::model_names().size()));
  EXPECT_GT(json.at("geometric_mean_gain").get<double>(), 0);
  EXPECT_THAT(json.at("device_tricks"), SizeIs(6));
  EXPECT_GT(json.at("device_tricks").at(0).at("test_accuracy").get<double>(), 0.5);
  EXPECT_THAT(json.at("training").at("compilations"), SizeIs(1));
  EXPECT_THAT(json.at("training").at("losses"), SizeIs(3 * (3000 / 1024)));

  EXPECT_EQ(json.at("training").at("model"), "mlp");
  const auto newest = latest_training_checkpoint(work() + "/checkpoints/mlp-float32");
  ASSERT_TRUE(newest);
  const TrainingCheckpoint saved = TrainingCheckpoint::open(*newest);
  EXPECT_EQ(saved.step(), 6U);
  EXPECT_EQ(saved.tensor("adam/step").values<float>()[0], 6);
  for (const char* const half : {"train", "validation"}) {
    const auto events = match_files(work() + "/logs/*/" + half + "/events.out.tfevents.*");
    ASSERT_THAT(events, SizeIs(1));
    // The version, the start, the training's graph, and the points of three epochs.
    EXPECT_EQ(count_records(events[0]), half == std::string("train") ? 3 + 3 * 5 : 2 + 3 * 2);
  }
}

TEST(TrainReport, SharesAddUpToAHundredPercent) {
  EXPECT_THAT(permille({1, 1, 1, 0}), ElementsAre(334, 333, 333, 0));
  EXPECT_THAT(permille({2, 1, 0, 0}), ElementsAre(667, 333, 0, 0));
  EXPECT_THAT(permille({0, 0, 0, 0}), ElementsAre(0, 0, 0, 0));
  EXPECT_THAT(permille({std::int64_t{1} << 62, 1, 1, 1}), ElementsAre(1000, 0, 0, 0));
}

TEST_F(Train, ShardsAreMadeOnceAndAgainWhenSomethingChanged) {
  const std::vector<std::string> shortly{"--epochs", "1"};
  EXPECT_THAT(run(shortly).out, AllOf(HasSubstr("made in"), Not(HasSubstr("made before"))));
  EXPECT_THAT(run(shortly).out, AllOf(Not(HasSubstr("made in")), HasSubstr("made before")));
  const std::vector<std::string> only_training{"--epochs", "1", "--train-only"};
  fs::remove(work() + "/shards/train-00007-of-00016.tfrecord.gz");
  EXPECT_THAT(run(only_training).out, AllOf(HasSubstr("made in"), HasSubstr("made before")));
  write_half(data(), "t10k", 500, 5);
  EXPECT_THAT(run(only_training).out, HasSubstr("500 test images in 2 shards"));
}

TEST_F(Train, TheSameSeedGivesTheSameLossesBitForBitAtAnyThreadCount) {
  const auto losses = [&](int threads, std::uint64_t seed) {
    return tools::learn(
               Slice::parse("v3-8"),
               {.training = {.shards = shards(tools::Split::train, 16).files, .seed = seed},
                .images = 3000,
                .test = {.shards = shards(tools::Split::test, 2).files, .seed = seed},
                .epochs = 3,
                .seed = seed,
                .rate = [](std::uint64_t) { return nn::constant_rate(0.002); },
                .threads = threads,
                .executor = threads == 1 ? Executor::inline_() : Executor::threads(threads),
                .files = {.checkpoint_folder = folder_.file("checkpoints"),
                          .log_folder = folder_.file("logs")}})
        .losses;
  };
  const std::vector<double> one = losses(1, 42);
  ASSERT_THAT(one, SizeIs(6));
  for (const int threads : {2, 3, 8}) {
    const std::vector<double> more = losses(threads, 42);
    ASSERT_THAT(more, SizeIs(one.size()));
    EXPECT_EQ(std::memcmp(more.data(), one.data(), one.size() * sizeof(double)), 0) << threads;
  }
  EXPECT_NE(losses(2, 43), one);
}

TEST_F(Train, EachModelIsTrainedInEachPrecision) {
  const std::string few_images = folder_.file("few");
  fs::create_directory(few_images);
  write_dataset(few_images, 500, 100);
  const auto train = [&](const std::string& model, const std::string& precision) {
    const std::string json_file = folder_.file("result.json");
    const bool needs_many = model == "transformer";  // it learns nothing from fewer
    const bool learns_soon = model == "convnet" || model == "resnet";
    const int batch = needs_many ? 100 : 16;
    const ProgramResult result =
        run_infeed({"train", "--data", needs_many ? data() : few_images, "--work",
                    folder_.file("work-" + model), "--train-only", "--model", model, "--precision",
                    precision, "--batch", std::to_string(batch), "--epochs",
                    learns_soon ? "1" : "3", "--json", json_file});
    EXPECT_EQ(result.status, 0) << result.err;
    EXPECT_THAT(result.out, Not(HasSubstr("pipelines")));
    const auto json = nlohmann::json::parse(std::ifstream(json_file));
    EXPECT_EQ(json.at("training").at("batch"), batch);
    EXPECT_EQ(json.at("training").at("precision"), precision);
    EXPECT_TRUE(fs::is_directory(folder_.file("work-" + model) + "/checkpoints/" + model + "-" +
                                 precision));
    // The feeding tricks don't change what is learnt, and each account adds up.
    const auto& without = json.at("training_without_tricks");
    EXPECT_THAT(without, SizeIs(1));
    for (const char* const same : {"same_losses", "same_order", "same_weights"}) {
      EXPECT_TRUE(without.at(0).at(same).get<bool>()) << same;
    }
    for (const char* const clock : {"host", "slice"}) {
      double sum = 0;
      for (const auto& share : json.at("training").at("accounts").at(clock).at("shares")) {
        sum += share.get<double>();
      }
      EXPECT_NEAR(sum, 1, 1e-9) << clock;
    }
    return json.at("test_accuracy").get<double>();
  };
  for (const char* const model : {"mlp", "convnet", "resnet", "transformer"}) {
    EXPECT_GT(train(model, "mixed_bfloat16"), 0.5) << model;
  }
  for (const char* const precision : {"float32", "mixed_float16"}) {
    EXPECT_GT(train("mlp", precision), 0.9) << precision;
  }
}

TEST_F(Train, ComparesInAPrecisionThatNoTpuHas) {
  const ProgramResult result = run({"--precision", "mixed_float16"});
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("geometric mean of all "));
}

TEST_F(Train, ResumeGoesOnAsIfItHadNotEnded) {
  const auto losses_and_weights = [&](const std::string& folder, std::vector<std::string> more) {
    const std::string json_file = folder_.file("result.json");
    more.insert(more.begin(),
                {"train", "--data", data(), "--work", folder, "--train-only", "--json", json_file});
    const std::string checkpoints = folder + "/checkpoints/mlp-float32";
    const bool begins_anew = more.back() == "--resume" && !latest_training_checkpoint(checkpoints);
    const ProgramResult result = run_infeed(more);
    EXPECT_EQ(result.status, 0) << result.err;
    EXPECT_EQ(result.err, begins_anew ? "infeed train: --resume finds no checkpoint in " +
                                            checkpoints + ", so the training begins anew\n"
                                      : "");
    const auto json = nlohmann::json::parse(std::ifstream(json_file));
    const auto newest = latest_training_checkpoint(checkpoints);
    return std::tuple(json.at("training").at("losses").get<std::vector<double>>(),
                      read_file(newest.value_or("none") + "/tensors"), result.out,
                      json.at("log_folder").get<std::string>());
  };
  const auto [losses, weights, out, logs] =
      losses_and_weights(folder_.file("whole"), {"--epochs", "4"});
  const auto first_logs = std::get<3>(losses_and_weights(work(), {"--epochs", "2", "--resume"}));
  const auto [rest, resumed, said, resumed_logs] =
      losses_and_weights(work(), {"--epochs", "4", "--resume"});
  EXPECT_EQ(rest, std::vector<double>(losses.begin() + 4, losses.end()));
  EXPECT_EQ(resumed, weights);
  EXPECT_THAT(said, HasSubstr("it went on from step 4"));
  // One curve: a second file behind the first one's.
  EXPECT_EQ(resumed_logs, first_logs);
  EXPECT_THAT(match_files(resumed_logs + "/train/events.out.tfevents.*"), SizeIs(2));
  // There is nothing left to do.
  EXPECT_THAT(std::get<0>(losses_and_weights(work(), {"--epochs", "4", "--resume"})), IsEmpty());
}

TEST_F(Train, ATrickOfTheDeviceIsTrainedWithItsOwnBatchAndRate) {
  /// The number of updates that a schedule is made for, and how many it is asked for.
  struct Asked {
    std::uint64_t made_for = 0;
    std::uint64_t updates = 0;
  };
  std::vector<std::shared_ptr<Asked>> asked;
  const tools::LearnOptions options{
      .training = {.shards = shards(tools::Split::train, 16).files, .seed = 1, .batch = 128},
      .images = 3000,
      .test = {.shards = shards(tools::Split::test, 2).files, .seed = 1, .batch = 128},
      .epochs = 2,
      .seed = 1,
      .rate = [&](std::uint64_t updates) -> nn::Schedule {
        asked.push_back(std::make_shared<Asked>(Asked{.made_for = updates}));
        return [of = asked.back()](std::uint64_t update) {
          of->updates = std::max(of->updates, update + 1);
          return 0.002;
        };
      }};
  const Slice slice = Slice::parse("v3-8");
  std::vector<tools::DeviceTrick> tricks = tools::device_tricks("mlp", slice, 128);
  tools::learn_with_tricks(tricks, slice, options, 0.25);
  EXPECT_EQ(tricks[0].test_accuracy, 0.25) << "the same arithmetic";
  ASSERT_THAT(tricks, SizeIs(6));
  EXPECT_GT(tricks[4].test_accuracy.value_or(0), 0.5) << tricks[4].name;
  EXPECT_GT(tricks[5].test_accuracy.value_or(0), 0.1) << tricks[5].name;
  // 3,000 images are 5 batches of 512 an epoch; 4 make one update, and the fifth another.
  std::vector<std::uint64_t> made_for;
  for (const auto& of : asked) {
    made_for.push_back(of->made_for);
    EXPECT_THAT(of->updates, ::testing::AnyOf(of->made_for, of->made_for + 1))
        << "the rate behind the last update is shown, too";
  }
  EXPECT_THAT(made_for, ::testing::IsSupersetOf({2 * 5U, 2 * 2U}));
  std::vector<tools::DeviceTrick> of_few_images = tools::device_tricks("mlp", slice, 128);
  tools::LearnOptions few_images = options;
  few_images.images = 1000;
  tools::learn_with_tricks(of_few_images, slice, few_images, 0.25);
  EXPECT_FALSE(of_few_images[5].test_accuracy) << "2,048 images make an update";
}

TEST_F(Train, BadInputIsOneLineThatSaysWhatToDo) {
  const auto train = [&](std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "train");
    return run_infeed(arguments);
  };
  expect_failure(train({"--data", folder_.file("none"), "--work", work()}), 1,
                 {"does not exist", "dataset-fashion-mnist"});
  expect_failure(train({"--data", data(), "--work", data() + "/t10k-labels-idx1-ubyte/work"}), 1,
                 {"cannot make the folder", "a part of the path is a file"});
  expect_failure(run({"--json", folder_.file("none/result.json")}), 1,
                 {"does not exist", "none/result.json"});
  expect_failure(run({"--json", folder_.path()}), 1, {"it is a folder"});
  write_half(data(), "train", 100, 1);
  expect_failure(run(), 1, {"100 training images are fewer", "batch of 1024"});
}

TEST_F(Train, ADamagedShardIsNamed) {
  ASSERT_EQ(run({"--epochs", "1"}).status, 0);
  for (const char* const name : {"shards/train-00003-of-00016.tfrecord.gz",
                                 "shards-to-compare/train-00003-of-00016.tfrecord"}) {
    const fs::path shard = fs::path(work()) / name;
    const std::string whole = read_file(shard.string());
    const auto time = fs::last_write_time(shard);
    std::string damaged = whole;
    damaged.replace(damaged.size() / 2, 16, 16, 'X');
    // Shards with another time would simply be made anew.
    const auto overwrite = [&](const std::string& bytes) {
      write_whole(shard, bytes);
      fs::last_write_time(shard, time);
    };
    overwrite(damaged);
    expect_failure(run(), 1,
                   {"data_loss", shard.string(), "remove the folder", shard.parent_path().string(),
                    "run this again"});
    overwrite(whole);
  }
}

TEST_F(Train, AFullResultFile) {
  expect_failure(run({"--json", "/dev/full"}), 1, {"resource_exhausted", "the disk is full"});
}

TEST_F(Train, CtrlCSaysWhatWasKept) {
  const std::string out = folder_.file("out");
  const auto printed = [&](const char* text) {
    return [out, text] { return read_whole(out).find(text) != std::string::npos; };
  };
  const auto interrupt = [&](const char* when) {
    fs::remove(out);
    return run_infeed({"train", "--data", data(), "--work", work(), "--seconds", "20"},
                      {.stdout_file = out, .send_signal_when = printed(when), .signal = SIGINT});
  };
  EXPECT_TRUE(holds_in_a_quiet_run([&] {
    const ProgramResult measuring = interrupt("pipeline ");
    EXPECT_EQ(measuring.status, 130);
    EXPECT_EQ(measuring.err,
              "infeed train: stopped; kept in " + work() +
                  ": the 16 shards of training images; the 2 shards of test images\n");
    return measuring.seconds_after_signal < 1.0 * kTimesSlower;
  }));

  EXPECT_TRUE(holds_in_a_quiet_run([&] {
    fs::remove(out);
    const ProgramResult training = run_infeed(
        {"train", "--data", data(), "--work", work(), "--seconds", "0.1", "--epochs", "10000"},
        {.stdout_file = out, .send_signal_when = printed("epoch"), .signal = SIGTERM});
    EXPECT_EQ(training.status, 130);
    EXPECT_THAT(training.err, StartsWith("infeed train: stopped; kept in "));
    return training.seconds_after_signal < 1.0 * kTimesSlower;
  }));
}

}  // namespace
}  // namespace infeed::test
