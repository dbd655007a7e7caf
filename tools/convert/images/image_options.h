#pragma once

#include <cstddef>

/// What is to be done with images on their way into a dataset.
namespace infeed::tools {

struct ImageOptions {
  bool decode = false;  ///< pixels instead of the files' bytes
  /// Bytes are taken as they are. Else every image is decoded once, so that a damaged one is found
  /// by the conversion and not by the training.
  bool trust = false;
  /// Of decoded images: 1 grey, 3 RGB, 4 RGB and alpha. 0: what all images have when that is one of
  /// these, else 3.
  std::size_t channels = 0;
  /// Of decoded images; 0: each keeps its own.
  std::size_t width = 0;
  std::size_t height = 0;
};

}  // namespace infeed::tools
