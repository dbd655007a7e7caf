#include "no_threads.h"

#include <filesystem>
#include <iterator>

#include "cli/stop_on_signal.h"
#include "thrown_error.h"

namespace infeed::test {
namespace {

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
    EXPECT_THAT(error.message(), HasSubstr("the system gives no further thread"));
  }
  EXPECT_EQ(open_descriptors(), before);
  const tools::StopOnSignal signals;  // with threads again
  EXPECT_FALSE(signals.token().stop_requested());
}

}  // namespace
}  // namespace infeed::test
