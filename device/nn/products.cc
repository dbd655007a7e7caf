#include <infeed/device/operations.h>

#include "operation_parts.h"

namespace infeed::nn {

using detail::MatrixView;
using detail::multiply;

namespace {

Tensor forward_product(Tape& tape, const TapeValue& x, const TapeValue& w) {
  require_fit(x.shape().rank() >= 1 && w.shape().rank() == 2 &&
                  x.shape()[x.shape().rank() - 1] == w.shape()[0],
              "the product", x.shape(), w.shape());
  Tensor y = tape.make(with_last(x.shape(), w.shape()[1]));
  multiply(tape.workspace().product, rows_in(x.shape()), w.shape()[1], w.shape()[0],
           rows_of(values_of(x), w.shape()[0]), rows_of(values_of(w), w.shape()[1]), values_of(y),
           product_options(tape));
  return y;
}

/// Returns the gradients of x and w.
std::vector<Tensor> backward_product(Tape& tape, const TapeValue& x, const TapeValue& w,
                                     const Tensor& gradient) {
  const std::int64_t rows = rows_in(x.shape());
  const std::int64_t k = w.shape()[0];
  const std::int64_t n = w.shape()[1];
  const MatrixView dy = rows_of(gradient.values<float>().data(), n);
  std::vector<Tensor> gradients(2);
  if (x.is_recorded()) {
    gradients[0] = tape.make(x.shape());
    multiply(tape.workspace().product, rows, k, n, dy, rows_of(values_of(w), n).transposed(),
             values_of(gradients[0]), product_options(tape));
  }
  if (w.is_recorded()) {
    gradients[1] = tape.make(w.shape());
    multiply(tape.workspace().product, k, n, rows, rows_of(values_of(x), k).transposed(), dy,
             values_of(gradients[1]), product_options(tape));
  }
  return gradients;
}

}  // namespace

TapeValue matrix_product(Tape& tape, const TapeValue& x, const TapeValue& w) {
  return tape.record("matrix_product", forward_product(tape, x, w), {x, w},
                     [&tape, x, w](const Tensor& dy) { return backward_product(tape, x, w, dy); });
}

TapeValue dense(Tape& tape, const TapeValue& x, const TapeValue& kernel, const TapeValue& bias) {
  Tensor y = forward_product(tape, x, kernel);
  require_fit(bias.shape() == Shape{kernel.shape()[1]}, "the bias", kernel.shape(), bias.shape());
  add_bias(y.writable<float>(), bias.values());
  return tape.record("dense", std::move(y), {x, kernel, bias},
                     [&tape, x, kernel, bias](const Tensor& dy) {
                       std::vector<Tensor> gradients = backward_product(tape, x, kernel, dy);
                       gradients.push_back(column_sums(tape, dy, bias.shape()));
                       return gradients;
                     });
}

}  // namespace infeed::nn
