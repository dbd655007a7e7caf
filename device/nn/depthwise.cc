#include <algorithm>
#include <cstdint>
#include <vector>

#include <infeed/device/operations.h>

#include "operation_parts.h"

namespace infeed::nn {

using detail::Rounding;

namespace {

/// Computes into[c] += a[c] * b[c]. Vectors run across channels, so that their width changes no
/// sum.
void add_products(std::int64_t channels, const float* __restrict a, const float* __restrict b,
                  float* __restrict into) {
  for (std::int64_t c = 0; c < channels; ++c) into[c] += a[c] * b[c];
}

/// Places in one image. A wide pixel has a value for each channel of the output.
struct Places {
  Places(const Shape& images, const Shape& kernel, const ConvolutionOptions& options)
      : channels(images[3]),
        multiplier(kernel[3]),
        rows(images[1], kernel[0], options),
        columns(images[2], kernel[1], options) {}

  std::int64_t wide() const { return channels * multiplier; }
  std::int64_t pixels_in() const { return rows.in * columns.in; }
  std::int64_t image_in() const { return pixels_in() * channels; }
  std::int64_t wide_image_in() const { return pixels_in() * wide(); }
  std::int64_t image_out() const { return rows.out * columns.out * wide(); }
  std::int64_t kernel() const { return rows.window * columns.window * wide(); }

  /// Calls visit(wide pixel of the input, of the kernel, of the output) for all that meet in a
  /// window, window by window. Arguments are the first items of the pixels.
  template <class Visit>
  void each(Visit visit) const {
    const std::int64_t width = wide();
    for (std::int64_t y = 0; y < rows.out; ++y) {
      for (std::int64_t x = 0; x < columns.out; ++x) {
        const std::int64_t to = (y * columns.out + x) * width;
        for (std::int64_t i = rows.first(y); i < rows.last(y); ++i) {
          const std::int64_t row = rows.item(y, i) * columns.in;
          for (std::int64_t j = columns.first(x); j < columns.last(x); ++j) {
            visit((row + columns.item(x, j)) * width, (i * columns.window + j) * width, to);
          }
        }
      }
    }
  }

  std::int64_t channels = 0;
  std::int64_t multiplier = 1;
  WindowAxis rows;
  WindowAxis columns;
};

/// Holds the operands, rounded to the tape's precision. Images repeat each channel as often as the
/// output has it. Pointers hold until the same member is called again.
class Operands {
 public:
  Operands(Tape& tape, const Places& places)
      : tape_(tape),
        places_(places),
        wide_image_(reserve(places)),
        kernel_(wide_image_ + places.wide_image_in()),
        gradient_(kernel_ + places.kernel()),
        wide_sums_(gradient_ + places.image_out()) {}

  const float* kernel(const TapeValue& kernel) const {
    return rounded(values_of(kernel), places_.kernel(), kernel_);
  }
  const float* gradient(const float* image) const {
    return rounded(image, places_.image_out(), gradient_);
  }
  const float* image(const float* image) const {
    if (places_.multiplier == 1) return rounded(image, places_.image_in(), wide_image_);
    float* to = wide_image_;
    for (std::int64_t i = 0; i < places_.image_in(); ++i, to += places_.multiplier) {
      std::fill_n(to, places_.multiplier, image[i]);
    }
    return rounded(wide_image_, places_.wide_image_in(), wide_image_);
  }
  /// Memory for the gradient of one image, with a value for each channel of the output.
  float* wide_sums() const { return wide_sums_; }

 private:
  float* reserve(const Places& places) const {
    std::vector<float>& memory = tape_.workspace().patches;
    const std::int64_t size = 2 * places.wide_image_in() + places.kernel() + places.image_out();
    memory.resize(std::max(memory.size(), static_cast<std::size_t>(size)));
    return memory.data();
  }
  const float* rounded(const float* from, std::int64_t count, float* to) const {
    const detail::ProductOptions options = product_options(tape_);
    const detail::Kernels& kernels = detail::kernels(options.width);
    if (options.rounding == Rounding::none) return from;
    (options.rounding == Rounding::bfloat16 ? kernels.bfloat16 : kernels.float16)(count, from, to);
    return to;
  }

  Tape& tape_;
  const Places& places_;
  float* const wide_image_;
  float* const kernel_;
  float* const gradient_;
  float* const wide_sums_;
};

Tensor forward_depthwise(Tape& tape, const TapeValue& images, const TapeValue& kernel,
                         const Places& places) {
  const std::int64_t examples = images.shape()[0];
  Tensor y = zeros(tape, {examples, places.rows.out, places.columns.out, places.wide()});
  const Operands operands(tape, places);
  const float* const w = operands.kernel(kernel);
  for (std::int64_t example = 0; example < examples; ++example) {
    const float* const in = operands.image(values_of(images) + example * places.image_in());
    float* const out = values_of(y) + example * places.image_out();
    places.each([&](std::int64_t from, std::int64_t tap, std::int64_t to) {
      add_products(places.wide(), in + from, w + tap, out + to);
    });
  }
  return y;
}

/// Adds the example's part to the kernel's gradient, in the order of examples and windows.
void add_kernel_gradient(const Places& places, const float* in, const float* dy, float* dw) {
  places.each([&](std::int64_t from, std::int64_t tap, std::int64_t to) {
    add_products(places.wide(), in + from, dy + to, dw + tap);
  });
}

void image_gradient(const Places& places, const float* w, const float* dy, float* wide_sums,
                    float* dx) {
  float* const sums = places.multiplier == 1 ? dx : wide_sums;
  std::fill_n(sums, places.wide_image_in(), 0.0F);
  places.each([&](std::int64_t from, std::int64_t tap, std::int64_t to) {
    add_products(places.wide(), w + tap, dy + to, sums + from);
  });
  if (places.multiplier == 1) return;
  const float* from = wide_sums;
  for (std::int64_t i = 0; i < places.image_in(); ++i, from += places.multiplier) {
    dx[i] = 0;
    for (std::int64_t q = 0; q < places.multiplier; ++q) dx[i] += from[q];
  }
}

std::vector<Tensor> backward_depthwise(Tape& tape, const TapeValue& images, const TapeValue& kernel,
                                       const Places& places, const Tensor& gradient) {
  std::vector<Tensor> gradients(2);
  if (images.is_recorded()) gradients[0] = tape.make(images.shape());
  if (kernel.is_recorded()) {
    gradients[1] = zeros(tape, kernel.shape());
  }
  const Operands operands(tape, places);
  const float* const w = operands.kernel(kernel);
  for (std::int64_t example = 0; example < images.shape()[0]; ++example) {
    const float* const dy =
        operands.gradient(gradient.values<float>().data() + example * places.image_out());
    if (kernel.is_recorded()) {
      const float* const in = operands.image(values_of(images) + example * places.image_in());
      add_kernel_gradient(places, in, dy, values_of(gradients[1]));
    }
    if (images.is_recorded()) {
      image_gradient(places, w, dy, operands.wide_sums(),
                     values_of(gradients[0]) + example * places.image_in());
    }
  }
  return gradients;
}

}  // namespace

TapeValue depthwise_convolution(Tape& tape, const TapeValue& images, const TapeValue& kernel,
                                ConvolutionOptions options) {
  require_fit(images.shape().rank() == 4 && kernel.shape().rank() == 4 &&
                  images.shape()[3] == kernel.shape()[2],
              "the depthwise convolution", images.shape(), kernel.shape());
  require_stride(options);
  const Places places(images.shape(), kernel.shape(), options);
  return tape.record("depthwise_convolution", forward_depthwise(tape, images, kernel, places),
                     {images, kernel}, [&tape, images, kernel, places](const Tensor& dy) {
                       return backward_depthwise(tape, images, kernel, places, dy);
                     });
}

}  // namespace infeed::nn
