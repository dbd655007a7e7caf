#include "infeed/image/header.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <string>
#include <utility>

namespace infeed::image {
namespace {

constexpr std::string_view kExifMagic{"Exif\0\0", 6};
constexpr std::size_t kExifBytesMax = 65'536;  // the most that a JPEG segment holds

enum class ByteOrder { little, big };

/// Returns the number at a place; 0 if it reaches past the end.
std::size_t number_at(std::string_view bytes, std::size_t at, std::size_t size, ByteOrder order) {
  if (at + size > bytes.size()) return 0;
  std::size_t value = 0;
  for (std::size_t i = 0; i < size; ++i) {
    const std::size_t place = order == ByteOrder::big ? i : size - 1 - i;
    value = value << 8 | static_cast<unsigned char>(bytes[at + place]);
  }
  return value;
}

/// The bytes of a header: read in place from memory, or copied from anything else.
class HeaderSource {
 public:
  explicit HeaderSource(std::string_view bytes) : bytes_(bytes) {}
  explicit HeaderSource(const ReadAt& read_at) : read_at_(&read_at) {}

  /// Returns `count` bytes, fewer at the image's end. Valid until the next call.
  std::string_view read(std::uint64_t offset, std::size_t count) {
    if (read_at_ == nullptr) {
      return offset < bytes_.size() ? bytes_.substr(offset, count) : std::string_view();
    }
    copy_.resize(count);
    copy_.resize((*read_at_)(offset, copy_));
    return copy_;
  }

 private:
  std::string_view bytes_;
  const ReadAt* read_at_ = nullptr;
  std::string copy_;
};

/// Returns the orientation in a TIFF structure. The first directory has entries of 12 bytes: tag,
/// type, count, value. The orientation's type is SHORT by the standard, and LONG in some files.
int tiff_orientation(std::string_view tiff) {
  constexpr std::size_t kOrientationTag = 0x0112;
  constexpr std::size_t kLong = 4;
  constexpr std::size_t kEntryBytes = 12;
  if (!tiff.starts_with("II") && !tiff.starts_with("MM")) return 1;
  const ByteOrder order = tiff.starts_with("II") ? ByteOrder::little : ByteOrder::big;
  const std::size_t directory = number_at(tiff, 4, 4, order);
  const std::size_t entries = number_at(tiff, directory, 2, order);
  for (std::size_t i = 0; i < entries; ++i) {
    const std::size_t at = directory + 2 + i * kEntryBytes;
    if (at + kEntryBytes > tiff.size()) break;
    if (number_at(tiff, at, 2, order) != kOrientationTag) continue;
    const std::size_t value_bytes = number_at(tiff, at + 2, 2, order) == kLong ? 4 : 2;
    const std::size_t value = number_at(tiff, at + 8, value_bytes, order);
    return value >= 1 && value <= 8 ? static_cast<int>(value) : 1;
  }
  return 1;
}

/// Returns true for SOF0 to SOF15, except those markers that mean something else.
bool begins_frame(unsigned char marker) {
  return marker >= 0xC0 && marker <= 0xCF && marker != 0xC4 && marker != 0xC8 && marker != 0xCC;
}

void take_frame(std::string_view frame, ImageHeader& header) {
  header.bits = number_at(frame, 0, 1, ByteOrder::big);
  header.height = number_at(frame, 1, 2, ByteOrder::big);
  header.width = number_at(frame, 3, 2, ByteOrder::big);
  const std::size_t components = number_at(frame, 5, 1, ByteOrder::big);
  header.is_cmyk = components == 4;
  header.channels = components == 1 ? 1 : 3;
}

/// Returns true if the bytes begin with a marker: 0xFF, and neither a fill byte nor the 0x00 of
/// coded data.
bool begins_marker(std::string_view bytes) {
  return bytes[0] == '\xff' && bytes[1] != '\xff' && bytes[1] != '\0';
}

/// Returns how many bytes stand before the first marker. Without one all do but the last, which may
/// begin a marker.
std::size_t bytes_before_marker(std::string_view bytes) {
  std::size_t at = 0;
  while (at + 1 < bytes.size() && !begins_marker(bytes.substr(at))) ++at;
  return at;
}

/// Reads segments: 0xFF, a marker, two bytes of size (which count themselves), content. Decoders
/// pass over fill bytes and stray bytes between them, which cameras write. The orientation stands
/// in the first Exif segment: longer Exif data goes on in others, which begin alike.
void read_jpeg(HeaderSource& source, ImageHeader& header) {
  constexpr unsigned char kExifSegment = 0xE1;
  constexpr unsigned char kScan = 0xDA;
  constexpr std::size_t kFrameBytes = 6;
  constexpr std::size_t kStrayBlockBytes = 1024;
  // Counts segments and blocks of stray bytes, since each takes a read or two. Files have some
  // hundred segments; 60 MB of fill bytes, read one by one, took 20 s.
  constexpr int kStepsMax = 10'000;
  bool has_exif = false;
  std::uint64_t at = 2;
  for (int i = 0; i < kStepsMax; ++i) {
    const std::string_view begin = source.read(at, 4);
    if (begin.size() < 4) return;
    if (!begins_marker(begin)) {
      at += bytes_before_marker(source.read(at, kStrayBlockBytes));
      continue;
    }
    const auto marker = static_cast<unsigned char>(begin[1]);
    if (marker == kScan) return;
    const std::size_t size = number_at(begin, 2, 2, ByteOrder::big);
    if (size < 2) return;
    if (begins_frame(marker)) {
      constexpr unsigned char kProgressive = 0xC2;
      header.is_progressive = marker == kProgressive;
      take_frame(source.read(at + 4, kFrameBytes), header);
      return;
    }
    if (marker == kExifSegment && !has_exif) {
      const std::string_view content = source.read(at + 4, std::min(size - 2, kExifBytesMax));
      has_exif = content.starts_with(kExifMagic);
      if (has_exif) header.orientation = tiff_orientation(content.substr(kExifMagic.size()));
    }
    at += 2 + size;
  }
}

/// Reads the chunks behind the first one: four bytes of size, four of name, content, CRC. tRNS makes
/// a palette, grey or RGB transparent and stands before the pixels; eXIf stands anywhere.
void read_png_chunks(HeaderSource& source, ImageHeader& header) {
  constexpr std::uint64_t kHeaderEnd = 8 + 12 + 13;
  constexpr int kChunksMax = 100'000;
  bool may_have_transparency = header.channels == 1 || header.channels == 3;
  std::uint64_t at = kHeaderEnd;
  for (int i = 0; i < kChunksMax; ++i) {
    const std::string_view begin = source.read(at, 8);
    if (begin.size() < 8 || begin.ends_with("IEND")) return;
    const std::size_t size = number_at(begin, 0, 4, ByteOrder::big);
    if (begin.ends_with("IDAT")) may_have_transparency = false;
    if (begin.ends_with("tRNS") && std::exchange(may_have_transparency, false)) ++header.channels;
    if (begin.ends_with("eXIf")) {
      header.orientation = tiff_orientation(source.read(at + 8, std::min(size, kExifBytesMax)));
    }
    at += size + 12;
  }
}

void read_png(HeaderSource& source, ImageHeader& header) {
  const std::string_view begin = source.read(0, 29);
  if (begin.size() < 29) return;
  header.width = number_at(begin, 16, 4, ByteOrder::big);
  header.height = number_at(begin, 20, 4, ByteOrder::big);
  const std::size_t depth = number_at(begin, 24, 1, ByteOrder::big);
  const std::size_t colour = number_at(begin, 25, 1, ByteOrder::big);
  constexpr std::array<std::size_t, 7> kChannels{1, 0, 3, 3, 2, 0, 4};  // 3 is a palette
  if (colour >= kChannels.size()) return;
  header.bits = depth == 16 ? 16 : 8;
  header.channels = kChannels.at(colour);
  header.is_progressive = begin[28] != 0;
  read_png_chunks(source, header);
}

}  // namespace

ImageFormat format_of(std::string_view bytes) {
  if (bytes.starts_with("\xff\xd8\xff")) return ImageFormat::jpeg;
  if (bytes.starts_with("\x89PNG\r\n\x1a\n")) return ImageFormat::png;
  if (bytes.starts_with("GIF8")) return ImageFormat::gif;
  if (bytes.starts_with("BM")) return ImageFormat::bmp;
  const bool is_riff = bytes.starts_with("RIFF") && bytes.size() >= 12;
  return is_riff && bytes.substr(8).starts_with("WEBP") ? ImageFormat::webp : ImageFormat::unknown;
}

bool is_image_extension(std::string_view extension) {
  std::string lower(extension);
  for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  constexpr std::array<std::string_view, 6> kKnown{"jpg", "jpeg", "png", "gif", "bmp", "webp"};
  return std::find(kKnown.begin(), kKnown.end(), lower) != kKnown.end();
}

namespace {

ImageHeader read_from(HeaderSource source) {
  ImageHeader header;
  header.format = format_of(source.read(0, 12));
  if (header.format == ImageFormat::jpeg) read_jpeg(source, header);
  if (header.format == ImageFormat::png) read_png(source, header);
  return header;
}

}  // namespace

ImageHeader read_header(std::string_view bytes) { return read_from(HeaderSource(bytes)); }

ImageHeader read_header(const ReadAt& read_at) { return read_from(HeaderSource(read_at)); }

}  // namespace infeed::image
