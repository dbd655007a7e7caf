#include <algorithm>
#include <span>
#include <vector>

#include <infeed/device/operations.h>

#include "operation_parts.h"

namespace infeed::nn {

using detail::multiply;

namespace {

/// Rows of patches that are multiplied together; so many stay in the cache.
constexpr std::int64_t kPatchRows = 1024;

struct Window {
  Window(const Shape& images, const Shape& kernel, const ConvolutionOptions& options)
      : examples(images[0]),
        channels(images[3]),
        rows(images[1], kernel[0], options),
        columns(images[2], kernel[1], options) {}
  std::int64_t image() const { return rows.in * columns.in * channels; }
  std::int64_t pixels() const { return rows.out * columns.out; }
  std::int64_t patch() const { return rows.window * columns.window * channels; }
  std::int64_t images_at_a_time() const {
    return std::max<std::int64_t>(1, kPatchRows / std::max<std::int64_t>(1, pixels()));
  }

  void gather(const float* image_values, float* patches) const {
    for (std::int64_t y = 0; y < rows.out; ++y) {
      const bool whole_rows = rows.first(y) == 0 && rows.last(y) == rows.window;
      for (std::int64_t x = 0; x < columns.out; ++x, patches += patch()) {
        const std::int64_t first = columns.first(x) * channels;
        const std::int64_t last = columns.last(x) * channels;
        const std::int64_t width = columns.window * channels;
        if (!whole_rows || first != 0 || last != width) std::fill_n(patches, patch(), 0.0F);
        for (std::int64_t i = rows.first(y); i < rows.last(y); ++i) {
          const float* const from = image_values + (begin_of(y, x, i) + first);
          float* const to = patches + i * width + first;
          for (std::int64_t j = 0; j < last - first; ++j) to[j] = from[j];
        }
      }
    }
  }
  void scatter(const float* patches, float* image_values) const {
    std::fill_n(image_values, image(), 0.0F);
    for (std::int64_t y = 0; y < rows.out; ++y) {
      for (std::int64_t x = 0; x < columns.out; ++x, patches += patch()) {
        const std::int64_t first = columns.first(x) * channels;
        const std::int64_t last = columns.last(x) * channels;
        for (std::int64_t i = rows.first(y); i < rows.last(y); ++i) {
          const float* const from = patches + i * columns.window * channels + first;
          float* const to = image_values + (begin_of(y, x, i) + first);
          for (std::int64_t j = 0; j < last - first; ++j) to[j] += from[j];
        }
      }
    }
  }
  /// Returns where row i of the window at (y, x) begins; may lie before the image's row.
  std::int64_t begin_of(std::int64_t y, std::int64_t x, std::int64_t i) const {
    return (rows.item(y, i) * columns.in + columns.item(x, 0)) * channels;
  }

  std::int64_t examples = 0;
  std::int64_t channels = 0;
  WindowAxis rows;
  WindowAxis columns;
};

/// Calls body(first image, images, their patches) for groups of images.
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
    window.gather(images + (first + i) * window.image(),
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
    options.accumulate = true;  // groups in the order of their images
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
                       dx + (first + i) * window.image());
      }
    });
  }
  return gradients;
}

/// `bias`: empty, or a number for each channel.
Tensor forward_convolution(Tape& tape, const TapeValue& images, const TapeValue& kernel,
                           std::span<const float> bias, const Window& window) {
  const std::int64_t out = kernel.shape()[3];
  Tensor y = tape.make({images.shape()[0], window.rows.out, window.columns.out, out});
  float* const to = values_of(y);
  by_images(tape, window, [&](std::int64_t first, std::int64_t count, float* patches) {
    gather_images(window, values_of(images), first, count, patches);
    multiply(tape.workspace().product, count * window.pixels(), out, window.patch(),
             rows_of(patches, window.patch()), rows_of(values_of(kernel), out),
             to + first * window.pixels() * out, product_options(tape));
    if (bias.empty()) return;
    add_bias({to + first * window.pixels() * out,
              static_cast<std::size_t>(count * window.pixels() * out)},
             bias);
  });
  return y;
}

/// `bias`: null, or a number for each channel.
TapeValue convolution_with(Tape& tape, const TapeValue& images, const TapeValue& kernel,
                           const TapeValue* bias, const ConvolutionOptions& options) {
  require_fit(images.shape().rank() == 4 && kernel.shape().rank() == 4 &&
                  images.shape()[3] == kernel.shape()[2],
              "the convolution", images.shape(), kernel.shape());
  require_stride(options);
  const Window window(images.shape(), kernel.shape(), options);
  std::vector<TapeValue> inputs = {images, kernel};
  std::span<const float> added;
  if (bias != nullptr) {
    require_fit(bias->shape() == Shape{kernel.shape()[3]}, "the bias", kernel.shape(),
                bias->shape());
    inputs.push_back(*bias);
    added = bias->values();
  }
  Tensor y = forward_convolution(tape, images, kernel, added, window);
  return tape.record("convolution", std::move(y), inputs,
                     [&tape, inputs, window](const Tensor& dy) {
                       std::vector<Tensor> gradients =
                           backward_convolution(tape, inputs[0], inputs[1], window, dy);
                       if (inputs.size() == 3)
                         gradients.push_back(column_sums(tape, dy, inputs[2].shape()));
                       return gradients;
                     });
}

}  // namespace

TapeValue convolution(Tape& tape, const TapeValue& images, const TapeValue& kernel,
                      ConvolutionOptions options) {
  return convolution_with(tape, images, kernel, nullptr, options);
}

TapeValue convolution(Tape& tape, const TapeValue& images, const TapeValue& kernel,
                      const TapeValue& bias, ConvolutionOptions options) {
  return convolution_with(tape, images, kernel, &bias, options);
}

}  // namespace infeed::nn
