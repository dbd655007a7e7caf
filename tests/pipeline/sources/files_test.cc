#include <infeed/infeed.h>

#include "pipeline/suite/stage_suite.h"
#include "records/temporary_files.h"
#include "thrown_error.h"

namespace infeed::test {
namespace {

Stream names_of(const Dataset<std::string>& dataset) {
  Stream names;
  for (const std::string& file : dataset.iterate()) {
    names.push_back(file.substr(file.rfind('/') + 1));
  }
  return names;
}

TemporaryFolder& with_files(TemporaryFolder& folder, const std::vector<std::string>& names) {
  for (const std::string& name : names) folder.write(name, "bytes");
  return folder;
}

TEST(Files, AreSortedByTheirBytes) {
  TemporaryFolder folder;
  with_files(folder, {"x-10", "x-2", "x-A", "x-a", "y", ".x-1"});
  EXPECT_EQ(names_of(files(folder.file("x-*"))), (Stream{"x-10", "x-2", "x-A", "x-a"}));
  EXPECT_EQ(files(folder.file("x-*")).cardinality(), Cardinality::finite(4));
}

TEST(Files, AreShuffledAsTensorFlowDoes) {
  TemporaryFolder folder;
  with_files(folder, {"x-a", "x-b", "x-c", "x-d", "x-e", "x-f"});
  // Printed by TensorFlow 2.21: list_files(..., shuffle=True, seed=5), twice.
  const Stream first{"x-b", "x-c", "x-f", "x-a", "x-d", "x-e"};
  const Stream second{"x-c", "x-b", "x-f", "x-e", "x-a", "x-d"};
  const auto shuffled = files(folder.file("x-*"), {.shuffle = true, .seed = 5});
  EXPECT_EQ(names_of(shuffled), first);
  EXPECT_EQ(names_of(shuffled), second);
  const auto same =
      files(folder.file("x-*"), {.shuffle = true, .seed = 5, .reshuffle_each_iteration = false});
  EXPECT_EQ(names_of(same), names_of(same));
}

TEST(Files, NothingMatchedIsAnErrorAtOnce) {
  TemporaryFolder folder;
  with_files(folder, {"train-0.tfrecord"});
  const Error error = error_of([&] { files(folder.file("test-*")); });
  EXPECT_EQ(error.code(), ErrorCode::not_found);
  EXPECT_THAT(error.what(), HasSubstr("test-*"));
  EXPECT_THAT(error.what(), HasSubstr("train-0.tfrecord"));
}

TEST(Files, ANameThatExistsIsNoPattern) {
  TemporaryFolder folder;
  with_files(folder, {"x[1]", "x1"});
  EXPECT_EQ(names_of(files(folder.file("x[1]"))), Stream{"x[1]"});
}

TEST(Files, AListIsTakenAsItIs) {
  EXPECT_EQ(names_of(files(std::vector<std::string>{"b", "a", "b"})), (Stream{"b", "a", "b"}));
  const auto nothing = files(std::vector<std::string>{}, {.shuffle = true, .seed = 1});
  EXPECT_EQ(names_of(nothing), Stream{});
}

TEST(Files, Resume) {
  std::vector<std::string> list;
  Stream in_order;
  for (int i = 0; i < 40; ++i) list.push_back("f" + std::to_string(i));
  const auto lengths = [&] {
    return files(list, {.shuffle = true, .seed = 3}) | repeat(2) |
           map([](const std::string& name) { return std::int64_t{std::stoll(name.substr(1))}; });
  };
  run_source_suite(lengths, stream_of(lengths()));
}

TEST(Files, ACheckpointIsBoundToNamesAndSizes) {
  TemporaryFolder folder;
  with_files(folder, {"x-1", "x-2"});
  Iterator<std::string> iterator = files(folder.file("x-*")).iterate();
  iterator.next();
  const Checkpoint checkpoint = iterator.checkpoint();
  files(folder.file("x-*")).iterate({.resume = checkpoint});
  folder.write("x-2", "more bytes");
  const Error error = error_of([&] { files(folder.file("x-*")).iterate({.resume = checkpoint}); });
  EXPECT_EQ(error.code(), ErrorCode::failed_precondition);
  EXPECT_THAT(error.message(), HasSubstr("files(2 files, 10 bytes"));
  EXPECT_THAT(error.message(), HasSubstr("files(2 files, 15 bytes"));
}

}  // namespace
}  // namespace infeed::test
