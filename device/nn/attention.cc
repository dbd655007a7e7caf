#include <algorithm>
#include <cmath>
#include <vector>

#include <infeed/device/operations.h>

#include "operation_parts.h"

namespace infeed::nn {

using detail::multiply;

TapeValue attention(Tape& tape, const TapeValue& q, const TapeValue& k, const TapeValue& v,
                    std::int64_t heads) {
  require_fit(q.shape().rank() == 3 && q.shape() == k.shape() && q.shape() == v.shape() &&
                  heads > 0 && q.shape()[2] % heads == 0,
              "attention", q.shape(), k.shape());
  const std::int64_t tokens = q.shape()[1];
  const std::int64_t features = q.shape()[2];
  const std::int64_t per_head = features / heads;
  const std::int64_t blocks = q.shape()[0] * heads;
  const auto scale = static_cast<float>(1 / std::sqrt(static_cast<double>(per_head)));
  Tensor weights = tape.make({q.shape()[0], heads, tokens, tokens});
  Tensor y = tape.make(q.shape());
  const auto at = [=](std::int64_t block) {
    return block / heads * tokens * features + block % heads * per_head;
  };
  const auto head = [=](const float* values, std::int64_t block) {
    return rows_of(values + at(block), features);
  };
  float* const p = values_of(weights);
  float* const out = values_of(y);
  detail::ProductOptions into_head = product_options(tape);
  into_head.c_row_stride = features;
  for (std::int64_t b = 0; b < blocks; ++b) {
    float* const rows = p + b * tokens * tokens;
    multiply(tape.workspace().product, tokens, tokens, per_head, head(values_of(q), b),
             head(values_of(k), b).transposed(), rows, product_options(tape));
    for (std::int64_t i = 0; i < tokens; ++i) {
      float* const row = rows + i * tokens;
      const float highest = *std::max_element(row, row + tokens);
      for (std::int64_t j = 0; j < tokens; ++j) row[j] = (row[j] - highest) * scale;
    }
    detail::kernels(tape.options().width).exp(tokens * tokens, rows, rows);
    for (std::int64_t i = 0; i < tokens; ++i) {
      float* const row = rows + i * tokens;
      const float total = sum_of(row, tokens);
      for (std::int64_t j = 0; j < tokens; ++j) row[j] /= total;
    }
    multiply(tape.workspace().product, tokens, per_head, tokens, rows_of(rows, tokens),
             head(values_of(v), b), out + at(b), into_head);
  }
  return tape.record("attention", std::move(y), {q, k, v}, [=, &tape](const Tensor& gradient) {
    std::vector<Tensor> gradients;
    for (int i = 0; i < 3; ++i) gradients.push_back(tape.make(q.shape()));
    float* const dq = values_of(gradients[0]);
    float* const dk = values_of(gradients[1]);
    float* const dv = values_of(gradients[2]);
    const float* const dy = gradient.values<float>().data();
    Tensor scores = tape.make({tokens, tokens});
    float* const ds = values_of(scores);
    for (std::int64_t b = 0; b < blocks; ++b) {
      const float* const rows = weights.values<float>().data() + b * tokens * tokens;
      multiply(tape.workspace().product, tokens, per_head, tokens,
               rows_of(rows, tokens).transposed(), head(dy, b), dv + at(b), into_head);
      multiply(tape.workspace().product, tokens, tokens, per_head, head(dy, b),
               head(values_of(v), b).transposed(), ds, product_options(tape));
      for (std::int64_t i = 0; i < tokens; ++i) {
        const float* const row = rows + i * tokens;
        const float along = dot_of(row, ds + i * tokens, tokens);
        for (std::int64_t j = 0; j < tokens; ++j) {
          float& score = ds[i * tokens + j];
          score = row[j] * (score - along) * scale;
        }
      }
      multiply(tape.workspace().product, tokens, per_head, tokens, rows_of(ds, tokens),
               head(values_of(k), b), dq + at(b), into_head);
      multiply(tape.workspace().product, tokens, per_head, tokens, rows_of(ds, tokens).transposed(),
               head(values_of(q), b), dk + at(b), into_head);
    }
    return gradients;
  });
}

}  // namespace infeed::nn
