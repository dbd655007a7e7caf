#include "image/resample/resampler.h"

#include <algorithm>

namespace infeed::image {

void Resampler::begin(const ResizedLine& across, const ResizedLine& down, std::size_t channels,
                      Filter filter, RowSink& out) {
  plan_resize(across, filter, across_);
  plan_resize(down, filter, down_);
  channels_ = channels;
  out_ = &out;
  rows_ = down.pixels();
  taken_ = 0;
  outputs_ = 0;
  const std::size_t taps = down_.groups * ResizePlan::kGroup;
  line_count_ = std::min(taps, rows_);
  line_size_ = (across.outputs * channels + 2 * kRowPadding) / kRowPadding * kRowPadding;
  // Kernels may read memory after a line's end that was never written. It doesn't affect results.
  lines_.resize(std::max(lines_.size(), line_count_ * line_size_));
  row_.resize(std::max(row_.size(), across.outputs * channels + kRowPadding));
  taps_.resize(taps);
  weights_.resize(taps);
}

void Resampler::take(const std::uint8_t* row) noexcept {
  kernels_.resize_row(row, channels_, across_, line(taken_));
  ++taken_;
  while (outputs_ < down_.outputs && down_.last[outputs_] < taken_) hand_out(outputs_++);
}

void Resampler::take_all(const Image& image) {
  for (std::size_t y = 0; y + 1 < image.height; ++y) {
    // The next row follows a row, and may be shorter than what kernels read.
    if ((image.height - 1 - y) * image.row_bytes() < kRowPadding) {
      take_padded(image.row(y), image.row_bytes());
    } else {
      take(image.row(y));
    }
  }
  take_padded(image.row(image.height - 1), image.row_bytes());
}

void Resampler::take_padded(const std::uint8_t* row, std::size_t bytes) {
  last_.assign(row, row + bytes);
  last_.resize(bytes + kRowPadding);
  take(last_.data());
}

void Resampler::hand_out(std::size_t output) {
  std::size_t taps = 0;
  const std::size_t first = down_.first[output];
  for (std::size_t group = 0; group < down_.groups; ++group) {
    const std::int16_t* const weights = down_.weights_of(output, group);
    for (std::size_t i = 0; i < ResizePlan::kGroup; ++i) {
      if (weights[i] == 0) continue;
      taps_[taps] = line(first + group * ResizePlan::kGroup + i);
      weights_[taps] = weights[i];
      ++taps;
    }
  }
  if (taps % 2 != 0) {
    taps_[taps] = taps_[taps - 1];
    weights_[taps] = 0;
    ++taps;
  }
  kernels_.blend_lines(taps_.data(), weights_.data(), taps, across_.outputs * channels_,
                       row_.data());
  out_->take(row_.data());
}

}  // namespace infeed::image
