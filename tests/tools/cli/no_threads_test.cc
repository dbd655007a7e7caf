#include <filesystem>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <iterator>
#include <pthread.h>

#include "cli/stop_on_signal.h"
#include "thrown_error.h"

namespace infeed::test {
namespace {

/// A system that gives no thread: each would need a stack that no address space has.
class NoThreads {
 public:
  NoThreads() {
    pthread_attr_t attributes;
    pthread_getattr_default_np(&attributes);
    pthread_attr_getstacksize(&attributes, &before_);
    set(std::size_t{1} << 50);
    pthread_attr_destroy(&attributes);
  }
  ~NoThreads() { set(before_); }

 private:
  static void set(std::size_t bytes) {
    pthread_attr_t attributes;
    pthread_getattr_default_np(&attributes);
    pthread_attr_setstacksize(&attributes, bytes);
    pthread_setattr_default_np(&attributes);
    pthread_attr_destroy(&attributes);
  }
  std::size_t before_ = 0;
};

std::ptrdiff_t open_descriptors() {
  return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {});
}

/// It was a std::system_error that no handler caught, and left both descriptors open.
TEST(NoThreads, WatchingForCtrlCSaysSoAndLeavesNothingOpen) {
  const std::ptrdiff_t before = open_descriptors();
  {
    const NoThreads none;
    const Error error = error_of([] { const tools::StopOnSignal signals; });
    EXPECT_EQ(error.code(), ErrorCode::resource_exhausted);
    EXPECT_THAT(error.message(), ::testing::HasSubstr("the system gives no further thread"));
  }
  EXPECT_EQ(open_descriptors(), before);
  const tools::StopOnSignal signals;  // with threads again
  EXPECT_FALSE(signals.token().stop_requested());
}

}  // namespace
}  // namespace infeed::test
