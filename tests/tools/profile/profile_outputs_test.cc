#include "profile/outputs/profile_outputs.h"

#include <filesystem>

#include "temporary_folder.h"
#include "thrown_error.h"
#include "tools/profile/synthetic_run.h"

namespace infeed::test {
namespace {

std::size_t files_in(const std::string& folder) {
  std::size_t files = 0;
  for (const auto& entry : fs::recursive_directory_iterator(folder))
    files += entry.is_regular_file();
  return files;
}

TEST(ProfileOutputs, WritesWhatIsAskedForAndNothingElse) {
  const auto [run, report] = synthetic_profile();
  const TemporaryFolder folder;
  tools::write_profile_outputs(run, report, {});
  EXPECT_EQ(files_in(folder.path()), 0u);
  tools::write_profile_outputs(run, report, {.json = folder.file("p.json")});
  EXPECT_EQ(files_in(folder.path()), 1u);
  tools::write_profile_outputs(run, report,
                               {.text = folder.file("p.txt"),
                                .json = folder.file("p.json"),
                                .html = folder.file("p.html"),
                                .trace = folder.file("p.trace"),
                                .tensorboard = folder.file("logs/input"),
                                .xprof = folder.file("logs/xprof")});
  EXPECT_EQ(files_in(folder.path()), 6u);
  EXPECT_THAT(read_whole(folder.file("p.txt")), StartsWith("train on host-1 (process 4242)"));
  EXPECT_THAT(read_whole(folder.file("p.json")), HasSubstr("\"schema\": \"infeed.profile\""));
  EXPECT_THAT(read_whole(folder.file("p.html")), StartsWith("<!DOCTYPE html>"));
  EXPECT_THAT(read_whole(folder.file("p.trace")), StartsWith("[\n{"));
}

TEST(ProfileOutputs, SaysWhatIsWrongBeforeItWritesAnything) {
  const auto [run, report] = synthetic_profile();
  const TemporaryFolder folder;
  const Error missing = error_of([&, &r = run, &p = report] {
    tools::write_profile_outputs(
        r, p, {.json = folder.file("p.json"), .trace = folder.file("absent/p.trace")});
  });
  EXPECT_EQ(missing.code(), ErrorCode::not_found);
  EXPECT_THAT(missing.what(), HasSubstr("absent"));
  EXPECT_EQ(files_in(folder.path()), 0u);
}

TEST(ProfileOutputs, SaysThatTheDiskIsFull) {
  if (!fs::exists("/dev/full")) return;
  const auto [run, report] = synthetic_profile();
  for (const auto output : {&tools::ProfileOutputs::text, &tools::ProfileOutputs::json,
                            &tools::ProfileOutputs::html, &tools::ProfileOutputs::trace}) {
    tools::ProfileOutputs outputs;
    outputs.*output = "/dev/full";
    const Error full =
        error_of([&, &r = run, &p = report] { tools::write_profile_outputs(r, p, outputs); });
    EXPECT_EQ(full.code(), ErrorCode::resource_exhausted);
    EXPECT_THAT(full.what(), HasSubstr("/dev/full"));
  }
}

TEST(ProfileOutputs, FoldersThatCannotBeMadeAreNamed) {
  const auto [run, report] = synthetic_profile();
  const TemporaryFolder folder;
  folder.write("file", "x");
  for (const auto output : {&tools::ProfileOutputs::tensorboard, &tools::ProfileOutputs::xprof}) {
    tools::ProfileOutputs outputs;
    outputs.*output = folder.file("file/logs");
    const Error error =
        error_of([&, &r = run, &p = report] { tools::write_profile_outputs(r, p, outputs); });
    EXPECT_THAT(error.what(), HasSubstr(folder.file("file/logs")));
  }
}

TEST(ProfileOutputs, TensorboardGetsAFileMoreAtEachWrite) {
  const auto [run, report] = synthetic_profile({.steps = 3, .late_every = 0});
  const TemporaryFolder folder;
  for (int i = 0; i < 2; ++i) {
    tools::write_profile_outputs(run, report, {.tensorboard = folder.path()});
  }
  EXPECT_EQ(files_in(folder.path()), 2u);
}

}  // namespace
}  // namespace infeed::test
