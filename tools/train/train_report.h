#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <infeed/device/cost_model.h>

#include "cli/terminal.h"
#include "train/train_ablation.h"
#include "train/train_learning.h"

/// Why: `infeed train` prints tables that a person reads at a glance. They are pure text from
/// results; nothing is measured here.
namespace infeed::tools {

/// The table of the comparison, printed row by row as the runs end. The bar is the share of the
/// device's greatest rate: full means that it never waited. Wait, transfer, idle and busy are
/// shares of the time, which add up to 100.0.
class AblationTable {
 public:
  /// `step`: the device's time for a batch of `batch` examples.
  AblationTable(Terminal& terminal, StepTime step, std::int64_t batch);

  void header();
  /// Prints a row. Later runs are compared with the first one.
  void row(const MeasuredRun& run);

 private:
  Terminal& terminal_;
  double examples_per_s_max_;
  double baseline_ = 0;
  int bar_width_;
};

/// Returns "4.1 times as many images a second; HIGHLY -> NOT input-bound".
std::string compare(const Terminal& terminal, const MeasuredRun& naive, const MeasuredRun& tuned);

/// Prints the gain of each trick alone and last, a row each.
void print_trick_gains(const std::vector<TrickGain>& gains, Terminal& terminal);

/// Prints a training's account on this host and on the slice.
void print_account(const FitResult& fit, Terminal& terminal);

/// Prints each note of autotune once, with how often it was given.
void print_notes(const std::vector<std::string>& notes, Terminal& terminal);

/// The learning curve, an epoch a line.
class LearningTable {
 public:
  explicit LearningTable(Terminal& terminal);

  void header();
  void row(const EpochResult& epoch);

 private:
  Terminal& terminal_;
  int bar_width_;
  double loss_max_ = 0;
};

}  // namespace infeed::tools
