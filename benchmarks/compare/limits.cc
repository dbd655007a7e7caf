#include "limits.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "drain.h"
#include "repeated.h"

namespace infeed::compare {
namespace {

using Function = std::int64_t (*)(std::int64_t);

std::int64_t add_one(std::int64_t x) { return x + 1; }

/// Volatile, so that every call loads the pointer.
volatile Function function = add_one;

/// xorshift64*: cheaper than the generator of any library.
struct Draw {
  std::uint64_t state = 42;
  std::uint64_t below(std::uint64_t limit) {
    state ^= state >> 12;
    state ^= state << 25;
    state ^= state >> 27;
    return ((state * 0x2545F4914F6CDD1DULL) >> 32) * limit >> 32;
  }
};

constexpr std::size_t kBuffer = 10'000;
constexpr std::size_t kBatch = 128;

double calls_ns(const RunOptions& options, int calls) {
  return repeated_ns(options, [calls](std::int64_t n) {
    std::uint64_t sum = 0;
    for (std::int64_t i = 0; i < n; ++i) {
      std::int64_t x = i;
      for (int call = 0; call < calls; ++call) x = function(x);
      sum += static_cast<std::uint64_t>(x);
    }
    use(sum);
  });
}

}  // namespace

double ten_calls_ns(const RunOptions& options) { return calls_ns(options, 10); }
double one_call_ns(const RunOptions& options) { return calls_ns(options, 1); }

double shuffled_batches_ns(const RunOptions& options) {
  return repeated_ns(options, [](std::int64_t n) {
    std::vector<std::int64_t> buffer;
    std::vector<std::int64_t> batch;
    buffer.reserve(kBuffer);
    Draw draw;
    std::uint64_t sum = 0;
    for (std::int64_t i = 0; i < n; ++i) {
      const std::int64_t x = function(i);
      if (buffer.size() < kBuffer) {
        buffer.push_back(x);
        continue;
      }
      if (batch.capacity() == 0) batch.reserve(kBatch);
      batch.push_back(std::exchange(buffer[draw.below(kBuffer)], x));
      if (batch.size() < kBatch) continue;
      const std::vector<std::int64_t> given = std::move(batch);  // owned by the consumer
      batch = {};
      sum += static_cast<std::uint64_t>(given.front());
    }
    use(sum);
  });
}

double million_draws_ms(const RunOptions&) {
  std::vector<double> times_ms;
  for (int i = 0; i < 5; ++i) {
    const auto start = Clock::now();
    std::vector<std::int64_t> buffer(kBuffer);
    Draw draw;
    std::uint64_t sum = 0;
    for (std::int64_t x = 0; x < 1'000'000; ++x) {
      sum += static_cast<std::uint64_t>(std::exchange(buffer[draw.below(kBuffer)], x));
    }
    use(sum);
    times_ms.push_back(seconds_since(start) * 1e3);
  }
  return median(std::move(times_ms));
}

HandOver hand_over(const RunOptions&) {
  constexpr auto kPeriod = std::chrono::milliseconds(20);
  constexpr int kElements = 75;
  std::mutex mutex;
  std::condition_variable changed;
  std::optional<Clock::time_point> given;
  std::jthread source([&] {
    const auto start = Clock::now() + kPeriod;
    for (int i = 0; i < kElements; ++i) {
      std::this_thread::sleep_until(start + i * kPeriod);
      {
        const std::lock_guard lock(mutex);
        given = Clock::now();
      }
      changed.notify_one();
    }
  });
  std::vector<double> held_back_ms;
  std::unique_lock lock(mutex);
  while (held_back_ms.size() < kElements) {
    changed.wait(lock, [&] { return given.has_value(); });
    held_back_ms.push_back(seconds_since(*given) * 1e3);
    given.reset();
  }
  return {.median_ms = median(held_back_ms),
          .longest_ms = *std::max_element(held_back_ms.begin(), held_back_ms.end())};
}

}  // namespace infeed::compare
