#include "infeed/device/operations.h"

#include <algorithm>
#include <functional>

#include "operation_parts.h"
#include "refuse.h"

namespace infeed::nn {
namespace {

/// y[i] = f(x[i]); dx[i] = slope(dy[i], y[i]).
template <class Slope>
TapeValue elementwise(Tape& tape, const char* operation, const TapeValue& x, Tensor y,
                      Slope slope) {
  return tape.record(operation, y, {x}, [&tape, y, slope](const Tensor& dy) {
    return std::vector<Tensor>{
        mapped(tape, y.shape(), slope, dy.values<float>(), y.values<float>())};
  });
}

}  // namespace

TapeValue add(Tape& tape, const TapeValue& a, const TapeValue& b) {
  if (!(a.shape() == b.shape())) {
    detail::refuse("{} and {} can't be added: the shapes differ", a.shape().to_string(),
                   b.shape().to_string());
  }
  return tape.record("add", mapped(tape, a.shape(), std::plus<float>(), a.values(), b.values()),
                     {a, b}, [](const Tensor& dy) {
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
  add_bias(y.writable<float>(), table.values());
  return tape.record("add_table", std::move(y), {x, table},
                     [&tape, shape = table.shape(), items](const Tensor& dy) {
                       return std::vector<Tensor>{
                           dy, items == 0 ? tape.make(shape) : column_sums(tape, dy, shape)};
                     });
}

TapeValue scale(Tape& tape, const TapeValue& x, float factor) {
  const auto times = [factor](float item) { return item * factor; };
  return elementwise(tape, "scale", x, mapped(tape, x.shape(), times, x.values()),
                     [factor](float dy, float) { return dy * factor; });
}

TapeValue reshape(Tape& tape, const TapeValue& x, const Shape& shape) {
  return tape.record(
      "reshape", x.tensor().reshaped(shape), {x},
      [from = x.shape()](const Tensor& dy) { return std::vector<Tensor>{dy.reshaped(from)}; });
}

TapeValue relu(Tape& tape, const TapeValue& x) {
  const auto positive = [](float item) { return item < 0 ? 0.0F : item; };
  return elementwise(tape, "relu", x, mapped(tape, x.shape(), positive, x.values()),
                     [](float dy, float result) { return result > 0 ? dy : 0.0F; });
}

TapeValue tanh(Tape& tape, const TapeValue& x) {
  Tensor y = tape.make(x.shape());
  detail::kernels(tape.options().width).tanh(x.shape().items(), values_of(x), values_of(y));
  return elementwise(tape, "tanh", x, std::move(y),
                     [](float dy, float result) { return dy * (1 - result * result); });
}

TapeValue sigmoid(Tape& tape, const TapeValue& x) {
  Tensor y = mapped(
      tape, x.shape(), [](float item) { return item * 0.5F; }, x.values());
  detail::kernels(tape.options().width).tanh(x.shape().items(), values_of(y), values_of(y));
  for (float& value : y.writable<float>()) value = 0.5F * value + 0.5F;
  return elementwise(tape, "sigmoid", x, std::move(y),
                     [](float dy, float result) { return dy * result * (1 - result); });
}

TapeValue gelu(Tape& tape, const TapeValue& x) {
  constexpr float kSqrtHalf = 0.707106781F;
  constexpr float kDensity = 0.398942280F;  // 1 / sqrt(2 pi)
  const std::int64_t count = x.shape().items();
  Tensor y = mapped(
      tape, x.shape(), [](float item) { return item * kSqrtHalf; }, x.values());
  Tensor slopes = mapped(
      tape, x.shape(), [](float item) { return -0.5F * item * item; }, x.values());
  float* const out = values_of(y);
  float* const slope = values_of(slopes);
  const float* const in = values_of(x);
  detail::kernels(tape.options().width).erf(count, out, out);
  detail::kernels(tape.options().width).exp(count, slope, slope);
  for (std::int64_t i = 0; i < count; ++i) {
    const float share = 0.5F * (1 + out[i]);
    slope[i] = share + in[i] * kDensity * slope[i];
    out[i] = in[i] * share;
  }
  return tape.record("gelu", std::move(y), {x}, [&tape, slopes](const Tensor& dy) {
    return std::vector<Tensor>{product_of(tape, dy, slopes)};
  });
}

}  // namespace infeed::nn
