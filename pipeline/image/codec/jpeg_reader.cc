#include "image/codec/jpeg_reader.h"

#include <algorithm>
#include <array>
#include <csetjmp>
#include <fmt/format.h>
#include <jpeglib.h>

// Needs what jpeglib.h declares.
#include <jerror.h>

#include <infeed/error.h>

#include "image/codec/jpeg_markers.h"
#include "image/requirements.h"

namespace infeed::image {

/// Handles libjpeg's errors: libjpeg reports them by a call that must not return. The longjmp skips
/// destructors, so decoding code has no object with a destructor between setjmp and libjpeg.
struct JpegErrors {
  jpeg_error_mgr manager;
  std::array<char, JMSG_LENGTH_MAX> message;
  bool refuse_damaged;
  std::jmp_buf jump;
};

namespace {

void jump_out_of_jpeg(j_common_ptr decoder) {
  auto* const errors = reinterpret_cast<JpegErrors*>(decoder->err);
  decoder->err->format_message(decoder, errors->message.data());
  std::longjmp(errors->jump, 1);
}

/// Handles warnings (level -1): libjpeg would go on with guessed pixels.
void note_jpeg_warning(j_common_ptr decoder, int level) {
  const auto* const errors = reinterpret_cast<const JpegErrors*>(decoder->err);
  // Bytes between two markers are harmless, and cameras write them.
  if (level >= 0 || decoder->err->msg_code == JWRN_EXTRANEOUS_DATA) return;
  if (errors->refuse_damaged) jump_out_of_jpeg(decoder);
}

/// Converts without a colour profile, as TensorFlow does. Files with Adobe's marker hold inverted
/// ink. In place: four bytes become three.
void cmyk_to_rgb(std::uint8_t* pixels, std::size_t width, bool is_inverted) {
  for (std::size_t x = 0; x < width; ++x) {
    const std::uint8_t* const ink = pixels + 4 * x;
    const auto light = [&](std::size_t i) {
      return is_inverted ? unsigned{ink[i]} : 255U - ink[i];
    };
    const unsigned key = light(3);
    const std::array<unsigned, 3> rgb{light(0), light(1), light(2)};
    for (std::size_t i = 0; i < 3; ++i) {
      pixels[3 * x + i] = static_cast<std::uint8_t>(rgb.at(i) * key / 255);
    }
  }
}

void rgb_to_grey(std::uint8_t* pixels, std::size_t width) {
  for (std::size_t x = 0; x < width; ++x) pixels[x] = grey_of(pixels + 3 * x);
}

struct Columns {
  JDIMENSION left;
  JDIMENSION width;
};

/// Returns the columns with one more pixel on each side. Colours are interpolated between
/// neighbours, which would otherwise be missing if a block ends with the crop. Returns at least 32
/// columns: with only a few libjpeg doesn't interpolate at all.
Columns columns_with_neighbours(const Rect& part, std::size_t image_width) {
  constexpr std::size_t kWidthMin = 32;
  std::size_t left = part.left > 0 ? part.left - 1 : 0;
  const std::size_t right =
      std::min(std::max(part.left + part.width + 1, left + kWidthMin), image_width);
  left = std::min(left, right - std::min(right, kWidthMin));
  return {static_cast<JDIMENSION>(left), static_cast<JDIMENSION>(right - left)};
}

}  // namespace

struct JpegReader::State {
  jpeg_decompress_struct decoder{};
  JpegErrors errors{};
};

JpegReader::JpegReader() : state_(std::make_unique<State>()) {
  jpeg_decompress_struct& decoder = state_->decoder;
  decoder.err = jpeg_std_error(&state_->errors.manager);
  state_->errors.manager.error_exit = jump_out_of_jpeg;
  state_->errors.manager.emit_message = note_jpeg_warning;
}

JpegReader::~JpegReader() { jpeg_destroy_decompress(&state_->decoder); }

/// Frees libjpeg's memory for the image, which of a progressive one may be hundreds of megabytes.
void JpegReader::fail() const {
  jpeg_abort_decompress(&state_->decoder);
  throw Error(ErrorCode::data_loss,
              fmt::format("the JPEG image can't be decoded: {}", state_->errors.message.data()));
}

bool JpegReader::read_header() {
  jpeg_decompress_struct& decoder = state_->decoder;
  if (setjmp(state_->errors.jump) != 0) return false;
  // jpeg_abort() isn't enough: tables of the image before would stay, and an image without its own
  // would be decoded by them.
  jpeg_destroy_decompress(&decoder);
  jpeg_create_decompress(&decoder);
  jpeg_mem_src(&decoder, reinterpret_cast<const unsigned char*>(bytes_.data()), bytes_.size());
  jpeg_read_header(&decoder, TRUE);
  return true;
}

void JpegReader::open(std::string_view bytes, const DecodeLimits& limits, bool refuse_damaged) {
  bytes_ = bytes;
  state_->errors.refuse_damaged = refuse_damaged;
  if (!read_header()) fail();
  require_pixels(size(), limits);
  if (jpeg_has_multiple_scans(&state_->decoder)) {
    const std::size_t scans = count_jpeg_scans(bytes, limits.scans_max);
    if (scans > limits.scans_max) {
      throw Error(ErrorCode::invalid_argument,
                  fmt::format("the JPEG image has over {} scans; DecodeLimits::scans_max allows no "
                              "more, as each passes over the whole image",
                              limits.scans_max));
    }
  }
  if (refuse_damaged) require_plausible();
}

/// Throws if the image must be cut. A Huffman code has at least one bit, and each block of 8 x 8
/// has at least one code, so a file with fewer bits is cut. The check is free here; later it would
/// cost up to memory_bytes_max and seconds.
void JpegReader::require_plausible() const {
  const jpeg_decompress_struct& decoder = state_->decoder;
  if (decoder.arith_code) return;
  const std::uint64_t blocks =
      std::uint64_t{(decoder.image_width + 7) / 8} * ((decoder.image_height + 7) / 8);
  if (bytes_.size() >= blocks / 8) return;
  throw Error(ErrorCode::data_loss,
              fmt::format("the JPEG image can't be decoded: {} x {} pixels don't fit into its {} "
                          "bytes, so it is cut",
                          decoder.image_width, decoder.image_height, bytes_.size()));
}

Size JpegReader::size() const {
  return {state_->decoder.image_width, state_->decoder.image_height};
}

std::size_t JpegReader::channels() const { return state_->decoder.num_components == 1 ? 1 : 3; }

std::uint64_t JpegReader::memory_bytes() const {
  const jpeg_decompress_struct& decoder = state_->decoder;
  constexpr std::uint64_t kBlockBytes = sizeof(JBLOCK);
  std::uint64_t blocks = 0;
  for (int i = 0; i < decoder.num_components; ++i) {
    const jpeg_component_info& component = decoder.comp_info[i];
    const bool is_whole = jpeg_has_multiple_scans(&state_->decoder) != 0;
    blocks += std::uint64_t{component.width_in_blocks + 4} *
              (is_whole ? component.height_in_blocks + 4 : 4);
  }
  return blocks * kBlockBytes;
}

Size JpegReader::scaled_size(unsigned denominator) const {
  const auto scaled = [denominator](std::size_t side) {
    return (side + denominator - 1) / denominator;
  };
  return {scaled(size().width), scaled(size().height)};
}

bool JpegReader::read_rows(const Rect& part, unsigned denominator, std::size_t channels,
                           RowSink& sink) {
  jpeg_decompress_struct& decoder = state_->decoder;
  if (setjmp(state_->errors.jump) != 0) return false;
  decoder.scale_num = 1;
  decoder.scale_denom = denominator;
  const bool is_cmyk = decoder.num_components == 4;
  // libjpeg converts YCCK to CMYK, but neither to RGB.
  decoder.out_color_space = is_cmyk ? JCS_CMYK : channels == 1 ? JCS_GRAYSCALE : JCS_RGB;
  // Smoothing would blur blocks of a progressive image that lacks scans into their neighbours, and
  // a crop has other neighbours than the whole image.
  decoder.do_block_smoothing = FALSE;
  jpeg_start_decompress(&decoder);
  auto [left, width] = columns_with_neighbours(part, decoder.output_width);
  if (width < decoder.output_width) {
    jpeg_crop_scanline(&decoder, &left, &width);
  }
  if (part.top > 0) jpeg_skip_scanlines(&decoder, static_cast<JDIMENSION>(part.top));
  const auto components = static_cast<std::size_t>(decoder.output_components);
  const bool is_exact = width == part.width && components == channels;
  const std::size_t from = part.left - left;
  std::uint8_t* const own_row = row_.data() + row_offset_;
  for (std::size_t y = 0; y < part.height; ++y) {
    std::uint8_t* const place = is_exact ? sink.place() : nullptr;
    JSAMPROW row = place != nullptr ? place : own_row;
    if (jpeg_read_scanlines(&decoder, &row, 1) != 1) break;
    std::uint8_t* const pixels = row + from * components;
    if (is_cmyk) cmyk_to_rgb(pixels, part.width, decoder.saw_Adobe_marker != 0);
    if (is_cmyk && channels == 1) rgb_to_grey(pixels, part.width);
    sink.take(pixels);
  }
  // Other damage may follow the last row. After a crop there would be too much to look at.
  if (decoder.output_scanline == decoder.output_height) {
    jpeg_finish_decompress(&decoder);
  } else {
    jpeg_abort_decompress(&decoder);
  }
  return true;
}

void JpegReader::read(const Rect& part, unsigned denominator, std::size_t channels, RowSink& sink) {
  // libjpeg-turbo writes an aligned row past the caches, and the next reader waits for the memory.
  // That made a resize take three times as long.
  constexpr std::size_t kVectorBytes = 64;
  row_.resize(
      std::max(row_.size(), scaled_size(denominator).width * 4 + kVectorBytes + kRowPadding));
  row_offset_ = reinterpret_cast<std::uintptr_t>(row_.data()) % 16 == 0 ? 8 : 0;
  if (!read_rows(part, denominator, channels, sink)) fail();
}

}  // namespace infeed::image
