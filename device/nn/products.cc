#include <algorithm>
#include <cmath>
#include <fmt/format.h>

#include <infeed/device/operations.h>
#include <infeed/error.h>

#include "tape_state.h"

namespace infeed::nn {
namespace {

using detail::MatrixView;
using detail::multiply;
using detail::product_options;
using detail::values_of;

/// Rows of patches that are multiplied at a time, so that they stay in the cache.
constexpr std::int64_t kPatchRows = 1024;

void require(bool fits, std::string_view operation, const Shape& a, const Shape& b) {
  if (fits) return;
  throw Error(ErrorCode::invalid_argument, fmt::format("{} of {} with {}: the shapes don't fit",
                                                       operation, a.to_string(), b.to_string()));
}

MatrixView rows_of(const float* values, std::int64_t columns) {
  return {.values = values, .row_stride = columns};
}

void add_bias(std::span<float> rows, std::span<const float> bias) {
  for (std::size_t first = 0; first < rows.size(); first += bias.size()) {
    for (std::size_t j = 0; j < bias.size(); ++j) rows[first + j] += bias[j];
  }
}

Tensor column_sums(const Tape& tape, const Tensor& rows, const Shape& shape) {
  Tensor sums = tape.make(shape);
  const std::span<float> to = sums.writable<float>();
  std::ranges::fill(to, 0.0F);
  const std::span<const float> from = rows.values<float>();
  for (std::size_t first = 0; first < from.size(); first += to.size()) {
    for (std::size_t j = 0; j < to.size(); ++j) to[j] += from[first + j];
  }
  return sums;
}

std::int64_t rows_in(const Shape& shape) {
  std::int64_t rows = 1;
  for (std::size_t i = 0; i + 1 < shape.rank(); ++i) rows *= shape[i];
  return rows;
}

Shape with_last(const Shape& shape, std::int64_t last) {
  std::vector<std::int64_t> extents(shape.begin(), shape.end());
  extents.back() = last;
  return Shape(std::span<const std::int64_t>(extents));
}

Tensor forward_product(Tape& tape, const TapeValue& x, const TapeValue& w) {
  require(x.shape().rank() >= 1 && w.shape().rank() == 2 &&
              x.shape()[x.shape().rank() - 1] == w.shape()[0],
          "the product", x.shape(), w.shape());
  Tensor y = tape.make(with_last(x.shape(), w.shape()[1]));
  multiply(tape.workspace().product, rows_in(x.shape()), w.shape()[1], w.shape()[0],
           rows_of(values_of(x), w.shape()[0]), rows_of(values_of(w), w.shape()[1]), values_of(y),
           product_options(tape));
  return y;
}

/// Gradients of x and w.
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

struct Window {
  Window(const Shape& images, const Shape& kernel)
      : examples(images[0]),
        height(images[1]),
        width(images[2]),
        channels(images[3]),
        window_height(kernel[0]),
        window_width(kernel[1]) {}
  std::int64_t pixels() const { return height * width; }
  std::int64_t patch() const { return window_height * window_width * channels; }
  std::int64_t images_at_a_time() const {
    return std::max<std::int64_t>(1, kPatchRows / std::max<std::int64_t>(1, pixels()));
  }

  /// visit(pixel of the image, item of its patch) for what lies inside of the image.
  template <class Visit>
  void each_inside(Visit visit) const {
    const std::int64_t top = (window_height - 1) / 2;
    const std::int64_t left = (window_width - 1) / 2;
    for (std::int64_t y = 0; y < height; ++y) {
      for (std::int64_t x = 0; x < width; ++x) {
        for (std::int64_t i = 0; i < window_height; ++i) {
          for (std::int64_t j = 0; j < window_width; ++j) {
            const std::int64_t from_y = y + i - top;
            const std::int64_t from_x = x + j - left;
            const bool inside = from_y >= 0 && from_y < height && from_x >= 0 && from_x < width;
            visit(inside ? (from_y * width + from_x) * channels : -1,
                  (y * width + x) * patch() + (i * window_width + j) * channels);
          }
        }
      }
    }
  }

  void gather(const float* image, float* patches) const {
    each_inside([&](std::int64_t from, std::int64_t to) {
      if (from < 0) {
        std::fill_n(patches + to, channels, 0.0F);
      } else {
        std::copy_n(image + from, channels, patches + to);
      }
    });
  }
  void scatter(const float* patches, float* image) const {
    std::fill_n(image, pixels() * channels, 0.0F);
    each_inside([&](std::int64_t to, std::int64_t from) {
      for (std::int64_t c = 0; c < channels && to >= 0; ++c) image[to + c] += patches[from + c];
    });
  }

  std::int64_t examples, height, width, channels, window_height, window_width;
};

/// body(first image, images, their patches) for some images at a time.
template <class Body>
void by_images(Tape& tape, const Window& window, Body body) {
  const std::int64_t at_a_time = window.images_at_a_time();
  std::vector<float>& patches = tape.workspace().patches;
  patches.resize(std::max(patches.size(),
                          static_cast<std::size_t>(at_a_time * window.pixels() * window.patch())));
  for (std::int64_t first = 0; first < window.examples; first += at_a_time) {
    body(first, std::min(at_a_time, window.examples - first), patches.data());
  }
}

void gather_images(const Window& window, const float* images, std::int64_t first,
                   std::int64_t count, float* patches) {
  for (std::int64_t i = 0; i < count; ++i) {
    window.gather(images + (first + i) * window.pixels() * window.channels,
                  patches + i * window.pixels() * window.patch());
  }
}

std::vector<Tensor> backward_convolution(Tape& tape, const TapeValue& images,
                                         const TapeValue& kernel, const Window& window,
                                         const Tensor& gradient) {
  const std::int64_t out = kernel.shape()[3];
  const float* dy = gradient.values<float>().data();
  std::vector<Tensor> gradients(2);
  if (kernel.is_recorded()) {
    gradients[1] = tape.make(kernel.shape());
    float* dw = values_of(gradients[1]);
    std::fill_n(dw, kernel.shape().items(), 0.0F);
    detail::ProductOptions options = product_options(tape);
    options.accumulate = true;  // some images at a time, in the order of all of them
    by_images(tape, window, [&](std::int64_t first, std::int64_t count, float* patches) {
      gather_images(window, values_of(images), first, count, patches);
      multiply(tape.workspace().product, window.patch(), out, count * window.pixels(),
               rows_of(patches, window.patch()).transposed(),
               rows_of(dy + first * window.pixels() * out, out), dw, options);
    });
  }
  if (images.is_recorded()) {
    gradients[0] = tape.make(images.shape());
    float* dx = values_of(gradients[0]);
    by_images(tape, window, [&](std::int64_t first, std::int64_t count, float* patches) {
      multiply(tape.workspace().product, count * window.pixels(), window.patch(), out,
               rows_of(dy + first * window.pixels() * out, out),
               rows_of(values_of(kernel), out).transposed(), patches, product_options(tape));
      for (std::int64_t i = 0; i < count; ++i) {
        window.scatter(patches + i * window.pixels() * window.patch(),
                       dx + (first + i) * window.pixels() * window.channels);
      }
    });
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
  require(bias.shape() == Shape{kernel.shape()[1]}, "the bias", kernel.shape(), bias.shape());
  add_bias(y.writable<float>(), bias.values());
  return tape.record("dense", std::move(y), {x, kernel, bias},
                     [&tape, x, kernel, bias](const Tensor& dy) {
                       std::vector<Tensor> gradients = backward_product(tape, x, kernel, dy);
                       gradients.push_back(column_sums(tape, dy, bias.shape()));
                       return gradients;
                     });
}

TapeValue convolution(Tape& tape, const TapeValue& images, const TapeValue& kernel,
                      const TapeValue& bias) {
  require(images.shape().rank() == 4 && kernel.shape().rank() == 4 &&
              images.shape()[3] == kernel.shape()[2] && bias.shape() == Shape{kernel.shape()[3]},
          "the convolution", images.shape(), kernel.shape());
  const Window window(images.shape(), kernel.shape());
  const std::int64_t out = kernel.shape()[3];
  Tensor y = tape.make(with_last(images.shape(), out));
  float* const to = values_of(y);
  by_images(tape, window, [&](std::int64_t first, std::int64_t count, float* patches) {
    gather_images(window, values_of(images), first, count, patches);
    multiply(tape.workspace().product, count * window.pixels(), out, window.patch(),
             rows_of(patches, window.patch()), rows_of(values_of(kernel), out),
             to + first * window.pixels() * out, product_options(tape));
  });
  add_bias(y.writable<float>(), bias.values());
  return tape.record("convolution", std::move(y), {images, kernel, bias},
                     [&tape, images, kernel, bias, window](const Tensor& dy) {
                       std::vector<Tensor> gradients =
                           backward_convolution(tape, images, kernel, window, dy);
                       gradients.push_back(column_sums(tape, dy, bias.shape()));
                       return gradients;
                     });
}

TapeValue attention(Tape& tape, const TapeValue& q, const TapeValue& k, const TapeValue& v,
                    std::int64_t heads) {
  require(q.shape().rank() == 3 && q.shape() == k.shape() && q.shape() == v.shape() && heads > 0 &&
              q.shape()[2] % heads == 0,
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
      const float total = detail::sum_of(row, tokens);
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
        const float along = detail::dot_of(row, ds + i * tokens, tokens);
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
