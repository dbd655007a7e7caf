#include <algorithm>
#include <bit>
#include <vector>

#include <infeed/device/operations.h>

#include "operation_parts.h"
#include "refuse.h"

namespace infeed::nn {
namespace {

/// Blocks of size x size pixels, side by side.
struct Blocks {
  Blocks(std::string_view operation, const Shape& images, std::int64_t block_size)
      : size(block_size) {
    if (images.rank() != 4 || size < 1) {
      detail::refuse(
          "{} of {} by {}; expected images [examples, height, width, channels] and a size of 1 or "
          "more",
          operation, images.to_string(), block_size);
    }
    in = images;
    out = {in[0], in[1] / size, in[2] / size, in[3]};
  }
  /// Memory for one value in each pixel of a block; 0 in pixels outside of blocks.
  Tensor make_input(const Tape& tape) const {
    const bool fill_the_images = out[1] * size == in[1] && out[2] * size == in[2];
    return fill_the_images ? tape.make(in) : zeros(tape, in);
  }

  /// Calls visit(first item of the block's result, place of the block's pixel `a`, a) for each
  /// pixel of each block.
  template <class Visit>
  void each(Visit visit) const {
    std::int64_t to = 0;
    for (std::int64_t image = 0; image < out[0]; ++image) {
      for (std::int64_t row = 0; row < out[1]; ++row) {
        for (std::int64_t column = 0; column < out[2]; ++column, to += out[3]) {
          for (std::int64_t a = 0; a < size * size; ++a) {
            const std::int64_t pixel =
                (image * in[1] + row * size + a / size) * in[2] + column * size + a % size;
            visit(to, pixel * in[3], static_cast<std::int32_t>(a));
          }
        }
      }
    }
  }

  std::int64_t size = 1;
  Shape in;
  Shape out;
};

// Loops over channels stand alone and use masks instead of conditions, so that they become vectors.

void take_larger(std::int64_t channels, std::int32_t a, const float* __restrict from,
                 float* __restrict best, std::int32_t* __restrict choice) {
  for (std::int64_t c = 0; c < channels; ++c) {
    const std::int32_t larger = -static_cast<std::int32_t>(from[c] > best[c]);
    choice[c] = (choice[c] & ~larger) | (a & larger);
    best[c] = from[c] > best[c] ? from[c] : best[c];
  }
}

void send_to_chosen(std::int64_t channels, std::int32_t a, const float* __restrict arriving,
                    const std::int32_t* __restrict choice, float* __restrict into) {
  for (std::int64_t c = 0; c < channels; ++c) {
    const std::int32_t chosen = -static_cast<std::int32_t>(choice[c] == a);
    into[c] = std::bit_cast<float>(std::bit_cast<std::int32_t>(arriving[c]) & chosen);
  }
}

}  // namespace

TapeValue max_pool(Tape& tape, const TapeValue& images, std::int64_t size) {
  const Blocks blocks("max_pool", images.shape(), size);
  const std::int64_t channels = blocks.in[3];
  Tensor y = tape.make(blocks.out);
  Tensor chosen(DType::int32, blocks.out, tape.options().pool);
  float* const best = values_of(y);
  std::int32_t* const choice = chosen.writable<std::int32_t>().data();
  const float* const from = values_of(images);
  blocks.each([&](std::int64_t to, std::int64_t at, std::int32_t a) {
    if (a == 0) {
      std::copy_n(from + at, channels, best + to);
      std::fill_n(choice + to, channels, 0);
    } else {
      take_larger(channels, a, from + at, best + to, choice + to);
    }
  });
  return tape.record("max_pool", std::move(y), {images}, [&tape, blocks, chosen](const Tensor& dy) {
    Tensor dx = blocks.make_input(tape);
    float* const into = values_of(dx);
    const float* const arriving = dy.values<float>().data();
    const std::int32_t* const choices = chosen.values<std::int32_t>().data();
    blocks.each([&](std::int64_t to, std::int64_t at, std::int32_t a) {
      send_to_chosen(blocks.in[3], a, arriving + to, choices + to, into + at);
    });
    return std::vector<Tensor>{std::move(dx)};
  });
}

TapeValue average_pool(Tape& tape, const TapeValue& images, std::int64_t size) {
  const Blocks blocks("average_pool", images.shape(), size);
  const std::int64_t channels = blocks.in[3];
  const float share = 1.0F / static_cast<float>(size * size);
  Tensor y = zeros(tape, blocks.out);
  float* const sums = values_of(y);
  const float* const from = values_of(images);
  blocks.each([&](std::int64_t to, std::int64_t at, std::int32_t) {
    for (std::int64_t c = 0; c < channels; ++c) sums[to + c] += from[at + c] * share;
  });
  return tape.record("average_pool", std::move(y), {images},
                     [&tape, blocks, share](const Tensor& dy) {
                       Tensor dx = blocks.make_input(tape);
                       float* const into = values_of(dx);
                       const float* const arriving = dy.values<float>().data();
                       blocks.each([&](std::int64_t to, std::int64_t at, std::int32_t) {
                         for (std::int64_t c = 0; c < blocks.in[3]; ++c) {
                           into[at + c] = arriving[to + c] * share;
                         }
                       });
                       return std::vector<Tensor>{std::move(dx)};
                     });
}

TapeValue average_of_rows(Tape& tape, const TapeValue& x) {
  if (x.shape().rank() < 3) {
    detail::refuse("average_of_rows of {}; expected examples of rows of features",
                   x.shape().to_string());
  }
  const std::int64_t examples = x.shape()[0];
  const std::int64_t features = x.shape()[x.shape().rank() - 1];
  std::int64_t rows = 1;
  for (std::size_t axis = 1; axis + 1 < x.shape().rank(); ++axis) rows *= x.shape()[axis];
  const float share = 1.0F / static_cast<float>(rows);
  Tensor y = zeros(tape, {examples, features});
  const float* from = values_of(x);
  for (std::int64_t example = 0; example < examples; ++example) {
    float* const to = values_of(y) + example * features;
    for (std::int64_t row = 0; row < rows; ++row, from += features) {
      for (std::int64_t c = 0; c < features; ++c) to[c] += from[c];
    }
    for (std::int64_t c = 0; c < features; ++c) to[c] *= share;
  }
  return tape.record("average_of_rows", std::move(y), {x},
                     [&tape, shape = x.shape(), rows, features, share](const Tensor& dy) {
                       Tensor dx = tape.make(shape);
                       float* to = values_of(dx);
                       const float* const arriving = dy.values<float>().data();
                       for (std::int64_t example = 0; example < shape[0]; ++example) {
                         for (std::int64_t row = 0; row < rows; ++row, to += features) {
                           for (std::int64_t c = 0; c < features; ++c) {
                             to[c] = arriving[example * features + c] * share;
                           }
                         }
                       }
                       return std::vector<Tensor>{std::move(dx)};
                     });
}

}  // namespace infeed::nn
