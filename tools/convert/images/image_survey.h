#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <infeed/image/header.h>

#include "convert/images/image_options.h"

/// Why: one column of pixels has one number of channels, and a user wants to know which images were
/// changed for that. The headers of all images tell both before the first one is decoded.
namespace infeed::tools {

class ImageSurvey {
 public:
  void add(const image::ImageHeader& header);
  void merge(const ImageSurvey& other);

  /// Channels of the decoded images, as ImageOptions::channels defines them.
  std::size_t channels(const ImageOptions& options) const;
  /// Height, width and channels of the decoded images if all are equal; otherwise empty.
  std::vector<std::uint64_t> shape(const ImageOptions& options) const;
  /// Facts that a user should know about these images, a line each.
  std::vector<std::string> notes(const ImageOptions& options) const;

 private:
  struct Size {
    std::size_t height;
    std::size_t width;
    bool operator==(const Size&) const = default;
  };
  std::vector<std::string> notes_of_decoding(const ImageOptions& options) const;

  std::uint64_t images_ = 0;  ///< those with a readable header
  std::map<std::size_t, std::uint64_t> by_channels_;
  std::uint64_t turned_ = 0;
  std::uint64_t cmyk_ = 0;
  std::uint64_t of_16_bits_ = 0;
  std::optional<Size> size_;  ///< upright size of the first image
  bool has_one_size_ = true;
};

}  // namespace infeed::tools
