#pragma once

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <gtest/gtest.h>
#include <limits>
#include <memory>
#include <mutex>
#include <numeric>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include <infeed/error.h>
#include <infeed/pipeline/stage.h>

#include "engine/iterator_context.h"
#include "engine/stage_counters.h"
#include "engine/work/chunk_queue.h"

namespace infeed::test {

/// One pull of a ScriptedInput.
struct Given {
  std::size_t count = 0;       ///< 0: as many as are asked for
  bool ends_in_error = false;  ///< the last slot is an error
};

/// Gives numbers (or vectors of as many numbers as listed), and ends after `left` slots. Pulls
/// wait until they are allowed.
template <class T>
class ScriptedInput final : public Stage {
 public:
  explicit ScriptedInput(const StageContext& context) : Stage(context) {}

  /// Returns how many elements each pull so far was asked for.
  std::vector<std::size_t> asks() const {
    const std::lock_guard lock(mutex_);
    return asks_;
  }
  void wait_for_asks(std::size_t count) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return asks_.size() >= count; });
  }
  void allow(std::size_t pulls) {
    const std::lock_guard lock(mutex_);
    allowed_ = pulls;
    changed_.notify_all();
  }

  std::vector<Given> script;  ///< the first pulls; later ones give what is asked for
  std::size_t left = 20;
  bool fails_at_end = false;
  std::function<T(std::int64_t)> make;

 protected:
  Pull do_pull(Chunk& out, std::size_t want) override {
    std::size_t pull = 0;
    {
      std::unique_lock lock(mutex_);
      pull = asks_.size();
      asks_.push_back(want);
      changed_.notify_all();
      changed_.wait(lock, [&] { return pull < allowed_; });
    }
    if (left == 0 && fails_at_end) throw Error(ErrorCode::data_loss, "the input is broken");
    if (left == 0) return Pull::end;
    const Given given = pull < script.size() ? script[pull] : Given{};
    std::size_t count = std::min(given.count == 0 ? want : given.count, left);
    left -= count;
    if (given.ends_in_error) --count;
    for (std::size_t i = 0; i < count; ++i) out.append(make(next_++));
    if (given.ends_in_error) {
      out.set_error(std::make_shared<const Error>(ErrorCode::data_loss, "an element is broken"));
    }
    return Pull::values;
  }
  TracedPlace do_trace(std::uint64_t position) const override { return Stage::do_trace(position); }

 private:
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::size_t> asks_;
  std::size_t allowed_ = std::numeric_limits<std::size_t>::max();
  std::int64_t next_ = 0;
};

template <class T>
class QueueOf {
 public:
  explicit QueueOf(std::uint64_t memory_bytes_max = 0)
      : run(IterateOptions{.memory_bytes_max = memory_bytes_max}) {}
  ~QueueOf() { input.allow(std::numeric_limits<std::size_t>::max()); }

  void begin(const detail::QueueLimits& limits) {
    queue.emplace(run, counters, "queue", input, type_info<T>(), limits, [this] { ++told; });
  }
  /// Returns the slots that a pop() gives.
  std::size_t popped() {
    chunk.clear();
    EXPECT_EQ(queue->pop(chunk), Pull::values);
    return chunk.slots();
  }
  /// Waits until the account counts exactly so much: the last of the pulls that are allowed has come.
  void wait_until_in_use(std::uint64_t bytes) {
    while (run.memory().in_use_bytes() != bytes) std::this_thread::yield();
  }
  /// Takes what is left, in either form. Returns how the queue ended.
  Pull take_rest(std::vector<T>& taken) {
    while (true) {
      const auto values = chunk.values<T>();
      taken.insert(taken.end(), values.begin(), values.end());
      chunk.clear();
      Pull pulled = queue->pop(chunk);
      if (pulled == Pull::values && chunk.empty()) pulled = queue->pull_here(chunk, 3);
      if (pulled != Pull::values) return pulled;
    }
  }

  IteratorContext run;
  detail::StageCounters counters;
  detail::StageCounters input_counters;
  ScriptedInput<T> input{{.run = run, .counters = &input_counters, .type = &type_info<T>()}};
  Chunk chunk{type_info<T>()};
  std::atomic<int> told{0};  ///< times that a chunk or the end was there
  std::optional<detail::ChunkQueue> queue;
};

/// A queue of the numbers 0 .. 19.
class NumberQueue : public QueueOf<std::int64_t> {
 public:
  explicit NumberQueue(std::uint64_t memory_bytes_max = 0) : QueueOf(memory_bytes_max) {
    input.make = [](std::int64_t number) { return number; };
  }
  void expect_the_rest() {
    std::vector<std::int64_t> taken;
    EXPECT_EQ(take_rest(taken), Pull::end);
    std::vector<std::int64_t> expected(20);
    std::iota(expected.begin(), expected.end(), 0);
    EXPECT_EQ(taken, expected);
  }
};

/// Limits of a queue of numbers.
inline constexpr detail::QueueLimits kFour{.elements_max = 4, .bytes_max = 32, .adaptive = false};
inline constexpr detail::QueueLimits kMany{
    .elements_max = 100, .bytes_max = 1'000'000, .adaptive = false};

/// A queue of vectors, whose memory shows how far the queue's thread has come.
class VectorQueue : public QueueOf<std::vector<std::int64_t>> {
 public:
  /// `lengths` are those of the vectors, over and over again.
  explicit VectorQueue(std::vector<std::size_t> lengths) {
    input.make = [lengths = std::move(lengths)](std::int64_t number) {
      return std::vector<std::int64_t>(lengths[static_cast<std::size_t>(number) % lengths.size()]);
    };
  }
  /// Lets its thread make the pulls of the script and no more.
  void begin_with(const detail::QueueLimits& limits, std::vector<Given> script) {
    input.allow(script.size());
    input.script = std::move(script);
    begin(limits);
    queue->start();
  }
};

}  // namespace infeed::test
