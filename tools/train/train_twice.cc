#include "train/train_twice.h"

#include <algorithm>
#include <fmt/format.h>

namespace infeed::tools {
namespace {

/// Enough to see a rate; the naive pipeline takes several times as long.
constexpr int kEpochsMax = 3;

TrainedTwice::Seconds seconds_of(const std::vector<EpochResult>& epochs, int count) {
  TrainedTwice::Seconds seconds;
  for (int i = 0; i < count; ++i) seconds.host += epochs[static_cast<std::size_t>(i)].seconds;
  seconds.slice = epochs[static_cast<std::size_t>(count - 1)].slice_seconds;
  return seconds;
}

}  // namespace

TrainedTwice train_without_tricks(const Slice& slice, LearnOptions options,
                                  const LearnResult& learned) {
  TrainedTwice twice;
  if (learned.resumed_at != 0 || learned.epochs.empty()) return twice;
  twice.epochs = std::min(kEpochsMax, static_cast<int>(learned.epochs.size()));
  options.epochs_of_rate = options.epochs;
  options.epochs = twice.epochs;
  options.tricks = {};
  options.feed = InfeedFeed::on_demand;
  options.checkpoint_folder.clear();
  options.log_folder.clear();
  options.on_epoch = {};
  const LearnResult naive = learn(slice, options);
  twice.test_accuracy = naive.epochs.back().test_accuracy;
  twice.without = seconds_of(naive.epochs, twice.epochs);
  twice.with = seconds_of(learned.epochs, twice.epochs);
  twice.same_losses = std::equal(naive.losses.begin(), naive.losses.end(), learned.losses.begin());
  return twice;
}

void print_trained_twice(const TrainedTwice& twice, const Slice& slice, Terminal& terminal) {
  if (twice.epochs == 0) return;
  terminal.line();
  terminal.line(
      fmt::format("  The first {} epochs again, without any trick of feeding: {}", twice.epochs,
                  twice.same_losses ? "each loss is the same, bit for bit" : "THE LOSSES DIFFER"));
  const auto row = [&](std::string_view name, const TrainedTwice::Seconds& seconds) {
    terminal.line(fmt::format("  {:20} {:8.2f} s here {:8.2f} s on {}   to {:.2f} %", name,
                              seconds.host, seconds.slice, slice.name(),
                              100 * twice.test_accuracy));
  };
  row("without", twice.without);
  row("with all tricks", twice.with);
  terminal.line(fmt::format("  {:20} {:7.2f}x{:14.2f}x", "", twice.without.host / twice.with.host,
                            twice.without.slice / twice.with.slice));
}

}  // namespace infeed::tools
