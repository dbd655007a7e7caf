#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include <infeed/image/normalise.h>

#include "image/resample/kernels.h"
#include "image/row_sink.h"

namespace infeed::image {

/// Writes rows of bytes, normalised, to their final place.
template <class T>
class BatchRows final : public RowSink {
 public:
  /// Throws invalid_argument if `out` has another size than the image, if channels aren't 1 or 3,
  /// or if numbers can't be normalised as said. `bottom_up`: the last row comes first.
  BatchRows(Size size, std::size_t channels, const Normalisation& how, bool bottom_up,
            std::span<T> out, const Kernels& kernels = best_kernels());

  void take(const std::uint8_t* row) noexcept override;

 private:
  void convert(const std::uint8_t* row, T* out);

  const Kernels& kernels_;
  const Size size_;
  const std::size_t channels_;
  const bool is_planar_;
  const bool bottom_up_;
  const std::span<T> out_;
  ChannelScales scales_;
  std::size_t rows_ = 0;
};

}  // namespace infeed::image
