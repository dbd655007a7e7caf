#include "convert/inputs/decoded_image_feature.h"

#include <cstdint>

#include <infeed/error.h>

#include "convert/inputs/image_decoder.h"

namespace infeed::tools {

void add_decoded_image(std::string_view encoded, std::string_view name, const std::string& prefix,
                       const std::string& file, ExampleBuilder& builder) {
  DecodedImage image;
  try {
    image = decode_image(encoded);
  } catch (const Error& error) {
    throw Error(error.code(), error.message()).at_file(file);
  }
  builder.bytes(name, image.pixels)
      .integers(prefix + "height", static_cast<std::int64_t>(image.height))
      .integers(prefix + "width", static_cast<std::int64_t>(image.width))
      .integers(prefix + "channels", static_cast<std::int64_t>(image.channels));
}

}  // namespace infeed::tools
