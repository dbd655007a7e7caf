#include <atomic>
#include <tbb/parallel_for.h>
#include <thread>

#include "drain.h"
#include "limits.h"

// Gains and costs of threads: latency, parallel map against the best that two cores can do, resume.
namespace infeed::compare {
namespace {

// ---- hold-back: the time from the source's giving an element to the consumer's taking it ----

/// Hold-backs, in milliseconds, of elements that come every 20 ms.
std::vector<double> hold_backs_ms() {
  constexpr auto kPeriod = std::chrono::milliseconds(20);
  constexpr std::int64_t kElements = 75;
  const auto start = Clock::now() + kPeriod;
  const auto pass_on = [](Clock::time_point given) { return given; };
  const auto dataset = range(kElements) | map([start, kPeriod](std::int64_t i) {
                         std::this_thread::sleep_until(start + i * kPeriod);
                         return Clock::now();
                       }) |
                       map(pass_on) | map(pass_on) | map(pass_on) | prefetch();
  std::vector<double> result;
  auto iterator = dataset.iterate();
  while (const auto given = iterator.next()) result.push_back(seconds_since(*given) * 1e3);
  return result;
}

Measurement hold_back_median(const RunOptions& options) {
  return {median(hold_backs_ms()), hand_over(options).median_ms};
}
Measurement hold_back_max(const RunOptions& options) {
  const std::vector<double> all = hold_backs_ms();
  return {*std::max_element(all.begin(), all.end()), hand_over(options).longest_ms};
}

// ---- parallel map against two serial loops ----

/// Computes a fixed amount, which takes longer when other work has the core (spinning on the clock
/// would hide that).
std::uint64_t compute(std::int64_t x, std::int64_t rounds) {
  auto value = static_cast<std::uint64_t>(x) | 1;
  for (std::int64_t i = 0; i < rounds; ++i)
    value = value * 6364136223846793005ULL + 1442695040888963407ULL;
  return value;
}

std::int64_t rounds_for(double microseconds) {
  constexpr std::int64_t kTrial = 4'000'000;
  double least = 1e9;
  for (int i = 0; i < 3; ++i) {
    const auto start = Clock::now();
    use(compute(i, kTrial));
    least = std::min(least, seconds_since(start));
  }
  return static_cast<std::int64_t>(static_cast<double>(kTrial) * microseconds / (least * 1e6));
}

double loops_elements_a_second(std::int64_t elements, std::int64_t rounds) {
  const auto loop = [&] {
    std::uint64_t sum = 0;
    for (std::int64_t i = 0; i < elements / 2; ++i) sum += compute(i, rounds);
    use(sum);
  };
  const auto start = Clock::now();
  std::thread other(loop);
  loop();
  other.join();
  return static_cast<double>(elements) / seconds_since(start);
}

double map_elements_a_second(std::int64_t elements, std::int64_t rounds) {
  const auto dataset =
      range(elements) |
      map([rounds](std::int64_t i) { return static_cast<std::int64_t>(compute(i, rounds)); },
          {.parallelism = autotune});
  const auto start = Clock::now();
  drain(dataset);
  return static_cast<double>(elements) / seconds_since(start);
}

/// Returns elements a second of a parallel map, and of two independent loops in between.
Measurement parallel_map(const RunOptions& options, double microseconds) {
  const std::int64_t rounds = rounds_for(microseconds);
  const auto elements = static_cast<std::int64_t>(options.measure_seconds * 2e6 / microseconds);
  map_elements_a_second(elements / 4, rounds);
  std::vector<double> ours;
  std::vector<double> loops;
  for (int i = 0; i < 5; ++i) {
    loops.push_back(loops_elements_a_second(elements, rounds));
    ours.push_back(map_elements_a_second(elements, rounds));
  }
  return {median(ours), median(loops)};
}

/// Returns the calls a second of a parallel map while its consumer is away and the queue behind it
/// fills up, and those of two independent loops.
Measurement map_behind_nobody(const RunOptions& options) {
  const std::int64_t rounds = rounds_for(100);
  const auto elements = static_cast<std::int64_t>(options.measure_seconds * 2e4);
  std::vector<double> ours;
  std::vector<double> loops;
  for (int i = 0; i < 5; ++i) {
    loops.push_back(loops_elements_a_second(elements, rounds));
    std::atomic<std::int64_t> calls{0};
    const auto dataset = range(100 * elements) |
                         map(
                             [&calls, rounds](std::int64_t x) {
                               ++calls;
                               return compute(x, rounds);
                             },
                             {.parallelism = 4}) |
                         prefetch(static_cast<int>(100 * elements));
    auto iterator = dataset.iterate();
    iterator.next();
    const std::int64_t before = calls;
    const auto start = Clock::now();
    std::this_thread::sleep_for(std::chrono::duration<double>(options.measure_seconds));
    ours.push_back(static_cast<double>(calls - before) / seconds_since(start));
  }
  return {median(ours), median(loops)};
}

/// Returns the calls a second of a parallel map and of a TBB loop of the program's own beside it, in
/// sum, and those of two independent loops.
Measurement map_beside_tbb(const RunOptions& options) {
  const std::int64_t rounds = rounds_for(100);
  const auto elements = static_cast<std::int64_t>(options.measure_seconds * 2e4);
  std::vector<double> ours;
  std::vector<double> loops;
  for (int i = 0; i < 5; ++i) {
    loops.push_back(loops_elements_a_second(elements, rounds));
    const auto start = Clock::now();
    std::thread host([&] {
      tbb::parallel_for(std::int64_t{0}, elements,
                        [&](std::int64_t x) { use(compute(x, rounds)); });
    });
    map_elements_a_second(elements, rounds);
    host.join();
    ours.push_back(2 * static_cast<double>(elements) / seconds_since(start));
  }
  return {median(ours), median(loops)};
}

/// Returns the mean number of calls in flight while there was enough to do, and the limit.
Measurement sleeping_map(const RunOptions&) {
  constexpr int kLimit = 16;
  constexpr std::int64_t kElements = 60 * kLimit;
  std::atomic<std::int64_t> asleep_ns{0};
  const auto dataset =
      range(kElements) | map(
                             [&asleep_ns](std::int64_t i) {
                               const auto start = Clock::now();
                               std::this_thread::sleep_for(std::chrono::milliseconds(5));
                               asleep_ns += (Clock::now() - start).count();
                               return i;
                             },
                             {.parallelism = kLimit});
  drain(dataset);  // the stage learns that its function blocks
  asleep_ns = 0;
  const auto start = Clock::now();
  drain(dataset);
  return {static_cast<double>(asleep_ns.load()) * 1e-9 / seconds_since(start), double{kLimit}};
}

// ---- resume ----

Measurement resume_ms(const RunOptions& options) {
  constexpr std::int64_t kPosition = 1'000'000;
  const auto dataset = range(100'000'000) | shuffle({.buffer = 10'000, .seed = 42});
  auto before = dataset.iterate({.epoch = 0});
  while (before.position() < kPosition) {
    const std::size_t ready = before.peek().size();
    before.take(std::min<std::size_t>(ready, kPosition - before.position()));
  }
  const Checkpoint checkpoint = before.checkpoint();
  const auto expected = before.next();
  std::vector<double> times_ms;
  for (int i = 0; i < 5; ++i) {
    const auto start = Clock::now();
    auto resumed = dataset.iterate({.resume = checkpoint});
    const auto element = resumed.next();
    times_ms.push_back(seconds_since(start) * 1e3);
    if (element != expected) throw std::runtime_error("the resumed stream is not the same");
  }
  return {median(times_ms), million_draws_ms(options)};
}

}  // namespace

std::vector<Row> thread_rows() {
  return {
      {"hold-back of an element every 20 ms, median", hold_back_median},
      {"hold-back of an element every 20 ms, longest", hold_back_max},
      {"parallel map, 10 us function",
       [](const RunOptions& options) { return parallel_map(options, 10); }},
      {"parallel map, 1 ms function",
       [](const RunOptions& options) { return parallel_map(options, 1000); }},
      {"parallel map, consumer away", map_behind_nobody},
      {"parallel map, two TBB users in one process", map_beside_tbb},
      {"parallel map, function that sleeps 5 ms", sleeping_map},
      {"resume at element 1,000,000 of shuffle(10000)", resume_ms},
  };
}

}  // namespace infeed::compare
