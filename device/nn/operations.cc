#include "infeed/device/operations.h"

#include <algorithm>

#include "product_parts.h"
#include "refuse.h"

namespace infeed::nn {

using detail::values_of;

namespace {

/// y[i] = f(x[i]); dx[i] = slope(dy[i], y[i]).
template <class Slope>
TapeValue elementwise(Tape& tape, const char* operation, const TapeValue& x, Tensor y,
                      Slope slope) {
  return tape.record(operation, y, {x}, [&tape, y, slope](const Tensor& dy) {
    Tensor dx = tape.make(y.shape());
    const std::span<float> to = dx.writable<float>();
    const std::span<const float> from = dy.values<float>();
    const std::span<const float> results = y.values<float>();
    for (std::size_t i = 0; i < to.size(); ++i) to[i] = slope(from[i], results[i]);
    return std::vector<Tensor>{std::move(dx)};
  });
}

}  // namespace

TapeValue add(Tape& tape, const TapeValue& a, const TapeValue& b) {
  if (!(a.shape() == b.shape())) {
    detail::refuse("{} and {} can't be added: the shapes differ", a.shape().to_string(),
                   b.shape().to_string());
  }
  Tensor y = tape.make(a.shape());
  const std::span<float> to = y.writable<float>();
  const std::span<const float> left = a.values();
  const std::span<const float> right = b.values();
  for (std::size_t i = 0; i < to.size(); ++i) to[i] = left[i] + right[i];
  return tape.record("add", std::move(y), {a, b}, [](const Tensor& dy) {
    return std::vector<Tensor>{dy, dy};
  });
}

TapeValue add_table(Tape& tape, const TapeValue& x, const TapeValue& table) {
  const std::size_t rank = table.shape().rank();
  if (rank >= x.shape().rank() ||
      !std::ranges::equal(table.shape(), x.shape().extents().last(rank))) {
    detail::refuse(
        "a table {} can't be added to each example of {}; its shape must be the end of theirs",
        table.shape().to_string(), x.shape().to_string());
  }
  const std::int64_t items = table.shape().items();
  Tensor y = tape.make(x.shape());
  std::ranges::copy(x.values(), y.writable<float>().begin());
  detail::add_bias(y.writable<float>(), table.values());
  return tape.record("add_table", std::move(y), {x, table},
                     [&tape, shape = table.shape(), items](const Tensor& dy) {
                       return std::vector<Tensor>{dy, items == 0
                                                          ? tape.make(shape)
                                                          : detail::column_sums(tape, dy, shape)};
                     });
}

TapeValue scale(Tape& tape, const TapeValue& x, float factor) {
  Tensor y = tape.make(x.shape());
  const std::span<float> to = y.writable<float>();
  const std::span<const float> from = x.values();
  for (std::size_t i = 0; i < to.size(); ++i) to[i] = from[i] * factor;
  return elementwise(tape, "scale", x, std::move(y),
                     [factor](float dy, float) { return dy * factor; });
}

TapeValue reshape(Tape& tape, const TapeValue& x, const Shape& shape) {
  return tape.record(
      "reshape", x.tensor().reshaped(shape), {x},
      [from = x.shape()](const Tensor& dy) { return std::vector<Tensor>{dy.reshaped(from)}; });
}

TapeValue relu(Tape& tape, const TapeValue& x) {
  Tensor y = tape.make(x.shape());
  const std::span<float> to = y.writable<float>();
  const std::span<const float> from = x.values();
  for (std::size_t i = 0; i < to.size(); ++i) to[i] = from[i] < 0 ? 0.0F : from[i];
  return elementwise(tape, "relu", x, std::move(y),
                     [](float dy, float result) { return result > 0 ? dy : 0.0F; });
}

TapeValue tanh(Tape& tape, const TapeValue& x) {
  Tensor y = tape.make(x.shape());
  detail::kernels(tape.options().width).tanh(x.shape().items(), values_of(x), values_of(y));
  return elementwise(tape, "tanh", x, std::move(y),
                     [](float dy, float result) { return dy * (1 - result * result); });
}

TapeValue sigmoid(Tape& tape, const TapeValue& x) {
  Tensor y = tape.make(x.shape());
  const std::span<float> to = y.writable<float>();
  const std::span<const float> from = x.values();
  for (std::size_t i = 0; i < to.size(); ++i) to[i] = from[i] * 0.5F;
  detail::kernels(tape.options().width).tanh(x.shape().items(), to.data(), to.data());
  for (float& value : to) value = 0.5F * value + 0.5F;
  return elementwise(tape, "sigmoid", x, std::move(y),
                     [](float dy, float result) { return dy * result * (1 - result); });
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
    const std::span<const float> from = dy.values<float>();
    const std::span<const float> factors = slopes.values<float>();
    for (std::size_t i = 0; i < to.size(); ++i) to[i] = from[i] * factors[i];
    return std::vector<Tensor>{std::move(dx)};
  });
}

}  // namespace infeed::nn
