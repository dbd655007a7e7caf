#include "train/train_twice.h"

#include <algorithm>
#include <fmt/format.h>
#include <utility>

#include <infeed/error.h>

#include "train/train_networks.h"

namespace infeed::tools {
namespace {

TrainedTwice::Seconds seconds_of(const std::vector<EpochResult>& epochs) {
  TrainedTwice::Seconds seconds{.slice = epochs.back().slice_seconds};
  for (const EpochResult& epoch : epochs) seconds.host += epoch.seconds;
  return seconds;
}

}  // namespace

TrainedTwice train_twice(const Slice& slice, LearnOptions options) {
  options.epochs_of_rate = options.epochs;
  options.epochs = std::min(kEpochsTwice, options.epochs);
  const LearnResult with = learn(slice, options);
  options.tricks = {};
  options.feed = InfeedFeed::on_demand;
  const LearnResult without = learn(slice, options);
  return {.model = options.model,
          .epochs = options.epochs,
          .test_accuracy = without.epochs.back().test_accuracy,
          .without = seconds_of(without.epochs),
          .with = seconds_of(with.epochs),
          .same_losses = without.losses == with.losses,
          .same_order = without.fit.order_hash == with.fit.order_hash,
          .same_weights = without.weights_crc32c == with.weights_crc32c};
}

void print_trained_twice(const std::vector<TrainedTwice>& pairs, const Slice& slice,
                         Terminal& terminal) {
  if (pairs.empty()) return;
  terminal.line();
  terminal.line(
      "  The first epochs without any trick of feeding, on demand, and with all of them:");
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

void check_trained_twice(const std::vector<TrainedTwice>& pairs) {
  for (const TrainedTwice& pair : pairs) {
    if (pair.same()) continue;
    std::string differing;
    for (const auto& [is_same, name] : {std::pair{pair.same_losses, "losses"},
                                        {pair.same_order, "order"},
                                        {pair.same_weights, "weights"}}) {
      if (!is_same) differing += fmt::format("{}{}", differing.empty() ? "" : ", ", name);
    }
    throw Error(
        ErrorCode::failed_precondition,
        fmt::format("{} learns something else from {} shards with the tricks of feeding than "
                    "without: {}; expected the same, bit for bit. Report it as a fault of "
                    "infeed, with what was printed",
                    pair.model, to_string(pair.compression), differing));
  }
}

}  // namespace infeed::tools
