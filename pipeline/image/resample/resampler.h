#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <infeed/image/resize.h>

#include "image/resample/kernels.h"
#include "image/resample/resize_plan.h"
#include "image/row_sink.h"

namespace infeed::image {

/// Takes the rows of an image, or of its crop, and hands on each resized row as soon as possible.
/// It holds only the few rows that the next one is made of, and reuses its memory for the next
/// image.
class Resampler final : public RowSink {
 public:
  explicit Resampler(const Kernels& kernels = best_kernels()) : kernels_(kernels) {}

  /// Begins an image: the rows of `down`, each with the pixels of `across`.
  void begin(const ResizedLine& across, const ResizedLine& down, std::size_t channels,
             Filter filter, RowSink& out);
  /// Makes the resized rows come right to left.
  void mirror_rows() { mirror(across_); }

  void take(const std::uint8_t* row) noexcept override;
  /// Takes all rows of an image, which needs no bytes after them.
  void take_all(const Image& image);

 private:
  std::int16_t* line(std::size_t row) { return lines_.data() + row % line_count_ * line_size_; }
  void take_padded(const std::uint8_t* row, std::size_t bytes);
  void hand_out(std::size_t output);

  const Kernels& kernels_;
  ResizePlan across_;
  ResizePlan down_;
  std::size_t channels_ = 0;
  RowSink* out_ = nullptr;
  std::size_t rows_ = 0;     ///< in all
  std::size_t taken_ = 0;    ///< so far
  std::size_t outputs_ = 0;  ///< handed on so far
  std::size_t line_count_ = 0;
  std::size_t line_size_ = 0;
  std::vector<std::int16_t> lines_;
  std::vector<const std::int16_t*> taps_;
  std::vector<std::int16_t> weights_;
  std::vector<std::uint8_t> row_;
  std::vector<std::uint8_t> last_;  ///< last rows of an image, with padding
};

}  // namespace infeed::image
