#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <infeed/image/header.h>

#include "convert/images/image_options.h"

/// Why: one column of pixels wants one number of channels, and a user wants to know which images
/// were changed for that. The headers of all images say both before the first one is decoded.
namespace infeed::tools {

class ImageSurvey {
 public:
  void add(const image::ImageHeader& header);
  void merge(const ImageSurvey& other);

  /// Of the decoded images, as ImageOptions has it.
  std::size_t channels(const ImageOptions& options) const;
  /// Height, width, channels of the decoded images, when all have the same; else empty.
  std::vector<std::uint64_t> shape(const ImageOptions& options) const;
  /// What a user should know of these images, a line each.
  std::vector<std::string> notes(const ImageOptions& options) const;

 private:
  struct Size {
    std::size_t height;
    std::size_t width;
    bool operator==(const Size&) const = default;
  };
  std::vector<std::string> notes_of_decoding(const ImageOptions& options) const;

  std::uint64_t images_ = 0;  ///< whose header could be read
  std::map<std::size_t, std::uint64_t> by_channels_;
  std::uint64_t turned_ = 0;
  std::uint64_t cmyk_ = 0;
  std::uint64_t of_16_bits_ = 0;
  std::optional<Size> size_;  ///< upright, of the first
  bool has_one_size_ = true;
};

}  // namespace infeed::tools
