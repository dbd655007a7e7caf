#include "infeed/device/operations.h"

#include <algorithm>
#include <fmt/format.h>

#include <infeed/error.h>

#include "nn/kernels/fixed_math.h"
#include "tape_state.h"

namespace infeed::nn {
namespace {

using detail::values_of;

[[noreturn]] void refuse(std::string message) {
  throw Error(ErrorCode::invalid_argument, std::move(message));
}

/// y[i] = f(x[i]), whose slope is slope(x[i], y[i]).
template <class Slope>
TapeValue elementwise(Tape& tape, const char* operation, const TapeValue& x, Tensor y,
                      Slope slope) {
  return tape.record(operation, y, {x}, [&tape, x, y, slope](const Tensor& dy) {
    Tensor dx = tape.make(x.shape());
    const std::span<float> to = dx.writable<float>();
    const std::span<const float> from = dy.values<float>();
    const std::span<const float> results = y.values<float>();
    for (std::size_t i = 0; i < to.size(); ++i) {
      to[i] = from[i] * slope(x.values()[i], results[i]);
    }
    return std::vector<Tensor>{std::move(dx)};
  });
}

}  // namespace

TapeValue add(Tape& tape, const TapeValue& a, const TapeValue& b) {
  if (!(a.shape() == b.shape())) {
    refuse(fmt::format("{} and {} can't be added: the shapes differ", a.shape().to_string(),
                       b.shape().to_string()));
  }
  Tensor y = tape.make(a.shape());
  const std::span<float> to = y.writable<float>();
  for (std::size_t i = 0; i < to.size(); ++i) to[i] = a.values()[i] + b.values()[i];
  return tape.record("add", std::move(y), {a, b}, [](const Tensor& dy) {
    return std::vector<Tensor>{dy, dy};
  });
}

TapeValue reshape(Tape& tape, const TapeValue& x, const Shape& shape) {
  return tape.record("reshape", x.tensor().reshaped(shape), {x},
                     [x](const Tensor& dy) { return std::vector<Tensor>{dy.reshaped(x.shape())}; });
}

TapeValue average_loss(Tape& tape, const TapeValue& losses, std::int64_t global_batch) {
  if (global_batch < 1) refuse(fmt::format("a global batch of {} examples", global_batch));
  Tensor y = tape.make({});
  const auto divisor = static_cast<float>(global_batch);
  values_of(y)[0] = detail::sum_of(values_of(losses), losses.shape().items()) / divisor;
  return tape.record("average_loss", std::move(y), {losses},
                     [&tape, losses, divisor](const Tensor& dy) {
                       Tensor dx = tape.make(losses.shape());
                       std::ranges::fill(dx.writable<float>(), dy.values<float>()[0] / divisor);
                       return std::vector<Tensor>{std::move(dx)};
                     });
}

TapeValue sum(Tape& tape, const TapeValue& x) { return average_loss(tape, x, 1); }

TapeValue relu(Tape& tape, const TapeValue& x) {
  Tensor y = tape.make(x.shape());
  const std::span<float> to = y.writable<float>();
  for (std::size_t i = 0; i < to.size(); ++i) to[i] = x.values()[i] < 0 ? 0.0F : x.values()[i];
  return elementwise(tape, "relu", x, std::move(y),
                     [](float, float result) { return result > 0 ? 1.0F : 0.0F; });
}

TapeValue tanh(Tape& tape, const TapeValue& x) {
  Tensor y = tape.make(x.shape());
  detail::kernels(tape.options().width).tanh(x.shape().items(), values_of(x), values_of(y));
  return elementwise(tape, "tanh", x, std::move(y),
                     [](float, float result) { return 1 - result * result; });
}

TapeValue gelu(Tape& tape, const TapeValue& x) {
  constexpr float kSqrtHalf = 0.707106781F;
  constexpr float kDensity = 0.398942280F;  // 1 / sqrt(2 pi)
  const std::int64_t count = x.shape().items();
  Tensor y = tape.make(x.shape());
  Tensor slopes = tape.make(x.shape());
  float* const out = values_of(y);
  float* const slope = values_of(slopes);
  const float* const in = values_of(x);
  for (std::int64_t i = 0; i < count; ++i) out[i] = in[i] * kSqrtHalf;
  detail::kernels(tape.options().width).erf(count, out, out);
  for (std::int64_t i = 0; i < count; ++i) slope[i] = -0.5F * in[i] * in[i];
  detail::kernels(tape.options().width).exp(count, slope, slope);
  for (std::int64_t i = 0; i < count; ++i) {
    const float share = 0.5F * (1 + out[i]);
    slope[i] = share + in[i] * kDensity * slope[i];
    out[i] = in[i] * share;
  }
  return tape.record("gelu", std::move(y), {x}, [&tape, slopes](const Tensor& dy) {
    Tensor dx = tape.make(dy.shape());
    const std::span<float> to = dx.writable<float>();
    for (std::size_t i = 0; i < to.size(); ++i) {
      to[i] = dy.values<float>()[i] * slopes.values<float>()[i];
    }
    return std::vector<Tensor>{std::move(dx)};
  });
}

TapeValue max_pool(Tape& tape, const TapeValue& images, std::int64_t size) {
  if (images.shape().rank() != 4 || size < 1) {
    refuse(fmt::format("max_pool of {} by {}", images.shape().to_string(), size));
  }
  const Shape& in = images.shape();
  const Shape out{in[0], in[1] / size, in[2] / size, in[3]};
  Tensor y = tape.make(out);
  std::vector<std::int64_t> chosen(static_cast<std::size_t>(out.items()));
  float* const to = values_of(y);
  const float* const from = values_of(images);
  for (std::int64_t i = 0; i < out.items(); ++i) {
    const std::int64_t channel = i % out[3];
    const std::int64_t column = i / out[3] % out[2];
    const std::int64_t row = i / out[3] / out[2] % out[1];
    const std::int64_t image = i / out[3] / out[2] / out[1];
    std::int64_t best = -1;
    for (std::int64_t a = 0; a < size * size; ++a) {
      const std::int64_t pixel =
          (image * in[1] + row * size + a / size) * in[2] + column * size + a % size;
      const std::int64_t at = pixel * in[3] + channel;
      if (best < 0 || from[at] > from[best]) best = at;
    }
    chosen[static_cast<std::size_t>(i)] = best;
    to[i] = from[best];
  }
  return tape.record("max_pool", std::move(y), {images},
                     [&tape, images, chosen = std::move(chosen)](const Tensor& dy) {
                       Tensor dx = tape.make(images.shape());
                       const std::span<float> into = dx.writable<float>();
                       std::ranges::fill(into, 0.0F);
                       for (std::size_t i = 0; i < chosen.size(); ++i) {
                         into[static_cast<std::size_t>(chosen[i])] += dy.values<float>()[i];
                       }
                       return std::vector<Tensor>{std::move(dx)};
                     });
}

TapeValue softmax_cross_entropy(Tape& tape, const TapeValue& logits,
                                std::span<const std::int32_t> labels) {
  if (logits.shape().rank() != 2 || logits.shape()[0] != static_cast<std::int64_t>(labels.size())) {
    refuse(fmt::format("{} labels for logits {}; expected one an example", labels.size(),
                       logits.shape().to_string()));
  }
  const std::int64_t classes = logits.shape()[1];
  for (std::size_t i = 0; i < labels.size(); ++i) {
    if (labels[i] >= 0 && labels[i] < classes) continue;
    refuse(fmt::format("label {} of example {} in its batch; the model has classes 0 to {}",
                       labels[i], i, classes - 1));
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
                     [&tape, slopes, classes](const Tensor& dy) {
                       Tensor dx = tape.make(slopes.shape());
                       for (std::int64_t i = 0; i < slopes.shape().items(); ++i) {
                         values_of(dx)[i] =
                             slopes.values<float>()[static_cast<std::size_t>(i)] *
                             dy.values<float>()[static_cast<std::size_t>(i / classes)];
                       }
                       return std::vector<Tensor>{std::move(dx)};
                     });
}

}  // namespace infeed::nn
