#pragma once

#include "cli/terminal.h"
#include "train/train_learning.h"

/// Why: what tricks of feeding bring is the time to an accuracy; what they must leave as it is, to the
/// bit, is what is learnt. So the first epochs of the training are run again without any trick.
namespace infeed::tools {

struct TrainedTwice {
  int epochs = 0;            ///< that both ran; 0: nothing was compared
  double test_accuracy = 0;  ///< after these
  struct Seconds {
    double host = 0;   ///< by this machine's clock, with the test after each epoch
    double slice = 0;  ///< by the slice's, without compiling
  };
  Seconds without = {};
  Seconds with = {};
  bool same_losses = false;  ///< of each step, bit for bit
};

/// `options` and `learned`: of the training with all tricks, from its start.
TrainedTwice train_without_tricks(const Slice& slice, LearnOptions options,
                                  const LearnResult& learned);

void print_trained_twice(const TrainedTwice& twice, const Slice& slice, Terminal& terminal);

}  // namespace infeed::tools
