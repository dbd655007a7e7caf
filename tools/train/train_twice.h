#pragma once

#include <string>
#include <vector>

#include <infeed/records/compression.h>

#include "cli/terminal.h"
#include "train/train_learning.h"

/// Why: what tricks of feeding bring is the time to an accuracy; what they must leave as it is, to the
/// bit, is what is learnt. So the first epochs of a training are run with them and without any.
namespace infeed::tools {

/// Enough to see a rate; the naive pipeline takes several times as long.
inline constexpr int kEpochsTwice = 3;

struct TrainedTwice {
  std::string model;
  Compression compression = Compression::gzip;  ///< of the shards
  int epochs = 0;                               ///< that both ran
  double test_accuracy = 0;                     ///< after these
  struct Seconds {
    double host = 0;   ///< by this machine's clock, with the test after each epoch
    double slice = 0;  ///< by the slice's, without compiling
  };
  Seconds without = {};
  Seconds with = {};
  bool same_losses = false;   ///< of each step, bit for bit
  bool same_order = false;    ///< hashes of all batches
  bool same_weights = false;  ///< checksums of all variables
  bool same() const { return same_losses && same_order && same_weights; }
};

/// Trains for the first epochs of `options`, which name no files: on demand without a trick, then with all.
TrainedTwice train_twice(const Slice& slice, LearnOptions options);

/// A row each, and the geometric mean of what the tricks bring on either clock.
void print_trained_twice(const std::vector<TrainedTwice>& pairs, const Slice& slice,
                         Terminal& terminal);

}  // namespace infeed::tools
