#include "infeed/records/training_checkpoint.h"

#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <set>
#include <sys/file.h>

#include "infeed/error.h"
#include "infeed/records/crc32c.h"
#include "infeed/records/file.h"
#include "records/temporary_files.h"
#include "thrown_error.h"

namespace infeed::test {
namespace {

std::string refusal_of(const auto& call) { return error_of(call).message(); }

std::set<std::string> entries_of(const std::string& folder) {
  std::set<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder)) {
    names.insert(entry.path().filename().string());
  }
  return names;
}

TrainingState small_state(std::uint64_t step) {
  TrainingState state{.step = step};
  state.tensors.push_back({"dense/kernel", Tensor::copy_of<float>({2, 2}, {1, -1, 0.5F, 2})});
  state.tensors.push_back({"seen", Tensor::copy_of<std::int64_t>({3}, {1, -2, 1L << 60})});
  state.bytes.push_back({"pipeline", "position 7\n"});
  state.bytes.push_back({"callbacks", ""});
  return state;
}

TEST(TrainingCheckpoint, HoldsTensorsOfAnyTypeAndShapeAndAnyBytes) {
  const TemporaryFolder folder;
  TrainingState state{.step = 5};
  for (std::size_t i = 0; i < kDTypes; ++i) {
    const auto dtype = static_cast<DType>(i);
    if (dtype == DType::bytes) continue;
    for (const Shape& shape : {Shape(), Shape({0}), Shape({7}), Shape({2, 1, 3, 2}),
                               Shape({1, 1, 2, 1, 1, 1, 1, 1, 3})}) {
      Tensor tensor(dtype, shape);
      std::byte value{1};
      for (std::byte& byte : tensor.writable_bytes()) byte = value = value ^ std::byte{0x5a};
      state.tensors.push_back(
          {fmt::format("{} of {}", to_string(dtype), shape.to_string()), std::move(tensor)});
    }
  }
  std::string all_bytes;
  for (int byte = 0; byte < 256; ++byte) all_bytes += static_cast<char>(byte);
  state.bytes.push_back({"all bytes", all_bytes});
  state.bytes.push_back({"none", ""});

  const auto saved = TrainingCheckpoint::open(save_training_checkpoint(folder.path(), state));
  EXPECT_EQ(saved.step(), 5U);
  ASSERT_EQ(saved.tensors().size(), state.tensors.size());
  for (const NamedTensor& named : state.tensors) {
    EXPECT_EQ(saved.tensor(named.name, named.tensor.dtype(), named.tensor.shape()), named.tensor)
        << named.name;
  }
  EXPECT_EQ(saved.bytes("all bytes"), all_bytes);
  EXPECT_EQ(saved.bytes("none"), "");
  EXPECT_EQ(saved.find_tensor("none"), nullptr);
  EXPECT_EQ(saved.find_bytes("bool of []"), nullptr);
}

TEST(TrainingCheckpoint, MemoryOfAnotherLibraryComesInWithoutACopy) {
  const TemporaryFolder folder;
  const auto owner = std::make_shared<std::vector<double>>(1000, 0.25);
  TrainingState state{.step = 1};
  state.tensors.push_back(
      {"weights", Tensor::adopt(DType::float64, {10, 100}, owner->data(), owner)});
  const auto saved = TrainingCheckpoint::open(save_training_checkpoint(folder.path(), state));
  EXPECT_EQ(saved.tensor("weights"), state.tensors[0].tensor);
}

TEST(TrainingCheckpoint, TheManifestIsTextThatAPersonReads) {
  const TemporaryFolder folder;
  TrainingState state{.step = 12};
  state.tensors.push_back({"dense/kernel", Tensor::copy_of<float>({2, 1}, {1, -1})});
  state.tensors.push_back({"step", Tensor::copy_of<std::int16_t>(Shape(), {12})});
  state.bytes.push_back({"pipeline", "position 12\n"});
  const std::string saved = save_training_checkpoint(folder.path(), state);
  const std::string lines = fmt::format(
      "infeed-training-checkpoint 2\nstep 12\n"
      "tensor 7e7e6019 float32 2x1 dense/kernel\ntensor {:08x} int16 scalar step\n"
      "bytes 435a62ca 12 pipeline\n",
      crc32c({"\x0c\0", 2}));
  EXPECT_EQ(read_whole(saved + "/manifest"),
            lines + fmt::format("checksum {:08x}\n", crc32c(lines)));
  EXPECT_EQ(read_whole(saved + "/bytes"), "position 12\n");
  EXPECT_EQ(fs::file_size(saved + "/tensors"), 10U);
}

/// Returns a manifest with its right checksum, for any lines.
std::string with_checksum(const std::string& lines) {
  return lines + fmt::format("checksum {:08x}\n", crc32c(lines));
}

TEST(TrainingCheckpoint, TheFirstVersionIsRead) {
  const TemporaryFolder folder;
  folder.write("tensors", {"\x00\x00\x80\x3f\x00\x00\x80\xbf", 8});
  folder.write("texts", "position 12\n");
  folder.write("manifest", with_checksum("infeed-training-checkpoint 1\nstep 12\n"
                                         "tensor 7e7e6019 float32 2x1 dense/kernel\n"
                                         "text 435a62ca 12 pipeline\n"));
  const auto saved = TrainingCheckpoint::open(folder.path());
  EXPECT_EQ(saved.step(), 12U);
  EXPECT_EQ(saved.tensor("dense/kernel"), Tensor::copy_of<float>({2, 1}, {1, -1}));
  EXPECT_EQ(saved.bytes("pipeline"), "position 12\n");
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
  save_training_checkpoint(folder.path(), small_state(7), {.keep = 2});
  save_training_checkpoint(folder.path(), small_state(5), {.keep = 2});
  EXPECT_THAT(entries_of(folder.path()),
              testing::ElementsAre("step-0000000005", "step-0000000007"));
  EXPECT_EQ(
      refusal_of([&] { save_training_checkpoint(folder.path(), small_state(4), {.keep = 0}); }),
      "SaveOptions::keep is 0: the checkpoint that is saved would go at once; keep 1 or more");
}

TEST(TrainingCheckpoint, OneOfTheSameStepIsReplaced) {
  const TemporaryFolder folder;
  save_training_checkpoint(folder.path(), small_state(4));
  TrainingState other = small_state(4);
  other.bytes[0].bytes = "position 8\n";
  const std::string saved = save_training_checkpoint(folder.path(), other);
  EXPECT_EQ(TrainingCheckpoint::open(saved).bytes("pipeline"), "position 8\n");
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
  bad.bytes.push_back({"two\nlines", ""});
  EXPECT_EQ(refusal_of([&] { save_training_checkpoint(folder.path(), bad); }),
            "bytes of a checkpoint are named 'two\nlines'; give a name without line breaks");
  bad = small_state(5);
  bad.tensors.push_back({"", Tensor()});
  EXPECT_EQ(refusal_of([&] { save_training_checkpoint(folder.path(), bad); }),
            "tensors of a checkpoint are named ''; give a name without line breaks");
  bad = small_state(5);
  bad.tensors.push_back({"seen", Tensor()});
  EXPECT_EQ(refusal_of([&] { save_training_checkpoint(folder.path(), bad); }),
            "two tensors of a checkpoint are named 'seen'; nobody could read the second");
  bad = small_state(5);
  bad.bytes.push_back({"pipeline", ""});
  EXPECT_EQ(refusal_of([&] { save_training_checkpoint(folder.path(), bad); }),
            "two bytes of a checkpoint are named 'pipeline'; nobody could read the second");
  EXPECT_THAT(entries_of(folder.path()), testing::ElementsAre("step-0000000004"));
  EXPECT_EQ(TrainingCheckpoint::open(saved).step(), 4U);
}

TEST(TrainingCheckpoint, OneWhoseManifestWouldNotBeReadIsNotSaved) {
  const TemporaryFolder folder;
  const std::string saved = save_training_checkpoint(folder.path(), small_state(5));
  const std::size_t other_bytes =
      fs::file_size(saved + "/manifest") + std::string("bytes 00000000 0 \n").size();
  TrainingState state = small_state(5);
  state.bytes.push_back({std::string(16'777'216 - other_bytes, 'x'), ""});
  EXPECT_EQ(TrainingCheckpoint::open(save_training_checkpoint(folder.path(), state)).bytes().size(),
            3U);
  state.bytes.back().name += 'x';
  EXPECT_EQ(refusal_of([&] { save_training_checkpoint(folder.path(), state); }),
            "the manifest of a checkpoint would have 16777217 bytes, and 16777216 are the limit; "
            "give its 5 entries shorter names, or join some");
}

TEST(TrainingCheckpoint, OneAtATimeIsSavedIntoAFolder) {
  const TemporaryFolder folder;
  {
    const File other = File::open(folder.path(), O_RDONLY | O_DIRECTORY);
    ASSERT_EQ(::flock(other.descriptor(), LOCK_EX | LOCK_NB), 0);
    const Error error = error_of([&] { save_training_checkpoint(folder.path(), small_state(4)); });
    EXPECT_EQ(error.code(), ErrorCode::failed_precondition);
    EXPECT_EQ(error.message(),
              "somebody else is writing a checkpoint into this folder at this moment; give each "
              "training a folder of its own");
    EXPECT_EQ(error.file(), folder.path());
    EXPECT_TRUE(entries_of(folder.path()).empty());
  }
  save_training_checkpoint(folder.path(), small_state(4));
  EXPECT_THAT(entries_of(folder.path()), testing::ElementsAre("step-0000000004"));
}

TEST(TrainingCheckpoint, AnythingOfTheSameNameIsReplaced) {
  const TemporaryFolder folder;
  folder.write("step-0000000004", "no folder");
  const std::string saved = save_training_checkpoint(folder.path(), small_state(4));
  EXPECT_EQ(saved, folder.file("step-0000000004"));
  EXPECT_EQ(TrainingCheckpoint::open(saved).step(), 4U);
  EXPECT_THAT(entries_of(folder.path()), testing::ElementsAre("step-0000000004"));
}

TEST(TrainingCheckpoint, WhatIsMissingOrOtherIsNamedWithItsFolder) {
  const TemporaryFolder folder;
  const auto saved =
      TrainingCheckpoint::open(save_training_checkpoint(folder.path(), small_state(5)));
  const Error missing = error_of([&] { saved.bytes("pipelines"); });
  EXPECT_EQ(missing.code(), ErrorCode::failed_precondition);
  EXPECT_EQ(missing.message(),
            "the checkpoint has no bytes 'pipelines'; it has 'pipeline', 'callbacks'; did you mean "
            "'pipeline'?");
  EXPECT_EQ(missing.file(), saved.folder());
  EXPECT_EQ(refusal_of([&] { saved.tensor("bias"); }),
            "the checkpoint has no tensor 'bias'; it has 'seen', 'dense/kernel'");
  EXPECT_EQ(refusal_of([&] { saved.tensor("dense/kernel", DType::float32, {4}); }),
            "tensor 'dense/kernel' of the checkpoint is float32 of shape [2, 2], but float32 of "
            "shape [4] is wanted; the checkpoint is of another model");
  EXPECT_EQ(refusal_of([&] {
              saved.tensor("dense/kernel", DType::bfloat16, {2, 2});
            }),
            "tensor 'dense/kernel' of the checkpoint is float32 of shape [2, 2], but bfloat16 of "
            "shape [2, 2] is wanted; the checkpoint is of another model");
}

/// Opens it and reads all of it. Returns the error's code; internal: it was read.
ErrorCode reading(const std::string& folder) {
  try {
    const TrainingCheckpoint saved = TrainingCheckpoint::open(folder);
    for (const auto& place : saved.tensors()) saved.read(place);
    for (const auto& place : saved.bytes()) saved.read(place);
  } catch (const Error& error) {
    EXPECT_THAT(error.file(), testing::StartsWith(folder));
    return error.code();
  }
  return ErrorCode::internal;
}

TEST(TrainingCheckpoint, EveryCutAndEveryFlippedByteIsNoticed) {
  const TemporaryFolder folder;
  const std::string saved = save_training_checkpoint(folder.path(), small_state(5));
  ASSERT_EQ(reading(saved), ErrorCode::internal);
  for (const char* name : {"/manifest", "/tensors", "/bytes"}) {
    const std::string file = saved + name;
    const std::string whole = read_whole(file);
    for (std::size_t size = 0; size < whole.size(); ++size) {
      write_whole(file, whole.substr(0, size));
      ASSERT_EQ(reading(saved), ErrorCode::data_loss) << name << " cut at " << size;
    }
    for (std::size_t at = 0; at < whole.size(); ++at) {
      std::string bytes = whole;
      bytes[at] = static_cast<char>(bytes[at] ^ 0x10);
      write_whole(file, bytes);
      ASSERT_EQ(reading(saved), ErrorCode::data_loss) << name << " flipped at " << at;
    }
    write_whole(file, whole + "x");
    ASSERT_EQ(reading(saved), ErrorCode::data_loss) << name << " with more behind it";
    fs::remove(file);
    ASSERT_EQ(reading(saved), ErrorCode::not_found) << name;
    write_whole(file, whole);
  }
}

TEST(TrainingCheckpoint, DamageNamesFileAndEntry) {
  const TemporaryFolder folder;
  const std::string saved = save_training_checkpoint(folder.path(), small_state(5));
  const auto open = TrainingCheckpoint::open(saved);
  flip_bits(saved + "/tensors", 20);
  const Error damage = error_of([&] { open.tensor("seen"); });
  EXPECT_EQ(damage.message(),
            "not a whole training checkpoint: tensor 'seen' hasn't the checksum that the manifest "
            "names; take an older one");
  EXPECT_EQ(damage.file(), saved + "/tensors");
  EXPECT_EQ(open.tensor("dense/kernel").values<float>()[1], -1);
  write_whole(saved + "/bytes", "posit");
  const Error cut = error_of([&] { open.bytes("pipeline"); });
  EXPECT_EQ(cut.message(),
            "not a whole training checkpoint: it ends within bytes 'pipeline'; take an older one");
  EXPECT_EQ(cut.file(), saved + "/bytes");
}

TEST(TrainingCheckpoint, ErrorsSayWhatWasFound) {
  const TemporaryFolder folder;
  const std::string saved = save_training_checkpoint(folder.path(), small_state(5));
  const auto opening = [&](const std::string& manifest) {
    write_whole(saved + "/manifest", manifest);
    return refusal_of([&] { TrainingCheckpoint::open(saved); });
  };
  const std::string begin = "infeed-training-checkpoint 2\n";
  EXPECT_EQ(opening("an image"),
            "not a whole training checkpoint: the manifest doesn't begin with "
            "'infeed-training-checkpoint '; take an older one");
  EXPECT_EQ(opening("infeed-training-checkpoint 3\n"),
            "the training checkpoint has format version 3, and this infeed knows versions up to 2; "
            "use the infeed that wrote it, or a newer one");
  EXPECT_EQ(opening(begin + "step 5\n"),
            "not a whole training checkpoint: the manifest doesn't end with its checksum; take an "
            "older one");
  EXPECT_EQ(opening(begin + "checksum 00000000\n"),
            fmt::format("not a whole training checkpoint: the manifest's checksum is 00000000, by "
                        "its lines {:08x}; take an older one",
                        crc32c(begin)));
  for (const char* line : {"tensor 0 complex64 2 x", "tensor 0 bytes 2 x", "text 0 1 x",
                           "tensor 0 float32 2", "bytes 0 -1 x", "bytes 0 1 "}) {
    EXPECT_EQ(opening(with_checksum(begin + line + "\n")),
              fmt::format("not a whole training checkpoint: line 2 of its manifest is '{}', "
                          "expected step N, tensor CRC TYPE SHAPE NAME or bytes CRC COUNT NAME; "
                          "take an older one",
                          line));
  }
  for (const char* version : {"0", "-1", "1x", ""}) {
    EXPECT_THAT(opening(with_checksum(fmt::format("infeed-training-checkpoint {}\n", version))),
                testing::HasSubstr("line 1 of its manifest"))
        << version;
  }
}

TEST(TrainingCheckpoint, NoMemoryIsTakenThatTheFilesCannotFill) {
  const TemporaryFolder folder;
  const std::string saved = save_training_checkpoint(folder.path(), small_state(5));
  const auto opening = [&](const std::string& line) {
    write_whole(saved + "/manifest", with_checksum("infeed-training-checkpoint 2\n" + line));
    return refusal_of([&] { TrainingCheckpoint::open(saved); });
  };
  const std::string tensors_bytes = std::to_string(fs::file_size(saved + "/tensors"));
  EXPECT_EQ(opening("tensor 0 int16 1000000x1000000 x\n"),
            "not a whole training checkpoint: " + tensors_bytes +
                " bytes where the manifest names 2000000000000; take an older one");
  for (const char* shape : {"4294967296x4294967296", "-1", "2y", "x"}) {
    EXPECT_THAT(opening(fmt::format("tensor 0 float32 {} x\n", shape)),
                testing::HasSubstr("line 2 of its manifest"))
        << shape;
  }
  const std::string large = "tensor 0 float64 1152921504606846976 x\n";
  EXPECT_THAT(opening(large + large + large + large), testing::HasSubstr("line 3 of its"));
  const std::string bytes = "bytes 0 9223372036854775807 x\n";
  EXPECT_THAT(opening(bytes + bytes + bytes), testing::HasSubstr("line 4 of its manifest"));
  const fs::path manifest = saved + "/manifest";
  write_whole(manifest, std::string(16'777'216, 'x'));
  EXPECT_THAT(refusal_of([&] { TrainingCheckpoint::open(saved); }),
              testing::HasSubstr("the manifest doesn't begin with"));
  fs::resize_file(manifest, 16'777'217);
  EXPECT_THAT(refusal_of([&] { TrainingCheckpoint::open(saved); }),
              testing::HasSubstr("16777217 bytes where 16777216 bytes at most are expected"));
  fs::resize_file(manifest, std::uint64_t{1} << 40);  // sparse: takes nothing on the disk
  EXPECT_EQ(refusal_of([&] { TrainingCheckpoint::open(saved); }),
            "not a whole training checkpoint: 1099511627776 bytes where 16777216 bytes at most are "
            "expected; take an older one");
}

}  // namespace
}  // namespace infeed::test
