#pragma once

#include <cstddef>

/// The treatment of images on their way into a dataset.
namespace infeed::tools {

struct ImageOptions {
  bool decode = false;  ///< pixels instead of the files' bytes
  /// True: bytes are taken unchecked. False: every image is decoded once, so that the conversion
  /// finds a damaged one, not the training.
  bool trust = false;
  /// Channels of decoded images: 1 grey, 3 RGB, 4 RGB and alpha. 0: the number that all images
  /// have, if it is one of these, else 3.
  std::size_t channels = 0;
  /// Size of decoded images; 0: each keeps its own.
  std::size_t width = 0;
  std::size_t height = 0;
};

}  // namespace infeed::tools
