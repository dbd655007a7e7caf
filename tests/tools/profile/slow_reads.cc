#include "tools/profile/slow_reads.h"

#include <array>
#include <atomic>
#include <fmt/format.h>
#include <sys/syscall.h>
#include <thread>
#include <unistd.h>
#include <utility>

namespace infeed::test {
namespace {

std::atomic<const SlowReads*> slow_reads{nullptr};

[[maybe_unused]] void delay(int descriptor, std::uint64_t begin, std::uint64_t end) {
  const SlowReads* const reads = slow_reads.load();
  if (reads == nullptr) return;
  std::array<char, 4096> path{};
  const std::string link = fmt::format("/proc/self/fd/{}", descriptor);
  const ssize_t length = ::readlink(link.c_str(), path.data(), path.size());
  if (length <= 0) return;
  reads->delay({path.data(), static_cast<std::size_t>(length)}, begin, end);
}

}  // namespace

SlowReads::SlowReads(std::vector<SlowRead> reads, OnDelayed on_delayed)
    : reads_(std::move(reads)), on_delayed_(std::move(on_delayed)) {
  slow_reads = this;
}

SlowReads::~SlowReads() { slow_reads = nullptr; }

void SlowReads::delay(std::string_view file, std::uint64_t begin, std::uint64_t end) const {
  for (const SlowRead& read : reads_) {
    if (!file.ends_with(read.file_end) || begin >= read.end || end <= read.begin) continue;
    const auto from = std::chrono::steady_clock::now();
    std::this_thread::sleep_for(read.takes);
    if (on_delayed_) on_delayed_(read, from);
  }
}

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || defined(__has_feature)
const bool kCanSlowReads = false;
#else
const bool kCanSlowReads = true;
#endif

}  // namespace infeed::test

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) && !defined(__has_feature)
extern "C" ssize_t pread(int descriptor, void* into, std::size_t bytes, off_t offset) {
  const auto begin = static_cast<std::uint64_t>(offset);
  infeed::test::delay(descriptor, begin, begin + bytes);
  return ::syscall(SYS_pread64, descriptor, into, bytes, offset);
}
#endif
