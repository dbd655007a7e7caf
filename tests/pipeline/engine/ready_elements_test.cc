#include "engine/threads/ready_elements.h"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <fcntl.h>
#include <limits>
#include <optional>
#include <poll.h>
#include <stop_token>
#include <sys/resource.h>
#include <utility>
#include <vector>

#include <infeed/error.h>

#include "engine/iterator_context.h"
#include "engine/stage_counters.h"
#include "pipeline/suite/queue_alone.h"
#include "thrown_error.h"

// The thread that keeps an iterator's next elements ready, and the event that tells of them. The input
// waits for the test.
namespace infeed::test {
namespace {

using detail::ReadyElements;
using detail::ReadyEvent;

constexpr std::chrono::seconds kLong{60};

bool is_readable(const ReadyEvent& event, std::chrono::milliseconds time = {}) {
  pollfd asked{.fd = event.descriptor(), .events = POLLIN, .revents = 0};
  return ::poll(&asked, 1, static_cast<int>(time.count())) == 1;
}

TEST(ReadyEvent, IsReadableWhileItIsSet) {
  const ReadyEvent event;
  EXPECT_FALSE(is_readable(event));
  event.set();
  EXPECT_TRUE(is_readable(event));
  event.set();
  event.clear();
  EXPECT_FALSE(is_readable(event)) << "however often it was set";
  event.clear();  // doesn't wait
  EXPECT_FALSE(is_readable(event));
  event.set();
  EXPECT_TRUE(is_readable(event));
}

TEST(ReadyEvent, HasADescriptorOfThisProcessAlone) {
  std::optional<ReadyEvent> event(std::in_place);
  const int descriptor = event->descriptor();
  EXPECT_EQ(::fcntl(descriptor, F_GETFD), FD_CLOEXEC);
  EXPECT_EQ(::fcntl(descriptor, F_GETFL) & O_NONBLOCK, O_NONBLOCK);
  event.reset();
  EXPECT_EQ(::fcntl(descriptor, F_GETFD), -1) << "it is closed with the event";
}

TEST(ReadyEvent, SaysWhatToRaiseIfThereIsNoDescriptor) {
  rlimit open_files{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &open_files), 0);
  const rlimit none{0, open_files.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  const Error error = error_of([] { const ReadyEvent event; });
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &open_files), 0);
  EXPECT_EQ(error.code(), ErrorCode::resource_exhausted);
  EXPECT_EQ(
      error.message(),
      "the iterator can't have a descriptor that tells when elements are ready: Too many open "
      "files; raise the limit of open files (ulimit -n)");
}

/// The ready elements of an input that gives one number a pull, three in all, when it is allowed to.
class ReadyNumbers : public ::testing::Test {
 protected:
  ReadyNumbers() {
    input_.make = [](std::int64_t number) { return number; };
    input_.script = {{1}, {1}, {1}};
    input_.left = 3;
    input_.allow(0);
    elements_.emplace(run_, type_info<std::int64_t>(), input_, detail::ThreadShare(run_.threads()));
  }
  ~ReadyNumbers() override { input_.allow(std::numeric_limits<std::size_t>::max()); }

  bool is_ready_now() { return elements_->is_ready({}, {}); }
  bool is_ready_soon() { return elements_->is_ready(std::chrono::steady_clock::now() + kLong, {}); }
  void expect_number(std::int64_t number) {
    chunk_.clear();
    ASSERT_EQ(elements_->pop(chunk_), Pull::values);
    ASSERT_EQ(chunk_.size(), 1U);
    EXPECT_EQ(chunk_.values<std::int64_t>()[0], number);
  }

  IteratorContext run_{IterateOptions{}};
  detail::StageCounters input_counters_;
  ScriptedInput<std::int64_t> input_{
      {.run = run_, .counters = &input_counters_, .type = &type_info<std::int64_t>()}};
  Chunk chunk_{type_info<std::int64_t>()};
  const ReadyEvent event_;
  std::optional<ReadyElements> elements_;
};

TEST_F(ReadyNumbers, SetTheirEventFromEachElementUntilNoneIsFound) {
  elements_->tell(event_);
  EXPECT_FALSE(is_readable(event_));
  EXPECT_FALSE(is_ready_now());
  input_.allow(1);
  ASSERT_TRUE(is_readable(event_, kLong));
  EXPECT_TRUE(is_ready_now());
  EXPECT_TRUE(is_readable(event_)) << "who finds one leaves the event set";
  expect_number(0);
  EXPECT_TRUE(is_readable(event_)) << "nobody has looked since";
  EXPECT_FALSE(is_ready_now());
  EXPECT_FALSE(is_readable(event_));
  input_.allow(2);
  ASSERT_TRUE(is_readable(event_, kLong));
  expect_number(1);
}

TEST_F(ReadyNumbers, AreWaitedForWithoutAnEvent) {
  EXPECT_FALSE(is_ready_now());
  std::stop_source stopped;
  stopped.request_stop();
  EXPECT_FALSE(elements_->is_ready(std::chrono::steady_clock::now() + kLong, stopped.get_token()));
  input_.allow(1);
  EXPECT_TRUE(is_ready_soon());
  expect_number(0);
}

TEST_F(ReadyNumbers, SetAnEventThatIsToldLater) {
  input_.allow(1);
  EXPECT_TRUE(is_ready_soon());
  elements_->tell(event_);
  EXPECT_TRUE(is_readable(event_));
}

TEST_F(ReadyNumbers, AreReadyAtTheEndForEver) {
  elements_->tell(event_);
  input_.allow(std::numeric_limits<std::size_t>::max());
  std::vector<std::int64_t> numbers;
  Pull pulled = Pull::values;
  while (true) {
    ASSERT_TRUE(is_ready_soon());
    chunk_.clear();
    pulled = elements_->pop(chunk_);
    if (pulled != Pull::values) break;
    const auto values = chunk_.values<std::int64_t>();
    numbers.insert(numbers.end(), values.begin(), values.end());
  }
  EXPECT_EQ(pulled, Pull::end);
  EXPECT_EQ(numbers, (std::vector<std::int64_t>{0, 1, 2}));
  EXPECT_TRUE(is_ready_now());
  EXPECT_TRUE(is_readable(event_));
  EXPECT_EQ(elements_->pop(chunk_), Pull::end);
}

TEST_F(ReadyNumbers, AreReadyOnceTheRunIsCancelled) {
  elements_->tell(event_);
  run_.cancel();
  EXPECT_TRUE(is_ready_now());
  EXPECT_EQ(elements_->pop(chunk_), Pull::cancelled);
}

}  // namespace
}  // namespace infeed::test
