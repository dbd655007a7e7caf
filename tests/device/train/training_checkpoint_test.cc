#include "infeed/device/training_checkpoint.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <set>

#include <infeed/device/layers.h>
#include <infeed/device/losses.h>
#include <infeed/device/optimizers.h>
#include <infeed/error.h>
#include <infeed/records/crc32c.h>

#include "device/error_message.h"
#include "temporary_folder.h"

namespace infeed {
namespace {

namespace fs = std::filesystem;

/// A layer with its optimiser.
struct SmallModel {
  explicit SmallModel(std::uint64_t seed, std::int64_t units = 3)
      : scope({.seed = seed}),
        layer(scope.below("dense"), 4, units),
        adam(scope.below("adam"), scope.variables()) {}

  float step() {
    Tape tape({.training = true});
    const TapeValue x = tape.constant(Tensor::copy_of<float>({1, 4}, {1, 2, 3, 4}));
    const TapeValue loss = nn::sum(tape, nn::tanh(tape, layer.apply(tape, x)));
    adam.apply(tape.gradients(loss));
    return loss.item();
  }

  Scope scope;
  nn::Dense layer;
  nn::Adam adam;
};

std::set<std::string> entries_of(const std::string& folder) {
  std::set<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder)) {
    names.insert(entry.path().filename().string());
  }
  return names;
}

TrainingState small_state(std::uint64_t step) {
  TrainingState state = state_of(step, SmallModel(1).scope.variables());
  state.texts.push_back({"pipeline", "position 7\n"});
  state.texts.push_back({"callbacks", ""});
  return state;
}

TEST(TrainingCheckpoint, TrainingContinuesBitForBit) {
  const TemporaryFolder folder;
  SmallModel model(1);
  for (int i = 0; i < 5; ++i) model.step();
  TrainingState state = state_of(5, model.scope.variables());
  state.texts.push_back({"pipeline", "position 5"});
  const std::string saved = save_training_checkpoint(folder.path(), state);
  EXPECT_EQ(saved, folder.file("step-0000000005"));

  SmallModel other(2);
  const TrainingCheckpoint checkpoint = TrainingCheckpoint::open(saved);
  EXPECT_EQ(checkpoint.step(), 5U);
  EXPECT_EQ(checkpoint.text("pipeline"), "position 5");
  checkpoint.restore(other.scope.variables());
  EXPECT_EQ(other.adam.steps(), 5U);
  for (int i = 0; i < 5; ++i) EXPECT_EQ(other.step(), model.step());
}

TEST(TrainingCheckpoint, TheManifestIsTextThatAPersonReads) {
  const TemporaryFolder folder;
  TrainingState state{.step = 12};
  state.tensors.push_back({"dense/kernel", Tensor::copy_of<float>({2, 1}, {1, -1})});
  state.tensors.push_back({"step", Tensor::copy_of<float>(Shape(), {12})});
  state.texts.push_back({"pipeline", "position 12\n"});
  const std::string saved = save_training_checkpoint(folder.path(), state);
  EXPECT_EQ(read_whole(saved + "/manifest"),
            "infeed-training-checkpoint 1\nstep 12\ntensor 7e7e6019 float32 2x1 dense/kernel\n"
            "tensor 0460137c float32 scalar step\ntext 435a62ca 12 pipeline\nchecksum 383d0959\n");
  EXPECT_EQ(read_whole(saved + "/texts"), "position 12\n");
  EXPECT_EQ(fs::file_size(saved + "/tensors"), 12U);
}

TEST(TrainingCheckpoint, TheNewestStay) {
  const TemporaryFolder folder;
  EXPECT_EQ(latest_training_checkpoint(folder.file("none")), std::nullopt);
  for (const std::uint64_t step : {8, 9, 10, 11}) {
    save_training_checkpoint(folder.path(), small_state(step), {.keep = 2});
  }
  EXPECT_THAT(entries_of(folder.path()),
              testing::ElementsAre("step-0000000010", "step-0000000011"));
  EXPECT_EQ(latest_training_checkpoint(folder.path()), folder.file("step-0000000011"));
  // A run that resumes from an older one keeps the checkpoints that it saves.
  save_training_checkpoint(folder.path(), small_state(3), {.keep = 1});
  EXPECT_THAT(entries_of(folder.path()), testing::ElementsAre("step-0000000003"));
  EXPECT_EQ(
      error_message([&] { save_training_checkpoint(folder.path(), small_state(4), {.keep = 0}); }),
      "SaveOptions::keep is 0: the checkpoint that is saved would go at once; keep 1 or more");
}

TEST(TrainingCheckpoint, OneOfTheSameStepIsReplaced) {
  const TemporaryFolder folder;
  save_training_checkpoint(folder.path(), small_state(4));
  TrainingState other = small_state(4);
  other.texts[0].text = "position 8\n";
  const std::string saved = save_training_checkpoint(folder.path(), other);
  EXPECT_EQ(TrainingCheckpoint::open(saved).text("pipeline"), "position 8\n");
  EXPECT_THAT(entries_of(folder.path()), testing::ElementsAre("step-0000000004"));
}

TEST(TrainingCheckpoint, WhatAKilledProcessLeftIsNotFoundAndGoes) {
  const TemporaryFolder folder;
  for (const char* name : {".step-0000000009.partial", ".step-0000000007.removed"}) {
    fs::create_directories(folder.file(name));
    write_whole(folder.file(name) + std::string("/tensors"), "half");
  }
  EXPECT_TRUE(training_checkpoints(folder.path()).empty());
  save_training_checkpoint(folder.path(), small_state(9));
  EXPECT_THAT(entries_of(folder.path()), testing::ElementsAre("step-0000000009"));
}

TEST(TrainingCheckpoint, AFailedSaveLeavesTheOneBefore) {
  const TemporaryFolder folder;
  const std::string saved = save_training_checkpoint(folder.path(), small_state(4));
  TrainingState bad = small_state(5);
  bad.tensors.push_back({"ids", Tensor::copy_of<std::int32_t>({1}, {1})});
  EXPECT_EQ(error_message([&] { save_training_checkpoint(folder.path(), bad); }),
            "tensor ids is int32; a checkpoint holds float32");
  bad = small_state(5);
  bad.texts.push_back({"two\nlines", ""});
  EXPECT_EQ(error_message([&] { save_training_checkpoint(folder.path(), bad); }),
            "a text of a checkpoint is named 'two\nlines'; give it a name without line breaks");
  EXPECT_THAT(entries_of(folder.path()), testing::ElementsAre("step-0000000004"));
  EXPECT_EQ(TrainingCheckpoint::open(saved).step(), 4U);
}

TEST(TrainingCheckpoint, AnotherModelsIsRefusedWithWhatDiffers) {
  const TemporaryFolder folder;
  const auto saved =
      TrainingCheckpoint::open(save_training_checkpoint(folder.path(), small_state(5)));
  SmallModel wide(2, 5);
  const Tensor before = wide.scope.variables()[0].value();
  EXPECT_EQ(error_message([&] { saved.restore(wide.scope.variables()); }),
            "the checkpoint is of another model or optimiser: dense/kernel is [4, 3] in it and "
            "[4, 5] here, dense/bias is [3] in it and [5] here, adam/first_moment/dense/kernel is "
            "[4, 3] in it and [4, 5] here, adam/first_moment/dense/bias is [3] in it and [5] "
            "here and 2 more; build the one that it was saved from, or begin in another folder");
  EXPECT_EQ(wide.scope.variables()[0].value(), before);
  Scope other;
  other.variable("dense/kernel", {4, 3}, Initializer::zeros);
  other.variable("gain", {3}, Initializer::zeros);
  const std::string_view except[] = {"adam/"};
  EXPECT_EQ(error_message([&] { saved.restore(other.variables(), except); }),
            "the checkpoint is of another model or optimiser: gain [3] isn't in it, dense/bias [3] "
            "isn't here; build the one that it was saved from, or begin in another folder");
  EXPECT_EQ(error_message([&] { saved.text("early_stopping"); }),
            "the checkpoint has no text 'early_stopping', only pipeline, callbacks");
}

/// Opens it and restores from it.
ErrorCode opening(const std::string& folder) {
  try {
    const TrainingCheckpoint checkpoint = TrainingCheckpoint::open(folder);
    checkpoint.restore(SmallModel(3).scope.variables());
  } catch (const Error& error) {
    EXPECT_THAT(error.file(), testing::StartsWith(folder));
    return error.code();
  }
  return ErrorCode::internal;  // it was opened
}

TEST(TrainingCheckpoint, EveryCutAndEveryFlippedByteIsNoticed) {
  const TemporaryFolder folder;
  const std::string saved = save_training_checkpoint(folder.path(), small_state(5));
  ASSERT_EQ(opening(saved), ErrorCode::internal);
  for (const char* name : {"/manifest", "/tensors", "/texts"}) {
    const std::string file = saved + name;
    const std::string whole = read_whole(file);
    for (std::size_t size = 0; size < whole.size(); ++size) {
      write_whole(file, whole.substr(0, size));
      ASSERT_EQ(opening(saved), ErrorCode::data_loss) << name << " cut at " << size;
    }
    for (std::size_t at = 0; at < whole.size(); ++at) {
      std::string bytes = whole;
      bytes[at] = static_cast<char>(bytes[at] ^ 0x10);
      write_whole(file, bytes);
      ASSERT_EQ(opening(saved), ErrorCode::data_loss) << name << " flipped at " << at;
    }
    write_whole(file, whole + "x");
    ASSERT_EQ(opening(saved), ErrorCode::data_loss) << name << " with more behind it";
    fs::remove(file);
    ASSERT_EQ(opening(saved), ErrorCode::not_found) << name;
    write_whole(file, whole);
  }
}

/// Returns a manifest with its right checksum, for any lines.
std::string with_checksum(const std::string& lines) {
  return lines + fmt::format("checksum {:08x}\n", crc32c(lines));
}

TEST(TrainingCheckpoint, ErrorsSayWhatWasFound) {
  const TemporaryFolder folder;
  const std::string saved = save_training_checkpoint(folder.path(), small_state(5));
  const auto message_of = [&](const std::string& manifest) {
    write_whole(saved + "/manifest", manifest);
    return error_message([&] { TrainingCheckpoint::open(saved); });
  };
  const std::string begin = "infeed-training-checkpoint 1\n";
  EXPECT_EQ(message_of("an image"),
            "not a whole training checkpoint: the manifest doesn't begin with "
            "'infeed-training-checkpoint '; take an older one");
  EXPECT_EQ(message_of("infeed-training-checkpoint 2\n"),
            "training checkpoint of format version 2; this program reads version 1, use the one "
            "that wrote it");
  EXPECT_EQ(message_of(begin + "step 5\n"),
            "not a whole training checkpoint: the manifest doesn't end with its checksum; take an "
            "older one");
  EXPECT_EQ(message_of(begin + "checksum 00000000\n"),
            fmt::format("not a whole training checkpoint: the manifest's checksum is 00000000, by "
                        "its lines {:08x}; take an older one",
                        crc32c(begin)));
  EXPECT_EQ(message_of(with_checksum(begin + "tensor 0 float64 2 x\n")),
            "not a whole training checkpoint: line 2 of its manifest is 'tensor 0 float64 2 x', "
            "expected step N, tensor CRC float32 SHAPE NAME or text CRC BYTES NAME; take an older "
            "one");
}

TEST(TrainingCheckpoint, NoMemoryIsTakenThatTheFilesCannotFill) {
  const TemporaryFolder folder;
  const std::string saved = save_training_checkpoint(folder.path(), small_state(5));
  const auto message_of = [&](const std::string& line) {
    write_whole(saved + "/manifest", with_checksum("infeed-training-checkpoint 1\n" + line));
    return error_message([&] { TrainingCheckpoint::open(saved); });
  };
  const std::string tensors_bytes = std::to_string(fs::file_size(saved + "/tensors"));
  EXPECT_EQ(message_of("tensor 0 float32 1000000x1000000 x\n"),
            "not a whole training checkpoint: " + tensors_bytes +
                " bytes where the manifest names 4000000000000; take an older one");
  for (const char* shape : {"4294967296x4294967296", "-1", "1x1x1x1x1x1x1x1x1", "2y", "x"}) {
    EXPECT_THAT(message_of(fmt::format("tensor 0 float32 {} x\n", shape)),
                testing::HasSubstr("line 2 of its manifest"))
        << shape;
  }
  const std::string large = "tensor 0 float32 1152921504606846976 x\n";
  EXPECT_THAT(message_of(large + large + large + large), testing::HasSubstr("line 5 of its"));
  const std::string text = "text 0 9223372036854775807 x\n";
  EXPECT_THAT(message_of(text + text + text), testing::HasSubstr("line 4 of its manifest"));
  const fs::path manifest = saved + "/manifest";
  fs::resize_file(manifest, std::uint64_t{1} << 40);  // sparse: takes nothing on the disk
  EXPECT_EQ(error_message([&] { TrainingCheckpoint::open(saved); }),
            "not a whole training checkpoint: 1099511627776 bytes where 16777216 bytes at most are "
            "expected; take an older one");
}

}  // namespace
}  // namespace infeed
