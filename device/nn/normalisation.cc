#include <cmath>
#include <vector>

#include <infeed/device/operations.h>

#include "operation_parts.h"

namespace infeed::nn {
namespace {

void require_features(std::string_view operation, const TapeValue& x, const TapeValue& gain,
                      const TapeValue& offset) {
  require_fit(x.shape().rank() >= 2 && gain.shape() == Shape{x.shape()[x.shape().rank() - 1]} &&
                  offset.shape() == gain.shape(),
              operation, x.shape(), gain.shape());
}

/// Returns for each column the sum of term(item, column) over the rows, in double, in the rows'
/// order.
template <class Term>
std::vector<float> sums_of_columns(std::int64_t rows, std::int64_t columns, Term term) {
  std::vector<double> sums(static_cast<std::size_t>(columns));
  for (std::int64_t row = 0; row < rows; ++row) {
    for (std::int64_t c = 0; c < columns; ++c) {
      sums[static_cast<std::size_t>(c)] += static_cast<double>(term(row * columns + c, c));
    }
  }
  return {sums.begin(), sums.end()};
}

void sum_over_replicas(const Tape& tape, bool synchronised, std::vector<float>& values) {
  if (synchronised && tape.options().collective) {
    tape.options().collective->sum(tape.options().replica, values);
  }
}

Tensor tensor_of(const Tape& tape, const std::vector<float>& values) {
  Tensor tensor = tape.make({static_cast<std::int64_t>(values.size())});
  std::ranges::copy(values, tensor.writable<float>().begin());
  return tensor;
}

struct Moments {
  std::vector<float> mean;
  std::vector<float> variance;
  float rows = 0;  ///< those of all replicas, if synchronised
};

Moments moments_of(const Tape& tape, const TapeValue& x, bool synchronised) {
  const std::int64_t columns = x.shape()[x.shape().rank() - 1];
  const std::int64_t rows = rows_in(x.shape());
  const float* const values = values_of(x);
  Moments moments;
  moments.mean =
      sums_of_columns(rows, columns, [values](std::int64_t i, std::int64_t) { return values[i]; });
  moments.mean.push_back(static_cast<float>(rows));
  sum_over_replicas(tape, synchronised, moments.mean);
  moments.rows = moments.mean.back();
  moments.mean.pop_back();
  const float divisor = std::max(1.0F, moments.rows);
  for (float& mean : moments.mean) mean /= divisor;
  // A second pass, since squares of values that lie far from zero would cancel.
  const float* const mean = moments.mean.data();
  moments.variance = sums_of_columns(rows, columns, [values, mean](std::int64_t i, std::int64_t c) {
    return (values[i] - mean[c]) * (values[i] - mean[c]);
  });
  sum_over_replicas(tape, synchronised, moments.variance);
  for (float& variance : moments.variance) variance /= divisor;
  return moments;
}

void update_running(Tape& tape, const Variable& running, const std::vector<float>& now,
                    float momentum) {
  const auto moved = [momentum](float old, float next) {
    return old * momentum + next * (1 - momentum);
  };
  tape.update(running, mapped(tape, running.shape(), moved, tape.read(running).values(), now));
}

}  // namespace

TapeValue batch_norm(Tape& tape, const TapeValue& x, const TapeValue& gain, const TapeValue& offset,
                     const BatchStatistics& statistics) {
  require_features("batch_norm", x, gain, offset);
  const std::int64_t columns = gain.shape().items();
  const std::int64_t items = x.shape().items();
  const bool training = tape.options().training;
  Moments moments;
  if (training) {
    moments = moments_of(tape, x, statistics.synchronised);
    if (moments.rows > 0) {
      update_running(tape, statistics.mean, moments.mean, statistics.momentum);
      update_running(tape, statistics.variance, moments.variance, statistics.momentum);
    }
  } else {
    const TapeValue mean = tape.read(statistics.mean);
    const TapeValue variance = tape.read(statistics.variance);
    moments.mean.assign(mean.values().begin(), mean.values().end());
    moments.variance.assign(variance.values().begin(), variance.values().end());
  }
  std::vector<float> inverse(moments.variance.size());
  for (std::size_t c = 0; c < inverse.size(); ++c) {
    inverse[c] = 1 / std::sqrt(moments.variance[c] + statistics.epsilon);
  }
  Tensor y = tape.make(x.shape());
  Tensor normal = tape.make(x.shape());
  float* const out = values_of(y);
  float* const z = values_of(normal);
  const float* const in = values_of(x);
  for (std::int64_t first = 0; first < items; first += columns) {
    for (std::int64_t c = 0; c < columns; ++c) {
      const auto at = static_cast<std::size_t>(c);
      z[first + c] = (in[first + c] - moments.mean[at]) * inverse[at];
      out[first + c] = z[first + c] * values_of(gain)[c] + values_of(offset)[c];
    }
  }
  return tape.record(
      "batch_norm", std::move(y), {x, gain, offset},
      [=, &tape, synchronised = statistics.synchronised,
       total = moments.rows](const Tensor& gradient) {
        const float* const dy = gradient.values<float>().data();
        const float* const zs = normal.values<float>().data();
        const std::int64_t rows = columns == 0 ? 0 : items / columns;
        std::vector<float> sums =
            sums_of_columns(rows, columns, [dy](std::int64_t i, std::int64_t) { return dy[i]; });
        const std::vector<float> along = sums_of_columns(
            rows, columns, [dy, zs](std::int64_t i, std::int64_t) { return dy[i] * zs[i]; });
        // This replica's part; the sum of the replicas' gradients adds the others'.
        std::vector<Tensor> gradients = {tape.make(gradient.shape()), tensor_of(tape, along),
                                         tensor_of(tape, sums)};
        sums.insert(sums.end(), along.begin(), along.end());
        sum_over_replicas(tape, synchronised, sums);
        const float divisor = std::max(1.0F, total);
        for (float& value : sums) value /= divisor;
        const float* const mean_of_dy = sums.data();
        const float* const mean_along = sums.data() + columns;
        float* const dx = values_of(gradients[0]);
        for (std::int64_t first = 0; first < items; first += columns) {
          for (std::int64_t c = 0; c < columns; ++c) {
            const float slope = values_of(gain)[c] * inverse[static_cast<std::size_t>(c)];
            dx[first + c] = slope * (dy[first + c] - mean_of_dy[c] - zs[first + c] * mean_along[c]);
          }
        }
        return gradients;
      });
}

TapeValue layer_norm(Tape& tape, const TapeValue& x, const TapeValue& gain, const TapeValue& offset,
                     float epsilon) {
  require_features("layer_norm", x, gain, offset);
  const std::int64_t columns = gain.shape().items();
  const std::int64_t rows = rows_in(x.shape());
  const auto divisor = static_cast<float>(columns);
  Tensor y = tape.make(x.shape());
  Tensor normal = tape.make(x.shape());
  std::vector<float> inverse(static_cast<std::size_t>(rows));
  for (std::int64_t row = 0; row < rows; ++row) {
    const float* const in = values_of(x) + row * columns;
    float* const out = values_of(y) + row * columns;
    float* const z = values_of(normal) + row * columns;
    const float mean = sum_of(in, columns) / divisor;
    for (std::int64_t c = 0; c < columns; ++c) z[c] = in[c] - mean;
    const float factor = 1 / std::sqrt(dot_of(z, z, columns) / divisor + epsilon);
    inverse[static_cast<std::size_t>(row)] = factor;
    for (std::int64_t c = 0; c < columns; ++c) {
      z[c] *= factor;
      out[c] = z[c] * values_of(gain)[c] + values_of(offset)[c];
    }
  }
  return tape.record(
      "layer_norm", std::move(y), {x, gain, offset}, [=, &tape](const Tensor& gradient) {
        const float* const dy = gradient.values<float>().data();
        const float* const zs = normal.values<float>().data();
        const Tensor products = product_of(tape, gradient, normal);
        Tensor dx = tape.make(gradient.shape());
        std::vector<float> scaled(static_cast<std::size_t>(columns));
        for (std::int64_t row = 0; row < rows; ++row) {
          const std::int64_t first = row * columns;
          for (std::int64_t c = 0; c < columns; ++c) {
            scaled[static_cast<std::size_t>(c)] = dy[first + c] * values_of(gain)[c];
          }
          const float mean = sum_of(scaled.data(), columns) / divisor;
          const float along = dot_of(scaled.data(), zs + first, columns) / divisor;
          const float factor = inverse[static_cast<std::size_t>(row)];
          for (std::int64_t c = 0; c < columns; ++c) {
            values_of(dx)[first + c] =
                factor * (scaled[static_cast<std::size_t>(c)] - mean - zs[first + c] * along);
          }
        }
        return std::vector<Tensor>{std::move(dx), column_sums(tape, products, gain.shape()),
                                   column_sums(tape, gradient, gain.shape())};
      });
}

}  // namespace infeed::nn
