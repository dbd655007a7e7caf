#include "infeed/device/losses.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include "nn/kernels/fixed_math.h"
#include "operation_parts.h"
#include "refuse.h"

namespace infeed::nn {
namespace {

/// Multiplies each row of slopes by its row's gradient, divided.
Tensor rows_times(const Tape& tape, const Tensor& slopes, const Tensor& dy, float divisor) {
  Tensor dx = tape.make(slopes.shape());
  const std::span<float> to = dx.writable<float>();
  const std::span<const float> of_rows = dy.values<float>();
  const std::size_t columns = of_rows.empty() ? 1 : to.size() / of_rows.size();
  for (std::size_t i = 0; i < to.size(); ++i) {
    to[i] = slopes.values<float>()[i] * of_rows[i / columns] / divisor;
  }
  return dx;
}

/// Returns each example's mean over its row; gradients go back by the slopes.
TapeValue mean_of_rows(Tape& tape, const char* operation, const TapeValue& x, const Tensor& items,
                       Tensor slopes) {
  const std::int64_t rows = x.shape()[0];
  const std::int64_t columns = rows == 0 ? 1 : x.shape().items() / rows;
  const auto divisor = static_cast<float>(columns);
  Tensor losses = tape.make({rows});
  const float* const from = items.values<float>().data();
  for (std::int64_t row = 0; row < rows; ++row) {
    values_of(losses)[row] = sum_of(from + row * columns, columns) / divisor;
  }
  return tape.record(operation, std::move(losses), {x},
                     [&tape, slopes = std::move(slopes), divisor](const Tensor& dy) {
                       return std::vector<Tensor>{rows_times(tape, slopes, dy, divisor)};
                     });
}

void require_same(const TapeValue& x, const TapeValue& targets, std::string_view loss) {
  if (x.shape() == targets.shape() && x.shape().rank() > 0) return;
  detail::refuse("{} of {} against targets {}; expected the same shape, with an axis of examples",
                 loss, x.shape().to_string(), targets.shape().to_string());
}

}  // namespace

TapeValue average_loss(Tape& tape, const TapeValue& losses, std::int64_t global_batch) {
  if (global_batch < 1) detail::refuse("a global batch of {} examples", global_batch);
  Tensor y = tape.make({});
  const auto divisor = static_cast<float>(global_batch);
  values_of(y)[0] = sum_of(values_of(losses), losses.shape().items()) / divisor;
  return tape.record("average_loss", std::move(y), {losses},
                     [&tape, losses, divisor](const Tensor& dy) {
                       Tensor dx = tape.make(losses.shape());
                       std::ranges::fill(dx.writable<float>(), dy.values<float>()[0] / divisor);
                       return std::vector<Tensor>{std::move(dx)};
                     });
}

TapeValue sum(Tape& tape, const TapeValue& x) { return average_loss(tape, x, 1); }

TapeValue mean_squared_error(Tape& tape, const TapeValue& x, const TapeValue& targets) {
  require_same(x, targets, "mean squared error");
  const Tensor differences =
      mapped(tape, x.shape(), std::minus<float>(), x.values(), targets.values());
  const auto twice = [](float item) { return 2 * item; };
  return mean_of_rows(tape, "mean_squared_error", x, product_of(tape, differences, differences),
                      mapped(tape, x.shape(), twice, differences.values<float>()));
}

TapeValue binary_cross_entropy(Tape& tape, const TapeValue& logits, const TapeValue& targets) {
  require_same(logits, targets, "binary cross entropy");
  Tensor items = tape.make(logits.shape());
  Tensor slopes = tape.make(logits.shape());
  const std::span<const float> targeted = targets.values();
  for (std::size_t i = 0; i < targeted.size(); ++i) {
    const double x = logits.values()[i];
    const double wanted = targeted[i];
    if (!(wanted >= 0 && wanted <= 1)) {
      detail::refuse("target {} at item {}; binary cross entropy takes 0 to 1", wanted, i);
    }
    // max(x, 0) - x * target + log(1 + exp(-|x|)): nothing overflows.
    const double power = detail::fixed_exp(-std::abs(x));
    const double share = 1 / (1 + power);
    items.writable<float>()[i] =
        static_cast<float>(std::max(x, 0.0) - x * wanted + detail::fixed_log(1 + power));
    slopes.writable<float>()[i] = static_cast<float>((x >= 0 ? share : power * share) - wanted);
  }
  return mean_of_rows(tape, "binary_cross_entropy", logits, items, std::move(slopes));
}

TapeValue softmax_cross_entropy(Tape& tape, const TapeValue& logits,
                                std::span<const std::int32_t> labels) {
  if (logits.shape().rank() != 2 || logits.shape()[0] != static_cast<std::int64_t>(labels.size())) {
    detail::refuse("{} labels for logits {}; expected one an example", labels.size(),
                   logits.shape().to_string());
  }
  const std::int64_t classes = logits.shape()[1];
  for (std::size_t i = 0; i < labels.size(); ++i) {
    if (labels[i] >= 0 && labels[i] < classes) continue;
    detail::refuse("label {} of example {} in its batch; the model has classes 0 to {}", labels[i],
                   i, classes - 1);
  }
  Tensor losses = tape.make({logits.shape()[0]});
  Tensor slopes = tape.make(logits.shape());  // softmax - 1 at the label
  std::vector<double> powers(static_cast<std::size_t>(classes));
  for (std::size_t row = 0; row < labels.size(); ++row) {
    const float* const x = values_of(logits) + static_cast<std::int64_t>(row) * classes;
    float* const slope = values_of(slopes) + static_cast<std::int64_t>(row) * classes;
    const double highest = *std::max_element(x, x + classes);
    double total = 0;
    for (std::size_t c = 0; c < powers.size(); ++c) {
      powers[c] = detail::fixed_exp(x[c] - highest);
      total += powers[c];
    }
    for (std::size_t c = 0; c < powers.size(); ++c)
      slope[c] = static_cast<float>(powers[c] / total);
    slope[labels[row]] -= 1;
    values_of(losses)[row] =
        static_cast<float>(detail::fixed_log(total) - (x[labels[row]] - highest));
  }
  return tape.record("softmax_cross_entropy", std::move(losses), {logits},
                     [&tape, slopes](const Tensor& dy) {
                       return std::vector<Tensor>{rows_times(tape, slopes, dy, 1)};
                     });
}

}  // namespace infeed::nn
