#include <cstdlib>
#include <gtest/gtest.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include "infeed/records/training_checkpoint.h"
#include "records/temporary_files.h"
#include "sanitizers.h"

// A process that is killed while it saves leaves the checkpoint before or the new one, whole.
namespace infeed::test {
namespace {

/// A state whose entries all say the same number.
TrainingState state_of_number(std::uint64_t step, std::int64_t number) {
  TrainingState state{.step = step};
  state.tensors.push_back(
      {"weights", Tensor::copy_of<double>({3}, {static_cast<double>(number), 0, 1})});
  state.tensors.push_back({"count", Tensor::copy_of<std::int64_t>(Shape(), {number})});
  state.bytes.push_back({"pipeline", "position " + std::to_string(number)});
  state.bytes.push_back({"optimiser", std::string(1'000, static_cast<char>(number))});
  return state;
}

/// Returns the number that all entries say.
std::int64_t number_in(const std::string& folder) {
  const TrainingCheckpoint saved = TrainingCheckpoint::open(folder);
  const std::int64_t number = saved.tensor("count").values<std::int64_t>()[0];
  EXPECT_EQ(saved.tensor("weights").values<double>()[0], static_cast<double>(number));
  EXPECT_EQ(saved.bytes("pipeline"), "position " + std::to_string(number));
  EXPECT_EQ(saved.bytes("optimiser"), std::string(1'000, static_cast<char>(number)));
  return number;
}

/// Runs `call` in a child that is killed at the begin of its system call `killed_at`. Returns false
/// if the child ended before.
template <class Call>
bool killed_at_system_call(int killed_at, const Call& call) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr);
    ::raise(SIGSTOP);
    call();
    ::_exit(0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  for (int call_number = 0;; ++call_number) {
    // It stops at the begin and at the end of each.
    if (::ptrace(PTRACE_SYSCALL, child, nullptr, nullptr) != 0) std::abort();
    ::waitpid(child, &status, 0);
    if (WIFEXITED(status)) return false;
    if (call_number != killed_at) continue;
    ::kill(child, SIGKILL);
    ::waitpid(child, &status, 0);
    EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    return true;
  }
}

/// Kills a save that has `step`, at every system call, and returns how often it was killed. A save
/// of step 1 came before.
int kill_everywhere(std::uint64_t step, std::vector<std::int64_t>& seen) {
  const SaveOptions options{.keep = 1, .durability = Durability::leave_to_system};
  for (int killed_at = 0;; ++killed_at) {
    const TemporaryFolder folder(memory_folder());
    save_training_checkpoint(folder.path(), state_of_number(1, 1), options);
    const bool was_killed = killed_at_system_call(killed_at, [&] {
      save_training_checkpoint(folder.path(), state_of_number(step, 2), options);
    });
    const auto newest = latest_training_checkpoint(folder.path());
    if (!newest) {
      ADD_FAILURE() << "no checkpoint is left after a kill at system call " << killed_at;
      return killed_at;
    }
    seen.push_back(number_in(*newest));
    // The next process saves there, and removes what the killed one left.
    save_training_checkpoint(folder.path(), state_of_number(3, 3), options);
    EXPECT_EQ(number_in(*latest_training_checkpoint(folder.path())), 3);
    EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.path()), {}), 1)
        << "killed at system call " << killed_at;
    if (!was_killed) return killed_at;
  }
}

TEST(KilledSave, LeavesTheOldOneOrTheNewOneWhole) {
  for (const std::uint64_t step : {1, 2}) {  // replaces the old one, or comes behind it
    std::vector<std::int64_t> seen;
    EXPECT_GT(kill_everywhere(step, seen), 20);
    // The old one up to one system call, and the new one from it on. Sanitizers make calls of their own, not
    // always as many.
    if (!kAddressSanitizer && !kThreadSanitizer) {
      EXPECT_TRUE(std::is_sorted(seen.begin(), seen.end()));
    }
    EXPECT_EQ(seen.front(), 1);
    EXPECT_EQ(seen.back(), 2);
  }
}

}  // namespace
}  // namespace infeed::test
