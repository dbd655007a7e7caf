#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include <infeed/image/decode.h>
#include <infeed/image/image.h>

#include "image/row_sink.h"

namespace infeed::image {

/// Decodes one JPEG after the other. Thread-safety: one thread at a time. All exceptions are Errors
/// as in decode.h; afterwards it can be opened again.
class JpegReader {
 public:
  JpegReader();
  ~JpegReader();
  JpegReader(const JpegReader&) = delete;
  JpegReader& operator=(const JpegReader&) = delete;

  /// Reads the header and checks the limits. `bytes` must live until the last read().
  void open(std::string_view bytes, const DecodeLimits& limits, bool refuse_damaged);

  Size size() const;
  std::size_t channels() const;        ///< 1 or 3
  std::uint64_t memory_bytes() const;  ///< libjpeg's memory that grows with the image
  Size scaled_size(unsigned denominator) const;

  /// Reads the rows of `part`, a part of the image at 1/denominator (1, 2, 4, 8) of its size, with
  /// 1 (grey) or 3 channels. Once for each open().
  void read(const Rect& part, unsigned denominator, std::size_t channels, RowSink& sink);

 private:
  struct State;

  void require_plausible() const;
  bool read_header();
  bool read_rows(const Rect& part, unsigned denominator, std::size_t channels, RowSink& sink);
  [[noreturn]] void fail() const;

  std::unique_ptr<State> state_;
  std::string_view bytes_;
  std::vector<std::uint8_t> row_;
  std::size_t row_offset_ = 0;
};

}  // namespace infeed::image
