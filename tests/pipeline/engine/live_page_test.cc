#include "engine/recording/live_page.h"

#include <filesystem>
#include <fmt/format.h>
#include <string>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

#include "matchers.h"
#include "temporary_folder.h"

namespace infeed::test {
namespace {

using ::testing::UnorderedElementsAre;

/// Returns the names in the folder of live pages that begin like this.
std::vector<std::string> pages_like(const std::string& begin) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator("/dev/shm")) {
    if (entry.path().string().starts_with(begin)) names.push_back(entry.path().string());
  }
  return names;
}

TEST(LivePage, HasTheHeaderTheStagesAndTheLastLines) {
  if (::access("/dev/shm", W_OK) != 0) return;  // a machine without pages
  const std::string name = detail::live_page_begin(::getpid()) + "987654321";
  {
    detail::LivePage page(987'654'321);
    EXPECT_THAT(pages_like(name), IsEmpty());
    page.add("{\"infeed_recording\": 1}\n");
    page.add("{\"stages\": 1}\n");
    std::string last_lines;
    for (int i = 0; i < 33; ++i) {
      page.add(fmt::format("{{\"window\": {}}}\n", i));
      if (i > 0) last_lines += fmt::format("{{\"window\": {}}}\n", i);
    }
    page.add("{\"stages\": 2}\n");
    page.show();
    EXPECT_EQ(read_whole(name), "{\"infeed_recording\": 1}\n{\"stages\": 2}\n" + last_lines);
    using std::filesystem::perms;
    EXPECT_EQ(std::filesystem::status(name).permissions(), perms::owner_read | perms::owner_write);
    page.add("{\"window\": 33}\n");
    page.show();
    EXPECT_TRUE(read_whole(name).ends_with("\n{\"window\": 32}\n{\"window\": 33}\n"));
    EXPECT_THAT(pages_like(name), ElementsAre(name)) << "nothing else is left";
  }
  EXPECT_THAT(pages_like(name), IsEmpty());
}

/// A page had the last 64 lines. A function that takes 2 ms on 8 threads adds 400 in a window, so that
/// `infeed top` found no window and showed nothing.
TEST(LivePage, SlowCallsLeaveTheWindowsIn) {
  if (::access("/dev/shm", W_OK) != 0) return;  // a machine without pages
  const std::string name = detail::live_page_begin(::getpid()) + "987654325";
  detail::LivePage page(987'654'325);
  for (int window = 0; window < 2; ++window) {
    page.add(fmt::format("{{\"window\": {}}}\n", window));
    page.add(fmt::format("{{\"steps\": {}}}\n", window));
    for (int i = 0; i < 400; ++i) page.add(fmt::format("{{\"slow\": {}}}\n", i));
  }
  page.show();
  const std::string text = read_whole(name);
  EXPECT_THAT(text, StartsWith("{\"window\": 0}\n{\"steps\": 0}\n{\"window\": 1}\n{\"steps\": 1}\n"
                               "{\"slow\": 368}\n"));
  EXPECT_TRUE(text.ends_with("\n{\"slow\": 399}\n"));
}

TEST(LivePage, HasAnotherNameWhereSomethingElseLies) {
  if (::access("/dev/shm", W_OK) != 0) return;  // a machine without pages
  const std::string name = detail::live_page_begin(::getpid()) + "987654322";
  std::filesystem::create_directory(name);
  {
    detail::LivePage page(987'654'322);
    page.add("shown\n");
    page.show();
    const std::vector<std::string> found = pages_like(name + "-");
    ASSERT_THAT(found, ElementsAre(StartsWith(name + "-")));
    EXPECT_EQ(read_whole(found.front()), "shown\n");
  }
  EXPECT_THAT(pages_like(name), ElementsAre(name)) << "what lay there stays";
  std::filesystem::remove(name);
}

/// A process of the same number may have been killed while it wrote its page.
TEST(LivePage, IsShownWhereAnUnfinishedOneLies) {
  if (::access("/dev/shm", W_OK) != 0) return;  // a machine without pages
  const std::string name = detail::live_page_begin(::getpid()) + "987654323";
  write_whole(name + ".next", "half a pa");
  {
    detail::LivePage page(987'654'323);
    page.add("shown\n");
    page.show();
    EXPECT_THAT(pages_like(name), ElementsAre(name));
    EXPECT_EQ(read_whole(name), "shown\n");
  }
  EXPECT_THAT(pages_like(name), IsEmpty());
}

TEST(LivePage, KeepsTheNameThatItHasDrawn) {
  if (::access("/dev/shm", W_OK) != 0) return;  // a machine without pages
  const std::string name = detail::live_page_begin(::getpid()) + "987654324";
  std::filesystem::create_directory(name);
  {
    detail::LivePage page(987'654'324);
    page.show();
    const std::vector<std::string> drawn = pages_like(name + "-");
    page.add("shown\n");
    page.show();
    EXPECT_EQ(pages_like(name + "-"), drawn);
    ASSERT_EQ(drawn.size(), 1U);
    EXPECT_EQ(read_whole(drawn.front()), "shown\n");
  }
  EXPECT_THAT(pages_like(name), ElementsAre(name));
  std::filesystem::remove(name);
}

/// Pages of processes that were killed lay in memory until the machine was restarted.
TEST(LivePage, IsRemovedOnceItsProcessHasGone) {
  if (::access("/dev/shm", W_OK) != 0) return;  // a machine without pages
  const pid_t gone = ::fork();
  if (gone == 0) ::_exit(0);
  ASSERT_EQ(::waitpid(gone, nullptr, 0), gone);
  const std::string left = detail::live_page_begin(gone);
  const std::string own = detail::live_page_begin(::getpid()) + "987654326";
  const std::vector<std::string> no_pages = {left, left + "txt", "/dev/shm/infeed-987654326",
                                             "/dev/shm/other-" + left.substr(9) + "1"};
  for (const std::string& name : no_pages) write_whole(name, "");
  for (const char* const number : {"1", "2.next", "3-123", "3-123.next"})
    write_whole(left + number, "");
  write_whole(own, "");
  detail::clear_left_pages();
  EXPECT_THAT(pages_like(left), UnorderedElementsAre(left, left + "txt"));
  for (const std::string& name : no_pages) EXPECT_TRUE(std::filesystem::remove(name)) << name;
  EXPECT_TRUE(std::filesystem::remove(own)) << "of a process that lives";
}

TEST(LivePage, BeginsWithTheProcess) {
  EXPECT_EQ(detail::live_page_begin(12), "/dev/shm/infeed-12.");
}

}  // namespace
}  // namespace infeed::test
