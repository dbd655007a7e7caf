#pragma once

#include <string>
#include <string_view>

#include <infeed/records/example.h>

#include "convert/images/image_options.h"

/// How inputs hand out an image.
namespace infeed::tools {

struct ImagePlace {
  std::string_view column;
  std::string_view prefix;  ///< of the columns height, width and channels
  const std::string& file;  ///< for errors
};

/// Decoded: {column: the pixels, prefix + "height", "width", "channels": integers}, upright, with
/// `channels` channels. Else {column: its bytes}, which are checked first unless they are trusted.
/// Errors: of image::decode() and check_image(), with the file.
void add_image(std::string_view encoded, const ImagePlace& place, const ImageOptions& options,
               std::size_t channels, ExampleBuilder& builder);

/// Of the plan: what the written bytes depend on.
std::string describe_settings(const ImageOptions& options);

}  // namespace infeed::tools
