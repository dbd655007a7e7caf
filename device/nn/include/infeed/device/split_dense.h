#pragma once

#include <cstdint>
#include <vector>

#include <infeed/device/layers.h>

/// Why: a layer whose kernel doesn't fit one device, or takes one device too long, is split over
/// the devices of a replica (model parallelism, as Shoeybi et al. split a transformer,
/// arXiv:1909.08053).
///
///     infeed::Scope scope({.seed = 42});
///     infeed::nn::Sequential model;
///     model.add(infeed::nn::Flatten())
///         .add(infeed::nn::SplitDense(scope.below("hidden"), 784, 128,
///                                     {.split = infeed::nn::Split::columns, .parts = 2,
///                                      .activation = infeed::nn::Activation::relu}))
///         .add(infeed::nn::SplitDense(scope.below("logits"), 128, 10,
///                                     {.split = infeed::nn::Split::rows, .parts = 2}));
///
/// The same seed gives the same initial values as Dense, cut into parts. The output is Dense's
/// within rounding: by columns bit for bit, by rows in another order of addition.
/// StrategyOptions::devices_of_replica is the number of devices of a replica;
/// StepOptions::devices_of_replica shows the effect on a step's time.
///
/// Thread-safety: as Layer. Errors: invalid_argument for sizes that the parts don't divide;
/// failed_precondition when the replica has another number of devices.
namespace infeed::nn {

enum class Split : std::uint8_t {
  columns,  ///< each device makes its part of the outputs; the parts are gathered
  rows,     ///< each device takes its part of the inputs; their outputs are added up by a tree
};

struct SplitDenseOptions {
  Split split = Split::columns;
  std::int64_t parts = 2;
  Activation activation = Activation::none;
  Initializer initializer = Initializer::glorot_uniform;
};

/// Maps [..., in] to [..., out]. Variables: "part0/kernel", "part1/kernel", ...; by columns
/// "part0/bias", ...; by rows "bias", which the first device adds.
class SplitDense : public Layer {
 public:
  SplitDense(Scope scope, std::int64_t in, std::int64_t out, SplitDenseOptions options = {});
  TapeValue apply(Tape& tape, const TapeValue& x) const override;

 private:
  TapeValue by_columns(Tape& tape, const TapeValue& x) const;
  TapeValue by_rows(Tape& tape, const TapeValue& x) const;

  SplitDenseOptions options_;
  std::vector<Variable> kernels_;
  std::vector<Variable> biases_;
};

}  // namespace infeed::nn
