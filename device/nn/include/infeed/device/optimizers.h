#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include <infeed/device/schedule.h>
#include <infeed/device/step_options.h>
#include <infeed/device/tape.h>

/// Why: an optimiser applies gradients to variables. Its whole state is named variables in its own
/// scope, so that a checkpoint of the scope's variables holds it.
///
///     infeed::Scope scope;
///     infeed::nn::Dense layer(scope.below("dense"), 784, 10);
///     infeed::nn::Adam adam(scope.below("adam"), scope.variables(),
///                           {.rate = infeed::nn::constant_rate(1e-3)});
///     infeed::Tape tape({.training = true});
///     infeed::TapeValue x = tape.constant(infeed::Tensor(infeed::DType::float32, {32, 784}));
///     infeed::Gradients gradients =
///         tape.gradients(infeed::nn::sum(tape, layer.apply(tape, x)));
///     infeed::nn::clip_by_global_norm(gradients, 1.0);
///     adam.apply(gradients);
///
/// Each copy of a mirrored variable is changed by the same arithmetic: equal copies stay equal. The
/// update goes element by element in float32; its result depends on no thread.
/// Thread-safety: apply() while nobody reads the variables.
/// Errors: invalid_argument: an option out of range; a gradient of a variable that the optimiser
/// wasn't made for.
namespace infeed::nn {

/// Returns root for adam and adamw, whose step is about as long as the rate whatever the gradient;
/// linear for the others.
BatchRule batch_rule(StepOptimizer optimizer);

class Optimizer {
 public:
  virtual ~Optimizer() = default;
  Optimizer(const Optimizer&) = delete;
  Optimizer& operator=(const Optimizer&) = delete;

  /// Takes one step, at the schedule's rate times `rate_factor`. Variables without a gradient stay.
  void apply(const Gradients& gradients, double rate_factor = 1);
  /// Steps that were applied; with the variables of a checkpoint restored, that checkpoint's.
  std::uint64_t steps() const;
  /// Returns the rate of the next step.
  double rate() const { return rate_(steps()); }
  /// Tells the time model the cost of the update. The default goes by the number of slots a
  /// variable has; lars overrides it.
  virtual StepOptimizer step_optimizer() const;
  /// "step", then "SLOT/VARIABLE" for each slot and trainable variable.
  std::vector<Variable> state() const;

 protected:
  /// `scope` is where the state's variables are made: usually scope.below("optimizer").
  Optimizer(Scope scope, const std::vector<Variable>& variables, Schedule rate,
            const std::vector<std::string_view>& slots);

  struct Step {
    double rate = 0;
    std::uint64_t number = 0;  ///< 1, 2, ...
    bool decays = false;       ///< true for kernels (two axes or more): no bias, no gain of a norm
  };
  virtual void update(const Step& step, std::span<float> values, std::span<const float> gradient,
                      std::span<const std::span<float>> slots) = 0;

 private:
  struct Slots {
    Variable variable;
    std::vector<Variable> slots;
  };

  Schedule rate_;
  Variable step_;
  std::vector<Slots> slots_;
};

struct SgdOptions {
  Schedule rate = constant_rate(0.01);
  double momentum = 0;
  bool nesterov = false;
  double weight_decay = 0;  ///< added to the gradient, for kernels only
};

/// v = momentum * v - rate * g; w += v, or with Nesterov w += momentum * v - rate * g.
class Sgd : public Optimizer {
 public:
  Sgd(Scope scope, const std::vector<Variable>& variables, SgdOptions options = {});

 private:
  void update(const Step& step, std::span<float> values, std::span<const float> gradient,
              std::span<const std::span<float>> slots) override;
  SgdOptions options_;
};

struct AdamOptions {
  Schedule rate = constant_rate(1e-3);
  double beta_1 = 0.9;
  double beta_2 = 0.999;
  double epsilon = 1e-7;
  /// AdamW (Loshchilov and Hutter, 2019): kernels also lose rate * weight_decay * w.
  double weight_decay = 0;
};

/// Computes as Keras does: m += (g - m)(1 - beta_1), v += (g g - v)(1 - beta_2), w -= m alpha /
/// (sqrt(v) + epsilon), alpha = rate sqrt(1 - beta_2^t) / (1 - beta_1^t).
class Adam : public Optimizer {
 public:
  Adam(Scope scope, const std::vector<Variable>& variables, AdamOptions options = {});

 private:
  void update(const Step& step, std::span<float> values, std::span<const float> gradient,
              std::span<const std::span<float>> slots) override;
  AdamOptions options_;
};

struct LarsOptions {
  Schedule rate = constant_rate(1);
  double momentum = 0.9;
  double weight_decay = 1e-4;
  double trust = 0.001;
};

/// You et al. (2017): a kernel's rate is multiplied by trust |w| / (|g| + weight_decay |w|); biases
/// and gains take the plain rate, without decay.
class Lars : public Optimizer {
 public:
  Lars(Scope scope, const std::vector<Variable>& variables, LarsOptions options = {});
  StepOptimizer step_optimizer() const override { return StepOptimizer::lars; }

 private:
  void update(const Step& step, std::span<float> values, std::span<const float> gradient,
              std::span<const std::span<float>> slots) override;
  LarsOptions options_;
};

bool all_finite(const Gradients& gradients);
/// Scales all gradients so that the root of their sum of squares is at most `limit`. Returns that
/// root from before. Gradients whose norm isn't finite stay as they are.
double clip_by_global_norm(Gradients& gradients, double limit);
/// Limits each item to -limit ... limit.
void clip_by_value(Gradients& gradients, double limit);

struct LossScaleOptions {
  double first = 32768;
  std::uint64_t steps_to_double = 2000;  ///< finite steps in a row after which the scale doubles
};

/// Dynamic loss scaling, for mixed_float16: the loss is multiplied, so that gradients below 2^-24
/// don't vanish.
///
///     void take_step(infeed::Tape& tape, const infeed::TapeValue& loss,
///                    infeed::nn::LossScale& loss_scale, infeed::nn::Optimizer& optimizer) {
///       infeed::Gradients gradients = tape.gradients(loss, loss_scale.scale());
///       loss_scale.unscale(gradients);  // of each replica; then they are added up
///       if (loss_scale.update(infeed::nn::all_finite(gradients))) optimizer.apply(gradients);
///     }
///
/// Its variables are "scale" and "finite_steps".
class LossScale {
 public:
  explicit LossScale(Scope scope, LossScaleOptions options = {});

  float scale() const;
  void unscale(Gradients& gradients) const;
  /// Returns whether the step is to be taken, which is `finite`. Finite: the scale doubles after
  /// `steps_to_double`. Not finite: it halves, down to 1.
  bool update(bool finite);

 private:
  LossScaleOptions options_;
  Variable scale_;
  Variable finite_steps_;
};

}  // namespace infeed::nn
