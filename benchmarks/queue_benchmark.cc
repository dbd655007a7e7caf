#include <benchmark/benchmark.h>
#include <chrono>
#include <memory>
#include <tbb/concurrent_queue.h>
#include <thread>
#include <vector>

#include <infeed/device/infeed_queue.h>

// Hands a step from the host's feeder to its replicas, which take it together: InfeedQueues, by one
// mutex, beside a bounded oneTBB queue for each replica and beside one of whole steps. Feeder and
// device work for 20 us a step each; the time above that is the hand-over's.

namespace infeed {
namespace {

using Item = std::shared_ptr<int>;
constexpr int kDepth = 2;
constexpr auto kWork = std::chrono::microseconds(20);

void work() {
  const auto end = std::chrono::steady_clock::now() + kWork;
  while (std::chrono::steady_clock::now() < end) {
  }
}

/// Runs push(step) in a separate thread for as many steps as pop() takes.
template <class Push, class Pop>
void hand_over(benchmark::State& state, const Push& push, const Pop& pop) {
  constexpr int kSteps = 2000;
  for (auto _ : state) {
    std::jthread feeder([&] {
      for (int step = 0; step < kSteps; ++step) {
        work();
        push(std::make_shared<int>(step));
      }
    });
    for (int step = 0; step < kSteps; ++step) {
      pop();
      work();
    }
  }
  state.SetItemsProcessed(state.iterations() * kSteps);
}

void one_mutex(benchmark::State& state) {
  const auto replicas = static_cast<std::size_t>(state.range(0));
  InfeedQueues<Item> queues({.replicas = static_cast<std::int32_t>(replicas), .depth = kDepth});
  std::vector<Item> taken;
  hand_over(
      state, [&](const Item& item) { queues.push_step(std::vector<Item>(replicas, item)); },
      [&] { queues.pop_step(taken); });
}

void tbb_queue_a_replica(benchmark::State& state) {
  std::vector<tbb::concurrent_bounded_queue<Item>> queues(static_cast<std::size_t>(state.range(0)));
  for (auto& queue : queues) queue.set_capacity(kDepth);
  std::vector<Item> taken(queues.size());
  hand_over(
      state,
      [&](const Item& item) {
        for (auto& queue : queues) queue.push(item);
      },
      [&] {
        for (std::size_t r = 0; r < queues.size(); ++r) queues[r].pop(taken[r]);
      });
}

void tbb_queue_of_steps(benchmark::State& state) {
  const auto replicas = static_cast<std::size_t>(state.range(0));
  tbb::concurrent_bounded_queue<std::vector<Item>> queue;
  queue.set_capacity(kDepth);
  std::vector<Item> taken;
  hand_over(
      state, [&](const Item& item) { queue.push(std::vector<Item>(replicas, item)); },
      [&] { queue.pop(taken); });
}

BENCHMARK(one_mutex)->Arg(1)->Arg(8)->Arg(32)->UseRealTime();
BENCHMARK(tbb_queue_a_replica)->Arg(1)->Arg(8)->Arg(32)->UseRealTime();
BENCHMARK(tbb_queue_of_steps)->Arg(1)->Arg(8)->Arg(32)->UseRealTime();

}  // namespace
}  // namespace infeed

BENCHMARK_MAIN();
