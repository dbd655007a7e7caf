#include "engine/threads/forks.h"

#include <gtest/gtest.h>
#include <string>
#include <sys/wait.h>
#include <unistd.h>

#include <infeed/infeed.h>

// Uses of pipelines that a process may make after fork().
namespace infeed::test {
namespace {

/// Returns the result of `run` in a child process.
template <class Run>
std::string in_a_child(Run run) {
  int ends[2];
  EXPECT_EQ(::pipe(ends), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    const std::string text = run();
    const bool whole =
        ::write(ends[1], text.data(), text.size()) == static_cast<ssize_t>(text.size());
    ::_exit(whole ? 0 : 1);
  }
  ::close(ends[1]);
  std::string text;
  char buffer[512];
  for (ssize_t n = 0; (n = ::read(ends[0], buffer, sizeof buffer)) > 0;) {
    text.append(buffer, static_cast<std::size_t>(n));
  }
  ::close(ends[0]);
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  return text;
}

TEST(Fork, IsCountedInTheChildrenOnly) {
  const auto count = [] { return std::to_string(detail::forks_of_this_process()); };
  EXPECT_EQ(count(), "0");
  EXPECT_EQ(in_a_child([&] { return count() + ", " + in_a_child(count); }), "1, 2");
  EXPECT_EQ(count(), "0");
}

TEST(Fork, AChildMayIterateTheDataset) {
  const auto dataset = range(10'000) | batch(10) | prefetch();
  auto parents = dataset.iterate();
  parents.next();
  EXPECT_EQ(in_a_child([&] { return std::to_string(dataset.count()); }), "1000");
  EXPECT_EQ((*parents.next()).values()[0], 10);
}

TEST(Fork, AnIteratorOfTheParentSaysSoInTheChildAndDoesNotHang) {
  auto iterator = (range(10'000'000) | prefetch()).iterate();
  iterator.next();
  const std::string text = in_a_child([&] {
    try {
      while (iterator.next()) {
      }
    } catch (const Error& error) {
      iterator = {};  // its destructor waits for no thread
      return error.message();
    }
    return std::string("no error");
  });
  EXPECT_EQ(
      text,
      "this iterator was made before fork(), and its threads are in the parent; a Dataset may "
      "be used in a child process, so call iterate() there");
  EXPECT_TRUE(iterator.next().has_value());
}

/// One that is polled would find nothing for ever.
TEST(Fork, AnIteratorOfTheParentSaysSoToAChildThatPollsIt) {
  auto iterator = (range(10'000'000) | prefetch()).iterate();
  iterator.next();
  const std::string text = in_a_child([&] {
    std::string told;
    const auto tell = [&](const Error& error) {
      told += error.message().substr(0, error.message().find(',')) +
              (error.is_terminal() ? ", terminal; " : "; ");
    };
    try {
      iterator.ready_descriptor();
    } catch (const Error& error) {
      tell(error);
    }
    try {  // there is less than that in its hands
      for (int i = 0; i < 10'000; ++i) iterator.try_next();
    } catch (const Error& error) {
      tell(error);
    }
    iterator = {};
    return told;
  });
  EXPECT_EQ(text,
            "this iterator was made before fork(), terminal; this iterator was made before fork(), "
            "terminal; ");
}

}  // namespace
}  // namespace infeed::test
