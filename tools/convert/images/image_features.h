#pragma once

#include <string>
#include <string_view>

#include <infeed/records/example.h>

#include "convert/images/image_options.h"

/// Features of an image, for all inputs.
namespace infeed::tools {

struct ImagePlace {
  std::string_view column;
  std::string_view prefix;  ///< start of the names of the columns height, width and channels
  const std::string& file;  ///< for errors
};

/// Adds the features. Decoded: {column: the pixels, prefix + "height", "width", "channels":
/// integers}, upright, with `channels` channels. Otherwise {column: its bytes}, which are checked
/// first unless they are trusted. Errors: those of image::decode() and check_image(), with the
/// file.
void add_image(std::string_view encoded, const ImagePlace& place, const ImageOptions& options,
               std::size_t channels, ExampleBuilder& builder);

/// Returns the settings that the written bytes depend on, for the plan.
std::string describe_settings(const ImageOptions& options);

}  // namespace infeed::tools
