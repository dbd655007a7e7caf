#include "train/tuning_profile.h"

#include <filesystem>
#include <fmt/format.h>
#include <sys/stat.h>

#include <infeed/pipeline/executor.h>

#include "matchers.h"
#include "temporary_folder.h"
#include "tools/run_program.h"
#include "tools/small_dataset.h"

namespace infeed::test {
namespace {

TEST(TuningProfile, LiesBesideTheCheckpoint) {
  const TemporaryFolder folder;
  const std::string checkpoint = folder.file("model.ckpt");
  EXPECT_EQ(tools::load_tuning_profile(checkpoint), "");
  tools::save_tuning_profile(checkpoint, {});
  EXPECT_FALSE(fs::exists(checkpoint + ".tuning")) << "nothing is known yet";
  const std::string profile = "infeed tuning 1\ncores 2\nworkers 4 map\n";
  tools::save_tuning_profile(checkpoint, {.profile = profile});
  EXPECT_EQ(tools::load_tuning_profile(checkpoint), profile);
  tools::save_tuning_profile(checkpoint, {});
  EXPECT_EQ(tools::load_tuning_profile(checkpoint), profile) << "the last one that says something";
}

TEST(TuningProfile, WhatElseLiesThereDoesNoHarm) {
  const TemporaryFolder folder;
  const std::string checkpoint = folder.file("model.ckpt");
  fs::create_directory(tools::tuning_profile_file(checkpoint));
  EXPECT_EQ(tools::load_tuning_profile(checkpoint), "");
  fs::remove(tools::tuning_profile_file(checkpoint));
  ASSERT_EQ(::mkfifo(tools::tuning_profile_file(checkpoint).c_str(), 0600), 0);
  EXPECT_EQ(tools::load_tuning_profile(checkpoint), "") << "nobody waits for a writer";
  fs::remove(tools::tuning_profile_file(checkpoint));
  write_whole(tools::tuning_profile_file(checkpoint), std::string(1 << 20, 'x'));
  EXPECT_EQ(tools::load_tuning_profile(checkpoint).size(), 64u * 1024);
}

TEST(TuningProfile, IsUsedByTheNextTrainingAndDroppedWhereItIsOfAnotherMachine) {
  const TemporaryFolder folder;
  const std::string data = folder.file("data");
  const std::string work = folder.file("work");
  fs::create_directory(data);
  fs::create_directory(work);
  write_dataset(data);
  const auto train = [&] {
    return run_infeed(
        {"train", "--data", data, "--work", work, "--seconds", "0.1", "--epochs", "3"});
  };
  const std::string profile = tools::tuning_profile_file(work + "/checkpoints/mlp-float32");
  fs::create_directory(work + "/checkpoints");
  const int others_cores = usable_cores() + 1;
  write_whole(profile, fmt::format("infeed tuning 1\ncores {}\nworkers {} map\n", others_cores,
                                   others_cores));
  const ProgramResult other = train();
  ASSERT_EQ(other.status, 0) << other.err;
  EXPECT_THAT(other.out,
              HasSubstr(fmt::format("the profile is of a machine with {} cores, and there are",
                                    others_cores)));
  write_whole(profile, "infeed tuning 1\n");
  EXPECT_THAT(train().out, Not(HasSubstr("autotune: the profile")));
}

}  // namespace
}  // namespace infeed::test
