#include <memory>
#include <new>
#include <stdexcept>
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

TEST(Error, NamesThePlacesThatItKnows) {
  Error error(ErrorCode::data_loss, "record is cut");
  EXPECT_STREQ(error.what(), "data_loss: record is cut");
  error.at_stage("map");
  EXPECT_STREQ(error.what(), "data_loss: record is cut [stage map]");
  error.at_file("x.tfrecord");
  EXPECT_STREQ(error.what(), "data_loss: record is cut [file x.tfrecord, stage map]");
  error.at_record(0);
  EXPECT_STREQ(error.what(), "data_loss: record is cut [file x.tfrecord, record 0, stage map]");
  error.at_offset(0);
  EXPECT_STREQ(error.what(),
               "data_loss: record is cut [file x.tfrecord, offset 0, record 0, stage map]");
  error.losing({.records = 249, .bytes = 5976});
  EXPECT_STREQ(error.what(),
               "data_loss: record is cut [file x.tfrecord, offset 0, record 0, lost with it 249 "
               "records (5976 bytes), stage map]");
  const Error other = error.reworded(ErrorCode::unavailable, "try again");
  EXPECT_EQ(other.code(), ErrorCode::unavailable);
  EXPECT_EQ(other.message(), "try again");
  EXPECT_STREQ(other.what(),
               "unavailable: try again [file x.tfrecord, offset 0, record 0, lost with it 249 "
               "records (5976 bytes), stage map]");
}

TEST(Error, MayBeMadeInOneGo) {
  const Error error = Error(ErrorCode::internal, "a bug")
                          .at_stage("map")
                          .at_file("f")
                          .at_offset(1)
                          .at_record(2)
                          .losing({.bytes = 3});
  EXPECT_STREQ(error.what(),
               "internal: a bug [file f, offset 1, record 2, lost with it 3 bytes, stage map]");
  EXPECT_EQ(error.stage(), "map");
  EXPECT_EQ(error.file(), "f");
  EXPECT_EQ(error.offset(), 1U);
  EXPECT_EQ(error.record(), 2U);
  EXPECT_EQ(error.lost(), (Lost{.bytes = 3}));
}

TEST(Error, ShowsNoSecretAndNoControlCharacter) {
  Error error(ErrorCode::not_found, "a\x1b\nb");
  error.at_file("https://me:secret@host/a?token=1");
  EXPECT_EQ(error.file(), "https://host/a?...");
  EXPECT_EQ(error.message(), "a\x1b\nb");
  EXPECT_STREQ(error.what(), "not_found: a\\x1b\nb [file https://host/a?...]");
}

TEST(Error, IsTerminalWhereSomebodySaysSo) {
  Error error(ErrorCode::cancelled, "stopped");
  EXPECT_FALSE(error.is_terminal());
  EXPECT_TRUE(error.as_terminal().is_terminal());
  EXPECT_TRUE(error.reworded(ErrorCode::internal, "x").is_terminal());
  EXPECT_FALSE(error.as_terminal(false).is_terminal());
}

TEST(Lost, IsCountedInRecordsAndBytes) {
  EXPECT_EQ(Lost{}.to_string(), "an unknown number of records");
  EXPECT_EQ((Lost{.bytes = 1}).to_string(), "1 byte");
  EXPECT_EQ((Lost{.bytes = 2}).to_string(), "2 bytes");
  EXPECT_EQ((Lost{.records = 1}).to_string(), "1 record");
  EXPECT_EQ((Lost{.records = 0}).to_string(), "0 records");
  EXPECT_EQ((Lost{.records = 2, .bytes = 1}).to_string(), "2 records (1 byte)");
}

template <class Thrown>
std::shared_ptr<const Error> terminal_error_of(const Thrown& thrown) {
  try {
    throw thrown;
  } catch (...) {
    return detail::terminal_error();
  }
}

struct ErrorOfAUser : Error {
  using Error::Error;
};

TEST(TerminalError, IsWhatWasThrownAndKeepsWhatIsNoError) {
  const auto own = terminal_error_of(Error(ErrorCode::data_loss, "damaged").at_file("f"));
  EXPECT_STREQ(own->what(), "data_loss: damaged [file f]");
  EXPECT_EQ(own->cause(), nullptr);
  const auto derived = terminal_error_of(ErrorOfAUser(ErrorCode::data_loss, "damaged"));
  EXPECT_STREQ(derived->what(), "data_loss: damaged");
  EXPECT_THROW(std::rethrow_exception(derived->cause()), ErrorOfAUser);
  const auto foreign = terminal_error_of(std::runtime_error("no such key"));
  EXPECT_STREQ(foreign->what(), "internal: no such key");
  EXPECT_THROW(std::rethrow_exception(foreign->cause()), std::runtime_error);
  EXPECT_FALSE(foreign->is_terminal());
  const auto number = terminal_error_of(7);
  EXPECT_STREQ(number->what(), "internal: a stage failed");
  EXPECT_THROW(std::rethrow_exception(number->cause()), int);
  const auto memory = terminal_error_of(std::bad_alloc());
  EXPECT_STREQ(memory->what(),
               "resource_exhausted: the system has no more memory; use fewer threads, smaller "
               "buffers, or a machine with more");
  EXPECT_EQ(memory->cause(), nullptr);
  EXPECT_TRUE(memory->is_terminal());
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
