#include "image/batch_rows.h"

#include <cmath>
#include <cstring>
#include <fmt/format.h>
#include <type_traits>

#include <infeed/error.h>

#include "image/requirements.h"

namespace infeed::image {
namespace {

template <class T>
std::vector<T>& thread_row() {
  static thread_local std::vector<T> row;
  return row;
}

/// Throws for means and deviations that give no numbers, of the channels that are used.
void require_numbers(const Normalisation& how, std::size_t channels) {
  for (std::size_t c = 0; c < channels; ++c) {
    const float mean = how.mean.at(c);
    const float deviation = how.deviation.at(c);
    if (deviation > 0 && std::isfinite(deviation) && std::isfinite(1 / (255 * deviation)) &&
        std::isfinite(mean / deviation)) {
      continue;
    }
    throw Error(ErrorCode::invalid_argument,
                fmt::format("channel {} can't be normalised with the mean {} and the deviation {}: "
                            "finite numbers are expected, and a deviation above 0",
                            c, mean, deviation));
  }
}

}  // namespace

template <class T>
BatchRows<T>::BatchRows(Size size, std::size_t channels, const Normalisation& how, bool bottom_up,
                        std::span<T> out, const Kernels& kernels)
    : kernels_(kernels),
      size_(size),
      channels_(channels),
      is_planar_(how.layout == Layout::nchw && channels > 1),
      bottom_up_(bottom_up),
      out_(out) {
  if (channels != 1 && channels != 3) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("an image with {} channels can't become a row of a batch: 1 or 3 are "
                            "expected (Channels::grey, Channels::rgb)",
                            channels));
  }
  if (out.size() != size.width * size.height * channels) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("the row has {} values, but an image of {} x {} with {} channels has "
                            "{}",
                            out.size(), size.width, size.height, channels,
                            size.width * size.height * channels));
  }
  if constexpr (!std::is_same_v<T, std::uint8_t>) require_numbers(how, channels);
  for (std::size_t i = 0; i < ChannelScales::kPeriod; ++i) {
    const std::size_t c = i % channels;
    scales_.scale.at(i) = 1 / (255 * how.deviation.at(c));
    scales_.offset.at(i) = -how.mean.at(c) / how.deviation.at(c);
  }
  if (is_planar_) thread_row<T>().resize(size.width * channels);
}

template <class T>
void BatchRows<T>::convert(const std::uint8_t* row, T* out) {
  const std::size_t count = size_.width * channels_;
  if constexpr (std::is_same_v<T, float>) {
    kernels_.to_float(row, scales_, count, out);
  } else if constexpr (std::is_same_v<T, bfloat16>) {
    kernels_.to_bfloat16(row, scales_, count, out);
  } else {
    std::memcpy(out, row, count);
  }
}

template <class T>
void BatchRows<T>::take(const std::uint8_t* row) noexcept {
  const std::size_t y = bottom_up_ ? size_.height - 1 - rows_ : rows_;
  ++rows_;
  if (!is_planar_) {
    convert(row, out_.data() + y * size_.width * channels_);
    return;
  }
  T* const values = thread_row<T>().data();
  convert(row, values);
  T* const red = out_.data() + y * size_.width;
  T* const green = red + size_.width * size_.height;
  T* const blue = green + size_.width * size_.height;
  for (std::size_t x = 0; x < size_.width; ++x) {
    red[x] = values[3 * x];
    green[x] = values[3 * x + 1];
    blue[x] = values[3 * x + 2];
  }
}

template class BatchRows<float>;
template class BatchRows<bfloat16>;
template class BatchRows<std::uint8_t>;

namespace {

template <class T>
void normalise_rows(const Image& image, const Normalisation& how, std::span<T> row) {
  require_whole(image);
  BatchRows<T> rows(image.size(), image.channels, how, false, row);
  for (std::size_t y = 0; y < image.height; ++y) rows.take(image.row(y));
}

}  // namespace

void normalise(const Image& image, const Normalisation& how, std::span<float> row) {
  normalise_rows(image, how, row);
}
void normalise(const Image& image, const Normalisation& how, std::span<bfloat16> row) {
  normalise_rows(image, how, row);
}
void normalise(const Image& image, const Normalisation& how, std::span<std::uint8_t> row) {
  normalise_rows(image, how, row);
}

}  // namespace infeed::image
