// Files of versions: this one reads what all before wrote (tests/versions), and says which one a
// later version's file needs.
#include <cstdlib>
#include <filesystem>
#include <fmt/format.h>

#include <infeed/describe/description.h>
#include <infeed/infeed.h>
#include <infeed/pipeline/tuning_policy.h>
#include <infeed/records/line_journal.h>
#include <infeed/records/parallel_record_reader.h>
#include <infeed/records/training_checkpoint.h>

#include "convert/conversion_plan.h"
#include "convert/manifest.h"
#include "profile/recorded_run.h"
#include "temporary_folder.h"
#include "thrown_error.h"
#include "tools/versions/kept_formats.h"

namespace infeed::test {
namespace {

const fs::path kVersions = INFEED_KEPT_VERSIONS;

/// Replaces the one place that has `from`.
void replace_in(const std::string& file, std::string_view from, std::string_view to) {
  std::string bytes = read_whole(file);
  const std::size_t at = bytes.find(from);
  ASSERT_NE(at, bytes.npos) << file << " has no " << from;
  write_whole(file, bytes.replace(at, from.size(), to));
}

class KeptFiles : public ::testing::Test {
 protected:
  /// Writes a format's files, and returns their folder.
  std::string written(const std::string& name) {
    const std::string folder = folder_.file(name);
    fs::create_directory(folder);
    for (const KeptFormat& format : kept_formats()) {
      if (format.name == name) format.write(folder);
    }
    return folder;
  }

  const TemporaryFolder folder_;
};

void expect_later(const Error& error, const std::string& what, int found, int known) {
  EXPECT_EQ(error.code(), ErrorCode::failed_precondition);
  EXPECT_THAT(error.message(), HasSubstr(fmt::format(
                                   "{} has format version {}, and this infeed knows versions up to "
                                   "{}; use the infeed that wrote it, or a newer one",
                                   what, found, known)));
}

TEST_F(KeptFiles, OfEachVersionAreRead) {
  int versions = 0;
  for (const auto& version : fs::directory_iterator(kVersions)) {
    if (!version.is_directory()) continue;
    ++versions;
    for (const KeptFormat& format : kept_formats()) {
      const std::string name = version.path().filename() / format.name;
      SCOPED_TRACE(name);
      fs::create_directories(folder_.path() / version.path().filename());
      fs::copy(kVersions / name, folder_.path() / name, fs::copy_options::recursive);
      format.check(folder_.file(name));
    }
  }
  EXPECT_GE(versions, 1);
}

/// tests/versions/keep.sh keeps what it writes.
TEST_F(KeptFiles, OfThisVersionAreWrittenAndRead) {
  const char* const kept = std::getenv("INFEED_KEEP_FILES_IN");
  for (const KeptFormat& format : kept_formats()) {
    SCOPED_TRACE(format.name);
    const std::string folder =
        kept == nullptr ? folder_.file(format.name) : std::string(kept) + "/" + format.name;
    fs::create_directories(folder);
    format.write(folder);
    if (kept == nullptr) format.check(folder);
  }
}

TEST_F(KeptFiles, OfALaterVersionAreNamed) {
  const std::string records = written("records");
  replace_in(records + "/plain.tfrecord.index", "INFEEDIX\1", "INFEEDIX\2");
  const Error index = error_of([&] { (void)read_index(records + "/plain.tfrecord.index"); });
  expect_later(index, "the index", 2, 1);
  EXPECT_THAT(index.message(), HasSubstr("or make it anew"));
  replace_in(records + "/gzip.tfrecord.gz.points", "INFEEDGZ\1", "INFEEDGZ\2");
  EXPECT_THAT(ParallelRecordReader(records + "/gzip.tfrecord.gz", {.threads = 2}).how(),
              HasSubstr("the file of flush points has format version 2"));
  replace_in(records + "/lz4.tfrecord.lz4", "INFEEDL2", "INFEEDL3");
  RecordReader lz4(records + "/lz4.tfrecord.lz4");
  Record read;
  const Error of_lz4 = error_of([&] {
    while (lz4.next(read)) {
    }
  });
  EXPECT_THAT(of_lz4.message(), HasSubstr("the index at its end has format version 3"));

  const std::string manifest = written("dataset") + "/data.manifest.json";
  replace_in(manifest, "infeed-manifest 1", "infeed-manifest 2");
  expect_later(error_of([&] { (void)tools::read_manifest(manifest); }), "the manifest", 2, 1);

  const std::string plan = read_whole(written("unfinished") + "/.data.plan.json");
  std::string later_plan = plan;
  later_plan.replace(plan.find("infeed-plan 1"), 13, "infeed-plan 2");
  EXPECT_THAT(tools::describe_difference(later_plan, plan),
              HasSubstr("its plan has format version 2"));

  expect_later(error_of([] { (void)Checkpoint::from_text("infeed-checkpoint 2\nplace 7\n"); }),
               "the checkpoint", 2, 1);

  const std::string stores = written("stores");
  const std::string journal = stores + "/cache/elements.journal";
  std::vector<std::string> lines = LineJournal::read(journal, LineChecksum::behind_text);
  lines.at(0) = "infeed elements 2";
  write_whole(journal, LineJournal::text_of(lines, LineChecksum::behind_text));
  const Error store = error_of([&] { (void)read_snapshot<std::int64_t>(stores + "/cache"); });
  expect_later(store, "the store of elements", 2, 1);
  EXPECT_THAT(store.message(), HasSubstr("or remove its folder"));

  const std::string training = training_checkpoints(written("training")).at(0);
  replace_in(training + "/manifest", "checkpoint 2", "checkpoint 3");
  expect_later(error_of([&] { (void)TrainingCheckpoint::open(training); }),
               "the training checkpoint", 3, 2);

  const std::string run = written("run") + "/run.profile";
  replace_in(run, R"("infeed_recording": 1)", R"("infeed_recording": 2)");
  expect_later(error_of([&] { (void)tools::read_recorded_run(run); }), "the recording", 2, 1);

  EXPECT_THAT(make_tuner("infeed tuning 2\n")->observe({}).notes,
              Contains(HasSubstr("the profile has format version 2")));

  const auto table = std::make_shared<const describe::StageTable>(describe::native_stages());
  expect_later(error_of([&] {
                 (void)describe::Description::from_json(R"({"version": 2, "stages": {}})", table);
               }),
               "the pipeline", 2, 1);
}

TEST_F(KeptFiles, AreSmall) {
  for (const auto& version : fs::directory_iterator(kVersions)) {
    if (!version.is_directory()) continue;
    std::uintmax_t bytes = 0;
    for (const auto& entry : fs::recursive_directory_iterator(version)) {
      if (entry.is_regular_file()) bytes += entry.file_size();
    }
    EXPECT_LT(bytes, 200'000U) << version.path();
  }
}

}  // namespace
}  // namespace infeed::test
