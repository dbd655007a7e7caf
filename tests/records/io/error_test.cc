#include <gtest/gtest.h>
#include <new>
#include <string>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>

#include <infeed/detail/terminal_error.h>
#include <infeed/detail/workers.h>
#include <infeed/error.h>

#include "sanitizers.h"
#include "thrown_error.h"

namespace infeed::test {
namespace {

TEST(ErrorCode, is_told_by_its_name) {
  EXPECT_EQ(to_string(ErrorCode::invalid_argument), "invalid_argument");
  EXPECT_EQ(to_string(ErrorCode::not_found), "not_found");
  EXPECT_EQ(to_string(ErrorCode::permission_denied), "permission_denied");
  EXPECT_EQ(to_string(ErrorCode::already_exists), "already_exists");
  EXPECT_EQ(to_string(ErrorCode::data_loss), "data_loss");
  EXPECT_EQ(to_string(ErrorCode::resource_exhausted), "resource_exhausted");
  EXPECT_EQ(to_string(ErrorCode::failed_precondition), "failed_precondition");
  EXPECT_EQ(to_string(ErrorCode::deadline_exceeded), "deadline_exceeded");
  EXPECT_EQ(to_string(ErrorCode::unavailable), "unavailable");
  EXPECT_EQ(to_string(ErrorCode::cancelled), "cancelled");
  EXPECT_EQ(to_string(ErrorCode::user_function), "user_function");
  EXPECT_EQ(to_string(ErrorCode::internal), "internal");
}

/// The last catch block of a thread asks for it, where a second exception ends the program.
TEST(TerminalError, needs_no_memory_where_there_is_none) {
  if (kAddressSanitizer || kThreadSanitizer) return;  // their allocators end the program
  const pid_t child = ::fork();
  if (child == 0) {
    Error large(ErrorCode::data_loss, std::string(64 << 20, 'x'));
    const rlimit nothing_more{0, 0};
    ::setrlimit(RLIMIT_AS, &nothing_more);
    try {
      throw std::move(large);
    } catch (...) {
      try {
        const auto error = detail::terminal_error();  // has no room for a copy
        ::_exit(error->code() == ErrorCode::resource_exhausted ? 0 : 1);
      } catch (...) {
        ::_exit(2);
      }
    }
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  ASSERT_TRUE(WIFEXITED(status)) << status;
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

/// It ended the program.
TEST(TerminalError, of_a_thread_that_cannot_begin_reaches_the_consumer) {
  detail::HandOff hand_off;
  detail::WaitPoint never(hand_off);
  detail::Workers<int> workers(hand_off, {.begin = [] { throw std::bad_alloc(); },
                                          .claim = [](std::size_t) -> int* { return nullptr; },
                                          .has_work = [] { return false; },
                                          .run = [](auto&, int&) {}});
  auto lock = hand_off.lock();
  workers.set_count(1);
  const Error error = error_of([&] { never.wait(lock, [] { return false; }); });
  EXPECT_EQ(error.code(), ErrorCode::resource_exhausted);
  lock.unlock();
  hand_off.stop();
}

}  // namespace
}  // namespace infeed::test
