#pragma once

#include <cstdint>
#include <span>
#include <vector>

/// Why: Adam (Kingma and Ba, ICLR 2015) exactly as Keras computes it, so that learning curves can
/// be compared:
///
/// ```text
///     m += (g - m) * (1 - beta_1);  v += (g * g - v) * (1 - beta_2)
///     p -= m * alpha / (sqrt(v) + epsilon),  alpha = rate * sqrt(1 - beta_2^t) / (1 - beta_1^t)
/// ```
///
/// All is computed element by element in float32, alpha in double: the result depends on no thread.
namespace infeed {

struct AdamOptions {
  double learning_rate = 0.001;
  double beta_1 = 0.9;
  double beta_2 = 0.999;
  double epsilon = 1e-7;
};

class Adam {
 public:
  /// Error invalid_argument: a rate, beta or epsilon out of range.
  explicit Adam(std::int64_t parameters, AdamOptions options = {});

  /// Starts step t (1, 2, ...); then update() must see every element once, in ranges that may be
  /// spread over threads.
  void begin_step();
  void update(std::span<float> parameters, std::span<const float> gradients, std::int64_t begin,
              std::int64_t end);

  std::int64_t steps() const { return steps_; }
  const AdamOptions& options() const { return options_; }
  std::span<const float> first_moments() const { return m_; }
  std::span<const float> second_moments() const { return v_; }
  /// Continues after step `steps`, with the moments that were saved then.
  void restore(std::int64_t steps, std::vector<float> first_moments,
               std::vector<float> second_moments);

 private:
  AdamOptions options_;
  std::int64_t steps_ = 0;
  double beta_1_power_ = 1;
  double beta_2_power_ = 1;
  float alpha_ = 0;
  std::vector<float> m_;
  std::vector<float> v_;
};

}  // namespace infeed
