#include "infeed/device/model_checkpoint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <infeed/error.h>
#include <infeed/records/record_reader.h>
#include <infeed/records/record_writer.h>

#include "infeed/device/trainer.h"
#include "temporary_folder.h"

namespace infeed {
namespace {

ModelSpec tiny_model() {
  return {.input_features = 3,
          .layers = {{.units = 4, .activation = Activation::relu},
                     {.units = 2, .activation = Activation::softmax}}};
}

const std::vector<float> kFeatures = {0.1F, 0.2F, 0.3F, -1, 0, 1, 0.5F, 0.25F, 2, 1, 1, 1};
const std::vector<std::int32_t> kLabels = {0, 1, 1, 0};
const GlobalBatch kBatch{
    .examples = 4, .features = FeatureColumn(kFeatures.data(), 3), .labels = kLabels};

ErrorCode load_error(const std::string& file, std::string* message = nullptr) {
  try {
    load_model_checkpoint(file);
  } catch (const Error& error) {
    EXPECT_EQ(error.file(), file);
    if (message != nullptr) *message = error.message();
    return error.code();
  }
  ADD_FAILURE() << "loaded";
  return ErrorCode::internal;
}

TEST(ModelCheckpoint, TrainingContinuesBitForBit) {
  const TemporaryFolder folder;
  const std::string file = folder.file("model.ckpt");
  const Slice slice = Slice::parse("v3-8");
  Trainer trainer(tiny_model(), slice, {.seed = 9, .adam = {.learning_rate = 0.0123}});
  for (int i = 0; i < 5; ++i) trainer.train_step(kBatch);
  save_model_checkpoint(file, trainer.model(), trainer.optimizer());
  ModelCheckpoint saved = load_model_checkpoint(file);
  EXPECT_EQ(saved.model.spec(), tiny_model());
  EXPECT_EQ(saved.optimizer.steps(), 5);
  EXPECT_EQ(saved.optimizer.options().learning_rate, 0.0123);
  Trainer other(tiny_model(), slice, {.seed = 1});
  other.restore(std::move(saved.model), std::move(saved.optimizer));
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(trainer.train_step(kBatch).loss_sum, other.train_step(kBatch).loss_sum);
  }
}

TEST(ModelCheckpoint, ReplacesAnOlderOneAndLeavesNothingElse) {
  const TemporaryFolder folder;
  Trainer trainer(tiny_model(), Slice::parse("v3-8"));
  save_model_checkpoint(folder.file("m"), trainer.model(), trainer.optimizer());
  trainer.train_step(kBatch);
  save_model_checkpoint(folder.file("m"), trainer.model(), trainer.optimizer());
  EXPECT_EQ(load_model_checkpoint(folder.file("m")).optimizer.steps(), 1);
  int entries = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(folder.path())) {
    ++entries;
  }
  EXPECT_EQ(entries, 1);
}

TEST(ModelCheckpoint, TheHeaderIsReadableText) {
  const TemporaryFolder folder;
  Trainer trainer(tiny_model(), Slice::parse("v3-8"));
  save_model_checkpoint(folder.file("m"), trainer.model(), trainer.optimizer());
  RecordReader reader(folder.file("m"));
  Record header;
  ASSERT_TRUE(reader.next(header));
  EXPECT_EQ(
      header.bytes(),
      "infeed.model:1\ninputs 3\nlayer 4 relu\nlayer 2 softmax\nadam 0 0.001 0.9 0.999 1e-07\n");
}

TEST(ModelCheckpoint, EveryCutAndEveryFlippedByteIsNoticed) {
  const TemporaryFolder folder;
  Trainer trainer(tiny_model(), Slice::parse("v3-8"));
  save_model_checkpoint(folder.file("m"), trainer.model(), trainer.optimizer());
  const std::string whole = read_whole(folder.file("m"));
  const std::string damaged = folder.file("damaged");
  for (std::size_t size = 0; size < whole.size(); ++size) {
    write_whole(damaged, whole.substr(0, size));
    ASSERT_EQ(load_error(damaged), ErrorCode::data_loss) << "cut at " << size;
  }
  for (std::size_t at = 0; at < whole.size(); ++at) {
    std::string bytes = whole;
    bytes[at] = static_cast<char>(bytes[at] ^ 0x10);
    write_whole(damaged, bytes);
    ASSERT_EQ(load_error(damaged), ErrorCode::data_loss) << "flipped at " << at;
  }
}

TEST(ModelCheckpoint, WhatIsNoCheckpointSaysWhatItIs) {
  const TemporaryFolder folder;
  EXPECT_EQ(load_error(folder.file("missing")), ErrorCode::not_found);
  const auto message_of = [&](std::vector<std::string> records, ErrorCode code) {
    const std::string file = folder.file("made");
    RecordWriter writer(file, {.existing = ExistingFile::replace});
    for (const std::string& record : records) writer.write(record);
    writer.close();
    std::string message;
    EXPECT_EQ(load_error(file, &message), code);
    return message;
  };
  EXPECT_THAT(message_of({"an image"}, ErrorCode::data_loss),
              testing::HasSubstr("does not start with 'infeed.model:'"));
  EXPECT_EQ(message_of({"infeed.model:2\n"}, ErrorCode::failed_precondition),
            "model checkpoint of format version 2; this program reads version 1, use the one that "
            "wrote it");
  EXPECT_THAT(message_of({"infeed.model:1\ninputs x\n"}, ErrorCode::data_loss),
              testing::HasSubstr("line 2 of its header is 'inputs x'"));
  EXPECT_THAT(message_of({"infeed.model:1\ninputs 3\n"}, ErrorCode::data_loss),
              testing::HasSubstr("no line 'adam'"));
  const std::string adam = "adam 0 0.001 0.9 0.999 1e-07\n";
  EXPECT_THAT(message_of({"infeed.model:1\ninputs 3\n" + adam}, ErrorCode::data_loss),
              testing::HasSubstr("it has no layers"));
  EXPECT_THAT(message_of({"infeed.model:1\ninputs 99999999999\nlayer 1 softmax\n" + adam},
                         ErrorCode::data_loss),
              testing::HasSubstr("inputs must be 1 to"));
  const std::string header = "infeed.model:1\ninputs 3\nlayer 2 softmax\n" + adam;
  EXPECT_THAT(message_of({header}, ErrorCode::data_loss),
              testing::HasSubstr("it ends before the record of dense_0/kernel"));
  EXPECT_THAT(message_of({header, "123"}, ErrorCode::data_loss),
              testing::HasSubstr("the record of dense_0/kernel has 3 bytes, expected 24"));
}

/// 100 bytes took 2 GB before the first of the values was missed.
TEST(ModelCheckpoint, AHeaderTakesNoMemoryThatTheFileCannotFill) {
  const TemporaryFolder folder;
  const std::string file = folder.file("made");
  RecordWriter writer(file, {.existing = ExistingFile::replace});
  writer.write("infeed.model:1\ninputs 32768\nlayer 16384 softmax\nadam 0 0.001 0.9 0.999 1e-07\n");
  writer.close();
  std::string message;
  EXPECT_EQ(load_error(file, &message), ErrorCode::data_loss);
  EXPECT_THAT(message, testing::HasSubstr("its header names more parameters than the 7 that its"));
}

TEST(ModelCheckpoint, AnotherModelIsRefused) {
  Trainer trainer(tiny_model(), Slice::parse("v3-8"));
  try {
    trainer.restore(DenseModel(classifier_784_128_10()), Adam(101'770));
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::failed_precondition);
    EXPECT_EQ(error.message(),
              "saved model 784-128(relu)-10(softmax) with optimizer state of 101770 elements "
              "doesn't fit this trainer's model 3-4(relu)-2(softmax)");
  }
}

}  // namespace
}  // namespace infeed
