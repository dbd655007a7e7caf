#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "infeed/records/training_checkpoint.h"
#include "records/refused_calls.h"
#include "records/temporary_files.h"
#include "thrown_error.h"

/// Saves on file systems that lack a rename, or refuse it.
namespace infeed::test {
namespace {

using ::testing::UnorderedElementsAre;

class CheckpointRenames : public ::testing::Test {
 protected:
  static TrainingState state(std::uint64_t step, const std::string& content) {
    TrainingState state{.step = step};
    state.bytes.push_back({"content", content});
    return state;
  }
  void save(std::uint64_t step, const std::string& content) const {
    save_training_checkpoint(folder_.path(), state(step, content),
                             {.keep = 2, .durability = Durability::leave_to_system});
  }
  std::vector<std::string> entries() const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder_.path())) {
      names.push_back(entry.path().filename().string());
    }
    return names;
  }
  std::string content_of(const std::string& name) const {
    return TrainingCheckpoint::open(folder_.file(name)).bytes("content");
  }

  const TemporaryFolder folder_;
};

TEST_F(CheckpointRenames, AreNotNeeded) {
  for (const int error : {EINVAL, ENOSYS}) {
    save(1, "first");
    save(2, "second");
    const RefusedCalls refused({.rename_to_new = error, .exchange = error});
    save(2, "other");
    EXPECT_THAT(entries(), UnorderedElementsAre("step-0000000001", "step-0000000002"));
    EXPECT_EQ(content_of("step-0000000002"), "other") << "which replaced the one before";
    save(3, "third");
    EXPECT_THAT(entries(), UnorderedElementsAre("step-0000000002", "step-0000000003"));
    EXPECT_EQ(content_of("step-0000000003"), "third");
    fs::remove_all(folder_.file("step-0000000003"));
  }
}

TEST_F(CheckpointRenames, ThatAreRefusedLeaveTheOneBefore) {
  save(1, "first");
  const RefusedCalls refused({.exchange = EPERM});
  EXPECT_THAT(error_of([&] { save(1, "other"); }).message(),
              HasSubstr("cannot rename the checkpoint into place: "));
  EXPECT_THAT(entries(), UnorderedElementsAre("step-0000000001")) << "and nothing half";
  EXPECT_EQ(content_of("step-0000000001"), "first");
}

}  // namespace
}  // namespace infeed::test
