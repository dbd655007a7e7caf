#pragma once

#include <string_view>

namespace infeed::tools {

/// Whether an image that is passed on as it is can be decoded. JPEG and PNG are, once; of GIF, BMP
/// and WebP, which nothing here decodes, the structure is followed to its end. Error data_loss or
/// invalid_argument: what is wrong; without the name of a file.
void check_image(std::string_view bytes);

}  // namespace infeed::tools
