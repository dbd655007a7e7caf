#pragma once

#include <string>
#include <string_view>

#include <infeed/records/example.h>

/// How inputs hand out an image that is to be decoded.
namespace infeed::tools {

/// {name: the pixels, prefix + "height", "width", "channels": integers}; image_decoder.h says what
/// the pixels are. Errors: of decode_image(), at `file`.
void add_decoded_image(std::string_view encoded, std::string_view name, const std::string& prefix,
                       const std::string& file, ExampleBuilder& builder);

}  // namespace infeed::tools
