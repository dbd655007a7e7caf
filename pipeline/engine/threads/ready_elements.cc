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

// The limits of the queue: one large element, or several batches. Half of it is about what a core
// fills in the 200 us for which a waiting consumer sleeps. With less, the queue's thread wakes it
// for every second batch of 192 KiB, which costs the thread a fifth of its time.
constexpr QueueLimits kLimits{.elements_max = 1, .bytes_max = 4 << 20, .adaptive = false};

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
                             ThreadShare thread)
    : thread_(std::move(thread)),
      queue_(run, run.counters().begin_ready_queue(), "ready", root, type, kLimits,
             [this] {
               if (const ReadyEvent* const event = event_.load()) event->set();
             }),
      waker_(run, [this] { queue_.stop(); }) {
  queue_.start();
}

void ReadyElements::tell(const ReadyEvent& event) {
  event_ = &event;
  // Elements that came before the queue's thread saw the event have not set it.
  if (queue_.wait_until_ready({}, {})) event.set();
}

bool ReadyElements::is_ready(std::chrono::steady_clock::time_point deadline,
                             const std::stop_token& stop) {
  if (queue_.wait_until_ready(deadline, stop)) return true;
  const ReadyEvent* const event = event_.load();
  if (event == nullptr) return false;
  // Elements that come after this set the event again. Elements that came just before must not be
  // missed.
  event->clear();
  if (!queue_.wait_until_ready({}, {})) return false;
  event->set();
  return true;
}

}  // namespace infeed::detail
