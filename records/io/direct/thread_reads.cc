#include <algorithm>
#include <cerrno>
#include <deque>
#include <optional>
#include <thread>
#include <unistd.h>
#include <vector>

#include <infeed/detail/hand_off.h>

#include "io/direct/block_reads.h"

namespace infeed::detail {
namespace {

/// Invariants: `hand_off_` guards what stands behind it. A slot is in `waiting_` or with one thread or
/// has a result. The bytes of a slot are its thread's until the result is there.
class ThreadReads final : public BlockReads {
 public:
  ThreadReads(int descriptor, std::size_t slots) : descriptor_(descriptor), results_(slots) {
    constexpr std::size_t kThreadsMax = 4;
    for (std::size_t i = 0; i < std::min(slots, kThreadsMax); ++i) {
      threads_.emplace_back([this] { run(); });
    }
  }
  ~ThreadReads() override { hand_off_.stop(); }

  void start(std::size_t slot, std::uint64_t offset, std::span<char> into) override {
    {
      const auto lock = hand_off_.lock();
      results_[slot].reset();
      waiting_.push_back({slot, offset, into});
    }
    has_work_.wake_one();
  }

  ssize_t wait(std::size_t slot) override {
    auto lock = hand_off_.lock();
    has_result_.wait(lock, [&] { return results_[slot].has_value(); });
    return *results_[slot];
  }

 private:
  struct Work {
    std::size_t slot;
    std::uint64_t offset;
    std::span<char> into;
  };

  void run() {
    auto lock = hand_off_.lock();
    while (has_work_.wait(lock, [this] { return !waiting_.empty(); })) {
      const Work work = waiting_.front();
      waiting_.pop_front();
      lock.unlock();
      const ssize_t result = read(work);
      lock.lock();
      results_[work.slot] = result;
      has_result_.wake_all();
    }
  }

  ssize_t read(const Work& work) const {
    while (true) {
      const ssize_t got =
          ::pread(descriptor_, work.into.data(), work.into.size(), static_cast<off_t>(work.offset));
      if (got >= 0) return got;
      if (errno != EINTR) return -errno;
    }
  }

  const int descriptor_;
  HandOff hand_off_;
  WaitPoint has_work_{hand_off_};
  WaitPoint has_result_{hand_off_};
  std::deque<Work> waiting_;
  std::vector<std::optional<ssize_t>> results_;
  std::vector<std::jthread> threads_;  // last: end before the rest goes
};

}  // namespace

std::unique_ptr<BlockReads> make_thread_reads(int descriptor, std::size_t slots) {
  return std::make_unique<ThreadReads>(descriptor, slots);
}

}  // namespace infeed::detail
