#include "train/train_twice.h"

#include <algorithm>
#include <fmt/format.h>

#include "train/train_networks.h"

namespace infeed::tools {
namespace {

TrainedTwice::Seconds seconds_of(const std::vector<EpochResult>& epochs, int count) {
  TrainedTwice::Seconds seconds;
  for (int i = 0; i < count; ++i) seconds.host += epochs[static_cast<std::size_t>(i)].seconds;
  seconds.slice = epochs[static_cast<std::size_t>(count - 1)].slice_seconds;
  return seconds;
}

}  // namespace

TrainedTwice train_without_tricks(const Slice& slice, LearnOptions options,
                                  const LearnResult& learned) {
  TrainedTwice twice{.model = options.model};
  twice.epochs = std::min(kEpochsTwice, static_cast<int>(learned.epochs.size()));
  if (options.epochs_of_rate == 0) options.epochs_of_rate = options.epochs;
  options.epochs = twice.epochs;
  options.tricks = {};
  options.feed = InfeedFeed::on_demand;
  options.checkpoint_folder.clear();
  options.log_folder.clear();
  options.on_epoch = {};
  const LearnResult naive = learn(slice, options);
  const EpochResult& last = naive.epochs.back();
  const EpochResult& last_with = learned.epochs[naive.epochs.size() - 1];
  twice.test_accuracy = last.test_accuracy;
  twice.without = seconds_of(naive.epochs, twice.epochs);
  twice.with = seconds_of(learned.epochs, twice.epochs);
  twice.same_losses = std::equal(naive.losses.begin(), naive.losses.end(), learned.losses.begin());
  twice.same_order = last.order_hash == last_with.order_hash;
  twice.same_weights = last.weights_crc32c == last_with.weights_crc32c;
  return twice;
}

void print_trained_twice(const std::vector<TrainedTwice>& pairs, const Slice& slice,
                         Terminal& terminal) {
  if (pairs.empty()) return;
  terminal.line();
  terminal.line(fmt::format(
      "  The first epochs without any trick of feeding, on demand, and with all of them:"));
  terminal.line(terminal.paint(
      Paint::dim, fmt::format("  {:12} {:6} {:>6} {:>7} {:>8} {:>8} {:>6} {:>9} {:>8} {:>6}",
                              "network", "shards", "epochs", "test", "here s", "tricks", "gain",
                              slice.name() + " s", "tricks", "gain")));
  std::vector<double> gains_host;
  std::vector<double> gains_slice;
  bool are_same = true;
  for (const TrainedTwice& pair : pairs) {
    gains_host.push_back(pair.without.host / pair.with.host);
    gains_slice.push_back(pair.without.slice / pair.with.slice);
    are_same = are_same && pair.same();
    terminal.line(fmt::format(
        "  {:12} {:6} {:>6} {:>6.2f}% {:>8.2f} {:>8.2f} {:>5.2f}x {:>9.3f} {:>8.3f} {:>5.2f}x",
        pair.model, to_string(pair.compression), pair.epochs, 100 * pair.test_accuracy,
        pair.without.host, pair.with.host, gains_host.back(), pair.without.slice, pair.with.slice,
        gains_slice.back()));
  }
  if (pairs.size() > 1) {
    terminal.line(fmt::format("  {:52} {:>5.2f}x {:>24.2f}x", "geometric mean",
                              geometric_mean(gains_host), geometric_mean(gains_slice)));
  }
  terminal.line(are_same ? "  What is learnt is the same, bit for bit: losses, order, weights."
                         : terminal.paint(Paint::bad, "  WHAT IS LEARNT DIFFERS."));
}

}  // namespace infeed::tools
