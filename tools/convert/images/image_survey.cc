#include "convert/images/image_survey.h"

#include <fmt/format.h>
#include <utility>

namespace infeed::tools {
namespace {

constexpr std::size_t kColour = 3;

std::string_view channels_text(std::size_t channels) {
  switch (channels) {
    case 1:
      return "grey";
    case 2:
      return "grey with alpha";
    case 3:
      return "RGB";
    default:
      return "RGB with alpha";
  }
}

std::string count_text(std::uint64_t count) {
  return fmt::format("{} image{}", count, count == 1 ? "" : "s");
}

}  // namespace

void ImageSurvey::add(const image::ImageHeader& header) {
  if (header.width == 0 || header.height == 0 || header.channels == 0) return;
  ++images_;
  ++by_channels_[header.channels];
  turned_ += header.orientation != 1 ? 1 : 0;
  cmyk_ += header.is_cmyk ? 1 : 0;
  of_16_bits_ += header.bits == 16 ? 1 : 0;
  Size size{header.height, header.width};
  if (header.orientation >= 5) std::swap(size.height, size.width);
  if (!size_) size_ = size;
  has_one_size_ = has_one_size_ && *size_ == size;
}

void ImageSurvey::merge(const ImageSurvey& other) {
  images_ += other.images_;
  for (const auto& [channels, count] : other.by_channels_) by_channels_[channels] += count;
  turned_ += other.turned_;
  cmyk_ += other.cmyk_;
  of_16_bits_ += other.of_16_bits_;
  has_one_size_ =
      has_one_size_ && other.has_one_size_ && (!size_ || !other.size_ || *size_ == *other.size_);
  if (!size_) size_ = other.size_;
}

std::size_t ImageSurvey::channels(const ImageOptions& options) const {
  if (options.channels != 0) return options.channels;
  if (by_channels_.size() != 1 || by_channels_.contains(2)) return kColour;
  return by_channels_.begin()->first;
}

std::vector<std::uint64_t> ImageSurvey::shape(const ImageOptions& options) const {
  if (options.width != 0) return {options.height, options.width, channels(options)};
  if (!size_ || !has_one_size_) return {};
  return {size_->height, size_->width, channels(options)};
}

std::vector<std::string> ImageSurvey::notes(const ImageOptions& options) const {
  if (options.decode) return notes_of_decoding(options);
  std::vector<std::string> notes;
  if (turned_ > 0) {
    notes.push_back(
        fmt::format("{} {} an Exif orientation, which many decoders ignore; "
                    "--decode-images writes them upright",
                    count_text(turned_), turned_ == 1 ? "has" : "have"));
  }
  if (cmyk_ > 0) {
    notes.push_back(
        fmt::format("{} {} CMYK, which many decoders refuse; --decode-images makes "
                    "them RGB",
                    count_text(cmyk_), cmyk_ == 1 ? "is" : "are"));
  }
  return notes;
}

std::vector<std::string> ImageSurvey::notes_of_decoding(const ImageOptions& options) const {
  std::vector<std::string> notes;
  const std::size_t wanted = channels(options);
  for (const auto& [channels, count] : by_channels_) {
    if (channels == wanted) continue;
    notes.push_back(
        fmt::format("{} of {} {} {}, and converted to {}; --channels chooses another "
                    "number of channels",
                    count_text(count), images_, count == 1 ? "is" : "are", channels_text(channels),
                    channels_text(wanted)));
  }
  if (turned_ > 0) {
    notes.push_back(
        fmt::format("{} turned upright, as the Exif orientation says", count_text(turned_)));
  }
  if (cmyk_ > 0) {
    notes.push_back(
        fmt::format("{} of CMYK converted to RGB, without a colour profile", count_text(cmyk_)));
  }
  if (of_16_bits_ > 0) {
    notes.push_back(fmt::format("{} of 16 bits a channel narrowed to 8", count_text(of_16_bits_)));
  }
  return notes;
}

}  // namespace infeed::tools
