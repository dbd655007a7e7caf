#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <gtest/gtest.h>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <infeed/detail/hand_off.h>
#include <infeed/pipeline/batch_into.h>
#include <infeed/pipeline/executor.h>
#include <infeed/pipeline/interleave.h>
#include <infeed/pipeline/map.h>
#include <infeed/pipeline/prefetch.h>
#include <infeed/pipeline/range.h>

#include "engine/stage_counters.h"
#include "schedules/explore.h"
#include "schedules/pipeline_run.h"

// The real stages, while a tuner sets their knobs and the consumer or another thread ends them.
namespace infeed::schedules {
namespace {

/// An element that fills a chunk, so that a queue holds few.
struct Large {
  std::int64_t number = 0;
  std::array<std::byte, 16 * 1024> rest;
};

Large large(std::int64_t number) {
  Large element;
  element.number = number;
  return element;
}
std::int64_t number_of(const Large& element) { return element.number; }
std::int64_t same(std::int64_t x) { return x; }
Large same_large(const Large& element) { return element; }

/// The way in which a run ends.
enum class End {
  reached,
  cancelled,  ///< by another thread, at any moment
  left,       ///< the consumer goes after the first element
  failed,     ///< the input fails behind the second element
};

struct Behaviour {
  /// Settings that a tuner gives all knobs, one after the other.
  std::vector<std::vector<std::int64_t>> settings;
  End end = End::reached;
  bool is_ordered = true;
  std::uint64_t memory_bytes_max = 0;
  /// An executor whose only thread is busy until the pipeline has ended.
  bool executor_is_busy = false;
  /// As many as the consumer has said that it will ask for. It asks for all.
  std::uint64_t elements_wanted = detail::kAllElements;
};

/// An executor with one thread, which is busy while this lives.
class BusyExecutor {
 public:
  BusyExecutor() {
    executor_->submit([this] {
      auto lock = hand_off_.lock();
      over_.wait(lock, [] { return false; });
    });
  }
  ~BusyExecutor() { hand_off_.stop(); }
  BusyExecutor(const BusyExecutor&) = delete;
  BusyExecutor& operator=(const BusyExecutor&) = delete;

  const std::shared_ptr<Executor>& executor() const { return executor_; }

 private:
  detail::HandOff hand_off_;
  detail::WaitPoint over_{hand_off_};
  std::shared_ptr<Executor> executor_ = Executor::threads(1);  // last: its thread uses the others
};

/// In each schedule the elements of the serial form come: all, or the first ones if it ended
/// before.
class Model {
 public:
  Model(Dataset<std::int64_t> dataset, Behaviour behaviour)
      : dataset_(std::move(dataset)),
        behaviour_(std::move(behaviour)),
        expected_(elements_of_serial_form()) {}

  void operator()() const {
    std::optional<BusyExecutor> busy;
    std::optional<PipelineRun> run;
    {
      const Undisturbed setting_up;
      IterateOptions options{.memory_bytes_max = behaviour_.memory_bytes_max};
      if (behaviour_.executor_is_busy) options.executor = busy.emplace().executor();
      run.emplace(dataset_, options);
      run->set_elements_wanted(behaviour_.elements_wanted);
    }
    std::thread tuner([&] {
      for (const auto& setting : behaviour_.settings) {
        for (std::size_t knob = 0; knob < setting.size(); ++knob)
          run->set_knob(knob, setting[knob]);
      }
    });
    std::thread canceller;
    if (behaviour_.end == End::cancelled) canceller = std::thread([&] { run->cancel(); });
    expect_elements(*run);
    if (canceller.joinable()) canceller.join();
    tuner.join();
  }

 private:
  void expect_elements(PipelineRun& run) const {
    Pull pulled = Pull::end;
    bool has_failed = false;
    try {
      pulled = run.pull(behaviour_.end == End::left ? 1 : SIZE_MAX);
    } catch (const Error& error) {
      check(behaviour_.end == End::failed, error.message());
      has_failed = true;
    }
    check(has_failed == (behaviour_.end == End::failed), "it doesn't fail");
    if (behaviour_.end != End::cancelled) check(pulled != Pull::cancelled, "it was cancelled");
    // Elements before a failure are handed over first; without an order it isn't known which these
    // are.
    const bool is_whole = pulled == Pull::end && (!has_failed || behaviour_.is_ordered);
    std::vector<std::int64_t> values = run.values();
    check(!is_whole || values.size() == expected_.size(), "too few elements, or too many");
    if (!behaviour_.is_ordered && !is_whole) return;
    if (!behaviour_.is_ordered) std::ranges::sort(values);
    check(values.size() <= expected_.size() &&
              std::ranges::equal(values, std::span(expected_).first(values.size())),
          "other elements");
  }

  std::vector<std::int64_t> elements_of_serial_form() const {
    auto serial = dataset_.iterate({.executor = Executor::inline_()});
    std::vector<std::int64_t> elements;
    try {
      while (const auto element = serial.next()) elements.push_back(*element);
    } catch (const Error&) {
    }
    if (!behaviour_.is_ordered) std::ranges::sort(elements);
    return elements;
  }

  const Dataset<std::int64_t> dataset_;
  const Behaviour behaviour_;
  const std::vector<std::int64_t> expected_;
};

// Times that make jobs and reads seem long, and functions seem to wait.
constexpr RunOptions kQuick{.timeouts_are_findings = true};
constexpr RunOptions kSlow{.timeouts_are_findings = true, .clock_step_ns = 300'000};
constexpr RunOptions kWaits{
    .timeouts_are_findings = true, .clock_step_ns = 500'000, .threads_seem_to_wait = true};
/// A consumer that collects batches waits 200 us for workers that have just become none.
constexpr RunOptions kQuickBatches{};

void expect_elements(const std::string& name, const Dataset<std::int64_t>& dataset,
                     const Behaviour& behaviour, RunOptions run = kQuick) {
  // Half of them without choices behind unlocks, which reach further.
  for (const bool locks_guard_all : {false, true}) {
    run.locks_guard_all = locks_guard_all;
    expect_no_finding(locks_guard_all ? name + ", by locks" : name,
                      {.schedules_max = 30, .random = 110, .run = run}, Model(dataset, behaviour));
  }
}

TEST(PrefetchSchedules, Ends) {
  const auto dataset = range(4) | map(&large) | prefetch() | map(&number_of);
  expect_elements("prefetch", dataset, {.settings = {{0, 2}, {1, 4}}});
  expect_elements("slow prefetch", dataset, {.settings = {{0, 2}, {1, 4}}}, kSlow);
  expect_elements("serial at last", dataset, {.settings = {{0}, {1}, {0}}});
  expect_elements("short of memory", dataset,
                  {.settings = {{0, 2}, {1, 4}}, .memory_bytes_max = 40'000});
}

/// The last elements before the place that the consumer has named wait for no others.
TEST(PrefetchSchedules, GoesOnBehindWhatItsConsumerHasSaid) {
  const auto dataset = range(8) | map(&large) | prefetch(16) | map(&number_of);
  expect_elements("six wanted", dataset, {.settings = {}, .elements_wanted = 6});
}

TEST(PrefetchSchedules, EndsBefore) {
  const auto dataset = range(4) | map(&large) | prefetch() | map(&number_of);
  expect_elements("cancelled", dataset, {.settings = {{0}, {1}}, .end = End::cancelled});
  expect_elements("left", dataset, {.settings = {{0}, {1}}, .end = End::left});
  expect_elements("failed", failing(range(4) | map(&large), 2) | prefetch() | map(&number_of),
                  {.settings = {{0}, {1}}, .end = End::failed});
}

TEST(PrefetchSchedules, OneBehindTheOther) {
  const auto dataset =
      range(3) | map(&large) | prefetch() | map(&same_large) | prefetch() | map(&number_of);
  expect_elements("two", dataset, {.settings = {{0, 2, 0, 2}, {1, 2, 1, 2}}});
  expect_elements("two, short of memory", dataset,
                  {.settings = {{0, 2, 0, 2}, {1, 2, 1, 2}}, .memory_bytes_max = 40'000});
}

class MapSchedules : public ::testing::TestWithParam<bool> {
 protected:
  bool is_ordered() const { return GetParam(); }
  MapOptions options() const { return {.parallelism = autotune, .ordered = is_ordered()}; }
};

TEST_P(MapSchedules, Ends) {
  const auto dataset = range(4) | map(&same, options());
  const Behaviour behaviour{.settings = {{0}, {1}, {2}}, .is_ordered = is_ordered()};
  expect_elements("quick", dataset, behaviour);
  expect_elements("slow", dataset, behaviour, kSlow);
  expect_elements("waiting", range(7) | map(&same, options()),
                  {.settings = {{3}, {0}, {2}}, .is_ordered = is_ordered()}, kWaits);
}

TEST_P(MapSchedules, HasABusyExecutor) {
  const Behaviour behaviour{
      .settings = {{0}, {1}}, .is_ordered = is_ordered(), .executor_is_busy = true};
  expect_elements("busy", range(4) | map(&same, options()), behaviour, kSlow);
  expect_elements("busy, waiting", range(7) | map(&same, options()), behaviour, kWaits);
}

TEST_P(MapSchedules, IsShortOfMemory) {
  const auto dataset = range(4) | map(&large, options()) | map(&number_of, options());
  const Behaviour behaviour{
      .settings = {{0, 1}, {2, 2}}, .is_ordered = is_ordered(), .memory_bytes_max = 60'000};
  expect_elements("quick", dataset, behaviour);
  expect_elements("slow", dataset, behaviour, kSlow);
}

TEST_P(MapSchedules, EndsBefore) {
  const auto dataset = range(4) | map(&same, options());
  Behaviour behaviour{.settings = {{0}, {2}}, .end = End::cancelled, .is_ordered = is_ordered()};
  expect_elements("cancelled", dataset, behaviour, kSlow);
  expect_elements("waiting, cancelled", range(7) | map(&same, options()), behaviour, kWaits);
  behaviour.end = End::left;
  expect_elements("left", dataset, behaviour, kSlow);
  expect_elements("waiting, left", range(7) | map(&same, options()), behaviour, kWaits);
  behaviour.end = End::failed;
  expect_elements("failed", failing(range(4), 2) | map(&same, options()), behaviour, kSlow);
}

INSTANTIATE_TEST_SUITE_P(Ordered, MapSchedules, ::testing::Values(true));
INSTANTIATE_TEST_SUITE_P(Unordered, MapSchedules, ::testing::Values(false));

class InterleaveSchedules : public ::testing::TestWithParam<bool> {
 protected:
  static Dataset<std::int64_t> inner(std::int64_t x) { return range(3 * x, 3 * x + 2); }
  static Dataset<std::int64_t> inner_large(std::int64_t x) {
    return inner(x) | map(&large) | map(&number_of);
  }
  bool is_ordered() const { return GetParam(); }
  InterleaveOptions options() const {
    return {.cycle_length = 2, .parallelism = autotune, .ordered = is_ordered()};
  }
};

TEST_P(InterleaveSchedules, Ends) {
  const auto dataset = range(3) | interleave(&inner, options());
  const Behaviour behaviour{.settings = {{1}, {2}}, .is_ordered = is_ordered()};
  expect_elements("quick", dataset, behaviour);
  expect_elements("slow", dataset, behaviour, kSlow);
  expect_elements("fewer at last", dataset, {.settings = {{1}}, .is_ordered = is_ordered()}, kSlow);
  expect_elements("short of memory", range(3) | interleave(&inner_large, options()),
                  {.settings = {{1}}, .is_ordered = is_ordered(), .memory_bytes_max = 10'000});
}

TEST_P(InterleaveSchedules, EndsBefore) {
  const auto dataset = range(3) | interleave(&inner, options());
  Behaviour behaviour{.settings = {{1}}, .end = End::cancelled, .is_ordered = is_ordered()};
  expect_elements("cancelled", dataset, behaviour);
  behaviour.end = End::left;
  expect_elements("left", dataset, behaviour);
  behaviour.end = End::failed;
  expect_elements("failed", failing(range(3), 2) | interleave(&inner, options()), behaviour);
}

/// An inner dataset that is refused memory stops all those that are ahead. Their closing takes part
/// in the cancellation behind the failure.
TEST_P(InterleaveSchedules, FailsForWantOfMemory) {
  const auto inner = [](std::int64_t x) {
    const auto numbers = range(3 * x, 3 * x + 2) | prefetch(1);
    return x == 0 ? failing(numbers, 1, ErrorCode::resource_exhausted) : numbers;
  };
  expect_elements("refused", range(3) | interleave(inner, options()),
                  {.settings = {}, .end = End::failed, .is_ordered = is_ordered()}, kQuickBatches);
}

/// An inner dataset that has failed already keeps the elements before its failure.
TEST_P(InterleaveSchedules, FailsForWantOfMemoryBehindAnotherFailure) {
  const auto inner = [](std::int64_t x) {
    const auto numbers = range(3 * x, 3 * x + 2);
    if (x == 1) return failing(numbers, 1);
    return x == 2 ? failing(numbers, 0, ErrorCode::resource_exhausted) : numbers;
  };
  expect_elements("refused", range(3) | interleave(inner, options()),
                  {.settings = {}, .end = End::failed, .is_ordered = is_ordered()}, kQuickBatches);
}

INSTANTIATE_TEST_SUITE_P(Ordered, InterleaveSchedules, ::testing::Values(true));
INSTANTIATE_TEST_SUITE_P(Unordered, InterleaveSchedules, ::testing::Values(false));

struct Numbered {
  std::int64_t number;
};

void fill(std::int64_t x, const Row<Numbered>& row) { row.column(&Numbered::number) = x; }
std::int64_t sum_of(const Batch<Numbered>& batch) {
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < batch.size(); ++i) sum += batch.row(i).number;
  return sum;
}

TEST(BatchSchedules, Ends) {
  const auto dataset =
      range(7) | batch_into<Numbered>(2, &fill, {.parallelism = autotune}) | map(&sum_of);
  expect_elements("quick", dataset, {.settings = {{0}, {1}, {2}}}, kQuickBatches);
  expect_elements("slow", dataset, {.settings = {{0}, {1}, {2}}}, kSlow);
  expect_elements("cancelled", dataset, {.settings = {{0}, {2}}, .end = End::cancelled},
                  kQuickBatches);
  expect_elements("left", dataset, {.settings = {{0}, {2}}, .end = End::left}, kQuickBatches);
  expect_elements("failed",
                  failing(range(7), 5) | batch_into<Numbered>(2, &fill, {.parallelism = autotune}) |
                      map(&sum_of),
                  {.settings = {{0}, {2}}, .end = End::failed}, kQuickBatches);
}

}  // namespace
}  // namespace infeed::schedules
