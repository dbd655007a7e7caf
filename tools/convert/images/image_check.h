#pragma once

#include <string_view>

namespace infeed::tools {

/// Checks that an image which is passed on unchanged can be decoded. JPEG and PNG are decoded once.
/// GIF, BMP and WebP have no decoder here; their structure is followed to its end. Throws data_loss
/// or invalid_argument with the fault, without the name of a file.
void check_image(std::string_view bytes);

}  // namespace infeed::tools
