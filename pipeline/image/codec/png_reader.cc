#include "image/codec/png_reader.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <fmt/format.h>
#include <png.h>

#include <infeed/error.h>
#include <infeed/records/limits.h>

#include "image/requirements.h"

namespace infeed::image {
namespace {

struct PngSource {
  const char* at;
  std::size_t left;
};

/// Decodes with libpng, which reports errors by a call that must not return. The longjmp skips
/// destructors, so decoding code has no object with a destructor between setjmp and libpng.
struct PngDecoder {
  png_structp png = nullptr;
  png_infop info = nullptr;
  PngSource source{};
  std::array<char, 128> message{};

  ~PngDecoder() { png_destroy_read_struct(&png, &info, nullptr); }
};

void jump_out_of_png(png_structp png, png_const_charp message) {
  auto* const decoder = static_cast<PngDecoder*>(png_get_error_ptr(png));
  std::strncpy(decoder->message.data(), message, decoder->message.size() - 1);
  png_longjmp(png, 1);
}

void read_png_bytes(png_structp png, png_bytep into, std::size_t count) {
  auto* const source = static_cast<PngSource*>(png_get_io_ptr(png));
  if (count > source->left) png_error(png, "the file ends inside it");
  std::memcpy(into, source->at, count);
  source->at += count;
  source->left -= count;
}

struct PngRows {
  std::uint8_t* buffer;
  std::size_t row_bytes;
  std::size_t channels;
  std::size_t height;
  bool is_interlaced;
};

/// Hands out rows from `rows`: an interlaced image is complete only after its last pass.
void hand_out_interlaced(png_structp png, const PngRows& rows, const Rect& part, RowSink& sink,
                         int passes) {
  for (int pass = 0; pass < passes; ++pass) {
    for (std::size_t y = 0; y < rows.height; ++y) {
      png_read_row(png, rows.buffer + y * rows.row_bytes, nullptr);
    }
  }
  for (std::size_t y = part.top; y < part.top + part.height; ++y) {
    sink.take(rows.buffer + y * rows.row_bytes + part.left * rows.channels);
  }
}

bool read_rows(PngDecoder& decoder, const PngRows& rows, const Rect& part, RowSink& sink) {
  decoder.png = png_create_read_struct(PNG_LIBPNG_VER_STRING, &decoder, jump_out_of_png,
                                       [](png_structp, png_const_charp) {});  // drops warnings
  if (decoder.png == nullptr) return false;
  if (setjmp(png_jmpbuf(decoder.png)) != 0) return false;
  decoder.info = png_create_info_struct(decoder.png);
  // The library's own limits were checked before.
  png_set_user_limits(decoder.png, PNG_UINT_31_MAX, PNG_UINT_31_MAX);
  // Nobody asks for texts, profiles and other ancillary chunks: they are passed over. libpng would
  // decompress up to 8 MB of each, and keep up to a thousand.
  png_set_keep_unknown_chunks(decoder.png, PNG_HANDLE_CHUNK_NEVER, nullptr, -1);
  png_set_read_fn(decoder.png, &decoder.source, read_png_bytes);
  png_read_info(decoder.png, decoder.info);
  // Gamma stays as it is: a dataset wants the numbers of the file.
  png_set_expand(decoder.png);
  png_set_strip_16(decoder.png);
  const int passes = png_set_interlace_handling(decoder.png);
  png_read_update_info(decoder.png, decoder.info);
  if (png_get_channels(decoder.png, decoder.info) != rows.channels ||
      png_get_image_height(decoder.png, decoder.info) != rows.height ||
      (passes > 1) != rows.is_interlaced) {
    png_error(decoder.png, "its header is damaged");
  }
  if (rows.is_interlaced) {
    hand_out_interlaced(decoder.png, rows, part, sink, passes);
  } else {
    for (std::size_t y = 0; y < part.top + part.height; ++y) {
      std::uint8_t* const place =
          y >= part.top && part.width * rows.channels == rows.row_bytes ? sink.place() : nullptr;
      std::uint8_t* const row = place != nullptr ? place : rows.buffer;
      png_read_row(decoder.png, row, nullptr);
      if (y >= part.top) sink.take(row + part.left * rows.channels);
    }
  }
  if (part.top + part.height == rows.height) png_read_end(decoder.png, nullptr);
  return true;
}

}  // namespace

void PngReader::open(std::string_view bytes, const ImageHeader& header,
                     const DecodeLimits& limits) {
  bytes_ = bytes;
  header_ = header;
  if (header.channels == 0) {
    throw Error(ErrorCode::data_loss,
                fmt::format("the PNG image can't be decoded: its {} bytes hold no whole header",
                            bytes.size()));
  }
  require_pixels({header.width, header.height}, limits);
  // A pixel has at least one bit.
  constexpr std::uint64_t kPixelsOfByteMax = limits::deflate_bytes_of_byte * 8;
  if (std::uint64_t{header.width} * header.height / kPixelsOfByteMax <= bytes.size()) return;
  throw Error(ErrorCode::data_loss,
              fmt::format("the PNG image can't be decoded: {} x {} pixels don't fit into its {} "
                          "bytes, so it is cut",
                          header.width, header.height, bytes.size()));
}

std::uint64_t PngReader::memory_bytes() const {
  const std::uint64_t rows = header_.is_progressive ? header_.height : 1;
  // libpng's own rows have up to four channels of two bytes.
  return header_.width * (rows * header_.channels + 2 * 8) + kRowPadding;
}

void PngReader::read(const Rect& part, RowSink& sink) {
  const std::size_t row_bytes = header_.width * header_.channels;
  const std::size_t held = header_.is_progressive ? header_.height : 1;
  rows_.resize(std::max(rows_.size(), row_bytes * held + kRowPadding));
  PngDecoder decoder;
  decoder.source = {bytes_.data(), bytes_.size()};
  const PngRows rows{rows_.data(), row_bytes, header_.channels, header_.height,
                     header_.is_progressive};
  if (!read_rows(decoder, rows, part, sink)) {
    throw Error(ErrorCode::data_loss,
                fmt::format("the PNG image can't be decoded: {}", decoder.message.data()));
  }
}

void PngReader::trim(std::size_t bytes_max) {
  if (rows_.size() > bytes_max) rows_ = std::vector<std::uint8_t>();  // {} would keep the memory
}

}  // namespace infeed::image
