#pragma once

#include "cli/command_line.h"
#include "convert/images/image_options.h"

namespace infeed::tools {

/// Adds --decode-images, --channels, --resize and --trust-images; `options` must outlive the
/// command.
void add_image_options(CLI::App& command, ImageOptions& options);

}  // namespace infeed::tools
