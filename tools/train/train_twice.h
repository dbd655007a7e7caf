#pragma once

#include <string>
#include <vector>

#include <infeed/records/compression.h>

#include "cli/terminal.h"
#include "train/train_learning.h"

/// Why: feeding tricks shorten the time to an accuracy; they must not change a bit of what is
/// learnt. So the first epochs of a training are run with them and without any.
namespace infeed::tools {

/// Enough to see a rate; the naive pipeline takes several times as long.
inline constexpr int kEpochsTwice = 3;

struct TrainedTwice {
  std::string model;
  Compression compression = Compression::gzip;  ///< compression of the shards
  int epochs = 0;                               ///< epochs of both runs
  double test_accuracy = 0;                     ///< after these epochs
  struct Seconds {
    double host = 0;   ///< by this machine's clock, with the test after each epoch
    double slice = 0;  ///< by the slice's clock, without compiling
  };
  Seconds without = {};
  Seconds with = {};
  bool same_losses = false;   ///< in each step, bit for bit
  bool same_order = false;    ///< hashes of all batches
  bool same_weights = false;  ///< checksums of all variables
  bool same() const { return same_losses && same_order && same_weights; }
};

/// Trains for the first epochs of `options`, which name no files: on demand without a trick, then
/// with all.
TrainedTwice train_twice(const Slice& slice, LearnOptions options);

/// Prints a row each, and the geometric mean of the tricks' gains on either clock.
void print_trained_twice(const std::vector<TrainedTwice>& pairs, const Slice& slice,
                         Terminal& terminal);

/// Throws Error (failed_precondition), which names the first pair that learnt something else.
void check_trained_twice(const std::vector<TrainedTwice>& pairs);

}  // namespace infeed::tools
