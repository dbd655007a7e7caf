#include "engine/threads/ready_elements.h"

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <fmt/format.h>
#include <sys/eventfd.h>
#include <unistd.h>
#include <utility>

#include <infeed/error.h>

namespace infeed::detail {
namespace {

// The limits of the queue: one large element, or as many small ones as some 50 us of work make.
constexpr QueueLimits kLimits{.elements_max = 1, .bytes_max = 64 * 1024, .adaptive = false};

int open_descriptor() {
  const int descriptor = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (descriptor >= 0) return descriptor;
  throw Error(
      ErrorCode::resource_exhausted,
      fmt::format("the iterator can't have a descriptor that tells when elements are ready: "
                  "{}; raise the limit of open files (ulimit -n)",
                  std::strerror(errno)));
}

}  // namespace

ReadyEvent::ReadyEvent() : descriptor_(open_descriptor()) {}

ReadyEvent::~ReadyEvent() { ::close(descriptor_); }

void ReadyEvent::set() const {
  const std::uint64_t one = 1;
  // write() can only fail if the counter is full, and then the descriptor is readable.
  [[maybe_unused]] const ssize_t written = ::write(descriptor_, &one, sizeof one);
}

void ReadyEvent::clear() const {
  std::uint64_t count = 0;
  [[maybe_unused]] const ssize_t read = ::read(descriptor_, &count, sizeof count);
}

ReadyElements::ReadyElements(IteratorContext& run, const TypeInfo& type, Stage& root,
                             ThreadShare thread, const ReadyEvent& event)
    : thread_(std::move(thread)),
      event_(event),
      queue_(run, run.counters().begin_ready_queue(), "ready", root, type, kLimits,
             [this] { event_.set(); }),
      waker_(run, [this] { queue_.stop(); }) {
  queue_.start();
}

bool ReadyElements::is_ready(std::chrono::steady_clock::time_point deadline,
                             const std::stop_token& stop) {
  if (queue_.wait_until_ready(deadline, stop)) return true;
  // Elements that come after this set the event again. Elements that came just before must not be
  // missed.
  event_.clear();
  if (!queue_.wait_until_ready({}, {})) return false;
  event_.set();
  return true;
}

}  // namespace infeed::detail
