#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fmt/format.h>
#include <latch>
#include <sched.h>
#include <set>
#include <string>
#include <string_view>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include <infeed/infeed.h>

#include "records/temporary_files.h"
#include "thrown_error.h"

namespace infeed::test {
namespace {

/// Names to which an iterator can't record, and those that others use.
class RecordingNames : public ::testing::Test {
 protected:
  const TemporaryFolder folder_;
  const std::string file_ = folder_.file("run.profile");
};

TEST_F(RecordingNames, AForeignFileStaysAsItIs) {
  folder_.write("run.profile", "precious\n");
  const Error error = error_of([&] { range(3).iterate({.recording = {.file = file_}}); });
  EXPECT_EQ(error.code(), ErrorCode::failed_precondition);
  EXPECT_EQ(error.file(), file_);
  EXPECT_EQ(error.message(),
            "recording.file names a file that can't be recorded to: there is a file of this name "
            "that is no recording, and it is not replaced; name another one, or remove it");
  EXPECT_EQ(read_whole(file_), "precious\n");
}

/// Who set the variable was told only by a line of the statistics.
TEST_F(RecordingNames, ANameThatCantBeRecordedToIsAnErrorOfIterate) {
  const std::string file = folder_.file("none/run.profile");
  ::setenv("INFEED_PROFILE", file.c_str(), 1);
  const Error missing = error_of([] { range(3).iterate(); });
  EXPECT_EQ(missing.code(), ErrorCode::not_found);
  EXPECT_EQ(missing.file(), file);
  EXPECT_EQ(missing.message(),
            fmt::format("INFEED_PROFILE names a file that can't be recorded to: cannot create: "
                        "folder '{}' does not exist",
                        folder_.file("none")));
  ::setenv("INFEED_PROFILE", "/dev/full", 1);
  EXPECT_EQ(error_of([] { range(3).iterate(); }).code(), ErrorCode::failed_precondition);
  ::unsetenv("INFEED_PROFILE");
}

TEST_F(RecordingNames, AFolderThatIsRemovedMeanwhileEndsNoRun) {
  const std::string folder = folder_.file("removed");
  std::filesystem::create_directory(folder);
  const IterateOptions options{.recording = {.file = folder + "/run.profile"}};
  auto first = range(3).iterate(options);
  EXPECT_TRUE(first.recording().is_on);
  std::filesystem::remove_all(folder);
  auto second = range(3).iterate(options);
  EXPECT_FALSE(second.recording().is_on);
  EXPECT_NE(second.recording().problem.find("does not exist"), std::string::npos)
      << second.recording().problem;
  EXPECT_NE(second.statistics().table().find("recording failed: "), std::string::npos);
  for (auto* const iterator : {&first, &second}) {
    int elements = 0;
    while (iterator->next()) ++elements;
    EXPECT_EQ(elements, 3);
  }
}

/// `infeed top` advised a process to set the variable that was set, since another one recorded to its
/// file.
TEST_F(RecordingNames, ARunWithoutAFileIsShownNevertheless) {
  if (::access("/dev/shm", W_OK) != 0) return;  // a machine without pages
  const std::string folder = folder_.file("removed");
  std::filesystem::create_directory(folder);
  const IterateOptions options{.recording = {.file = folder + "/run.profile", .live = true}};
  range(3).iterate(options);
  std::filesystem::remove_all(folder);
  auto shown = range(std::int64_t{1} << 40).iterate(options);
  EXPECT_TRUE(shown.recording().is_on);
  EXPECT_EQ(shown.recording().file, "");
  EXPECT_NE(shown.recording().problem.find("does not exist"), std::string::npos)
      << shown.recording().problem;
  const std::string begin = fmt::format("infeed-{}.", ::getpid());
  const auto is_shown = [&] {
    const std::filesystem::directory_iterator pages("/dev/shm");
    return std::any_of(
        std::filesystem::begin(pages), std::filesystem::end(pages),
        [&](const auto& page) { return page.path().filename().string().starts_with(begin); });
  };
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  while (!is_shown() && std::chrono::steady_clock::now() < deadline) shown.next();
  EXPECT_TRUE(is_shown());
}

TEST_F(RecordingNames, TwoProcessesDontShareAFile) {
  int ready[2];
  int end[2];
  ASSERT_EQ(::pipe(ready), 0);
  ASSERT_EQ(::pipe(end), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    auto iterator = range(3).iterate({.recording = {.file = file_}});
    char byte = iterator.recording().is_on ? 'y' : 'n';
    (void)!::write(ready[1], &byte, 1);
    (void)!::read(end[0], &byte, 1);
    ::_exit(0);
  }
  char byte = 0;
  ASSERT_EQ(::read(ready[0], &byte, 1), 1);
  EXPECT_EQ(byte, 'y');
  auto iterator = range(3).iterate({.recording = {.file = file_}});
  EXPECT_NE(iterator.recording().problem.find("another process is recording to this file"),
            std::string::npos)
      << iterator.recording().problem;
  EXPECT_TRUE(iterator.next());
  ASSERT_EQ(::write(end[1], &byte, 1), 1);
  ::waitpid(child, nullptr, 0);
}

TEST_F(RecordingNames, IteratorsThatBeginAtOnceHaveAFileEach) {
  for (int round = 0; round < 40; ++round) {
    const std::string file = folder_.file(fmt::format("run-{}.profile", round));
    std::array<RecordingStatus, 4> all;
    std::latch start(std::ssize(all));
    {
      std::vector<std::jthread> consumers;
      for (RecordingStatus& status : all) {
        consumers.emplace_back([&] {
          start.arrive_and_wait();
          status = range(3).iterate({.recording = {.file = file}}).recording();
        });
      }
    }
    std::set<std::string> files;
    for (const RecordingStatus& status : all) {
      EXPECT_TRUE(status.is_on) << status.problem;
      files.insert(status.file);
    }
    ASSERT_EQ(files.size(), all.size());
  }
}

/// Leaves /dev/shm behind, which only root or a user namespace may, and writes what iterate() says.
[[noreturn]] void iterate_without_shared_memory() {
  const char* const folder = "/usr";  // has no "dev" in it
  const bool has_left =
      ::chroot(folder) == 0 || (::unshare(CLONE_NEWUSER) == 0 && ::chroot(folder) == 0);
  ::setenv("INFEED_TOP", "1", 1);
  const std::string text = has_left ? error_of([] { range(3).iterate(); }).what() : "stayed";
  (void)!::write(STDERR_FILENO, text.data(), text.size());
  ::_exit(0);
}

/// `infeed top` then advised to set the variable that was set.
TEST(RecordingWithoutSharedMemory, IsAnErrorOfIterate) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");  // a process that has shown no run before
  EXPECT_EXIT(iterate_without_shared_memory(), ::testing::ExitedWithCode(0),
              "stayed|not_found: INFEED_TOP shows the run by a file in /dev/shm: cannot create: "
              "folder '/dev' does not exist \\[file /dev/shm/infeed-[0-9]+\\.\\]");
}

/// Shows a run beside the page of a process that has gone, and writes whether that page is left.
[[noreturn]] void iterate_beside_a_left_page() {
  const pid_t gone = ::fork();
  if (gone == 0) ::_exit(0);
  ::waitpid(gone, nullptr, 0);
  const std::string left = fmt::format("/dev/shm/infeed-{}.1", gone);
  write_whole(left, "");
  const auto iterator = range(3).iterate({.recording = {.live = true}});
  const std::string_view text = ::access(left.c_str(), F_OK) == 0 ? "it is left" : "it is removed";
  (void)!::write(STDERR_FILENO, text.data(), text.size());
  ::_exit(0);
}

TEST(RecordingBesideALeftPage, RemovesIt) {
  if (::access("/dev/shm", W_OK) != 0) return;     // a machine without pages
  GTEST_FLAG_SET(death_test_style, "threadsafe");  // a process that has shown no run before
  EXPECT_EXIT(iterate_beside_a_left_page(), ::testing::ExitedWithCode(0), "it is removed");
}

}  // namespace
}  // namespace infeed::test
