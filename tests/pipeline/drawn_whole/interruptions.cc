#include <atomic>
#include <chrono>
#include <fmt/format.h>
#include <stop_token>
#include <thread>

#include "pipeline/drawn_whole/checks.h"

/// Iterations that something ends at any moment, while other threads look on.
namespace infeed::test {
namespace {

/// Spins, since a sleep may take a thousand times as long.
void be_busy_for(std::chrono::microseconds time, const std::atomic<bool>& is_over) {
  const auto end = std::chrono::steady_clock::now() + time;
  while (!is_over && std::chrono::steady_clock::now() < end) std::this_thread::yield();
}

/// Calls everything that any thread may call, again and again.
void look_on(Run& run, const std::atomic<bool>& is_over, bool freezes) {
  std::size_t letters = 0;
  for (int round = 0; !is_over; ++round) {
    letters += run.statistics().table().size();
    letters += run.tuning().text().size();
    letters += run.memory().in_use_bytes() + run.memory().peak_bytes();
    if (freezes && round == 3) run.freeze_tuning();
    be_busy_for(std::chrono::microseconds(100), is_over);
  }
  // The optimiser must not leave out any of it.
  std::atomic_signal_fence(std::memory_order_seq_cst);
  static_cast<void>(letters);
}

void change_limits(Run& run, Words words, const std::atomic<bool>& is_over) {
  while (!is_over) {
    be_busy_for(std::chrono::microseconds(words.below(500)), is_over);
    try {
      run.set_memory_limit(words.chance(0.3) ? 0 : std::uint64_t{4096} << words.below(15));
    } catch (const Error& error) {
      if (error.code() != ErrorCode::resource_exhausted) throw;
    }
  }
}

enum class Interruption { cancel, stop, watchdog, limits, destruction, none };
constexpr std::uint64_t kInterruptions = 6;

constexpr const char* kNames[] = {"cancel()",           "a stop token", "a watchdog",
                                  "set_memory_limit()", "destruction",  "nothing"};

ErrorCode code_of(Interruption interruption) {
  if (interruption == Interruption::watchdog) return ErrorCode::deadline_exceeded;
  if (interruption == Interruption::limits) return ErrorCode::resource_exhausted;
  return ErrorCode::cancelled;
}

}  // namespace

void Checks::check_interruption() {
  const auto interruption = static_cast<Interruption>(words_.below(kInterruptions));
  const std::chrono::microseconds moment(words_.rather_small(20'000));
  Settings drawn = settings();
  std::stop_source source;
  if (interruption == Interruption::stop) drawn.options.stop = source.get_token();
  if (interruption == Interruption::watchdog) {
    drawn.options.watchdog = std::chrono::milliseconds(words_.between(1, 5));
  }
  begin(fmt::format("ended by {} after {} us", kNames[static_cast<int>(interruption)],
                    moment.count()),
        drawn);
  const AnyDataset dataset = any_dataset();
  std::unique_ptr<Run> run;
  try {
    run = drawn_.start(dataset, drawn);
  } catch (const Error& error) {
    // Rejected before the start, unlike the dataset's first run.
    return find(fmt::format("iterate() threw {}", error.what()));
  }
  std::atomic<bool> is_over = false;
  std::vector<std::jthread> others;
  const auto stop_others = [&] {
    is_over = true;
    others.clear();
  };
  if (words_.chance(0.5)) {
    others.emplace_back([&, freezes = words_.chance(0.2)] { look_on(*run, is_over, freezes); });
  }
  if (interruption == Interruption::limits) {
    others.emplace_back([&, words = Words(words_(), 0)] { change_limits(*run, words, is_over); });
  }
  if (interruption == Interruption::cancel || interruption == Interruption::stop) {
    others.emplace_back([&] {
      be_busy_for(moment, is_over);
      interruption == Interruption::cancel ? run->cancel() : void(source.request_stop());
    });
  }
  if (interruption == Interruption::destruction) {
    const HangWatch::Shown shown(watch_, *run);
    take(*run, any_place(), drawn.manner);
    stop_others();
    return;
  }
  run_until_stopped(*run, drawn.manner, code_of(interruption));
  stop_others();
}

}  // namespace infeed::test
