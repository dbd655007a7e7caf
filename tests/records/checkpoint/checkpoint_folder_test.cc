#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <string>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

#include "infeed/records/training_checkpoint.h"
#include "records/temporary_files.h"

/// Saves on file systems that lack a rename, or refuse it. A filter of system calls in a child stands
/// for them.
namespace infeed::test {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;

constexpr unsigned kAnyRename = RENAME_NOREPLACE | RENAME_EXCHANGE;

/// Lets renameat2() fail in this process from now on, where it has one of the flags.
bool refuse_renames(unsigned flags, unsigned error) {
  std::array<sock_filter, 6> filter = {{
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_renameat2, 0, 3),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, args) + 4 * sizeof(std::uint64_t)),
      BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, flags, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  }};
  const sock_fprog program{static_cast<unsigned short>(filter.size()), filter.data()};
  return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

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
  /// Saves in a child in which such renames fail. Returns what its error says; empty if it saved.
  std::string error_of_save(std::uint64_t step, const std::string& content, unsigned flags,
                            unsigned error) const {
    const TemporaryFolder notes;
    const std::string said = notes.file("said");
    const pid_t child = ::fork();
    if (child == 0) {
      try {
        if (!refuse_renames(flags, error)) ::_exit(1);
        save(step, content);
        write_whole(said, "");
      } catch (const std::exception& thrown) {
        write_whole(said, thrown.what());
      }
      ::_exit(0);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
    return read_whole(said);
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
  for (const unsigned error : {EINVAL, ENOSYS}) {
    save(1, "first");
    save(2, "second");
    EXPECT_EQ(error_of_save(2, "other", kAnyRename, error), "");
    EXPECT_THAT(entries(), UnorderedElementsAre("step-0000000001", "step-0000000002"));
    EXPECT_EQ(content_of("step-0000000002"), "other") << "which replaced the one before";
    EXPECT_EQ(error_of_save(3, "third", kAnyRename, error), "");
    EXPECT_THAT(entries(), UnorderedElementsAre("step-0000000002", "step-0000000003"));
    EXPECT_EQ(content_of("step-0000000003"), "third");
    fs::remove_all(folder_.file("step-0000000003"));
  }
}

TEST_F(CheckpointRenames, ThatAreRefusedLeaveTheOneBefore) {
  save(1, "first");
  EXPECT_THAT(error_of_save(1, "other", RENAME_EXCHANGE, EPERM),
              HasSubstr("cannot rename the checkpoint into place: "));
  EXPECT_THAT(entries(), UnorderedElementsAre("step-0000000001")) << "and nothing half";
  EXPECT_EQ(content_of("step-0000000001"), "first");
}

}  // namespace
}  // namespace infeed::test
