#pragma once

#include <cstdint>
#include <fstream>
#include <random>
#include <string>
#include <vector>

/// Small datasets in the form of Fashion-MNIST's IDX files.
namespace infeed::test {

inline std::string big_endian(std::uint32_t value) {
  return {static_cast<char>(value >> 24), static_cast<char>(value >> 16),
          static_cast<char>(value >> 8), static_cast<char>(value)};
}

/// Writes `images` of `side` x `side` pixels.
inline void write_images(const std::string& file, std::uint32_t side,
                         const std::vector<std::string>& images) {
  std::ofstream out(file, std::ios::binary);
  out << std::string("\0\0\x08\x03", 4) << big_endian(static_cast<std::uint32_t>(images.size()))
      << big_endian(side) << big_endian(side);
  for (const std::string& image : images) out << image;
}

inline void write_labels(const std::string& file, const std::string& labels) {
  std::ofstream(file, std::ios::binary)
      << std::string("\0\0\x08\x01", 4) << big_endian(static_cast<std::uint32_t>(labels.size()))
      << labels;
}

/// Writes 28x28 images that a classifier can learn: class c is bright in rows 2c and 2c+1, noise
/// elsewhere. They are the files of one half of a dataset ("train" or "t10k").
inline void write_half(const std::string& folder, const std::string& prefix, std::uint32_t count,
                       std::uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<std::string> images;
  std::string labels;
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::size_t label = random() % 10;
    std::string image(28 * 28, '\0');
    for (char& pixel : image) pixel = static_cast<char>(random() % 64);
    for (std::size_t at = label * 56; at < label * 56 + 56; ++at) image[at] = '\xC0';
    images.push_back(image);
    labels.push_back(static_cast<char>(label));
  }
  write_images(folder + "/" + prefix + "-images-idx3-ubyte", 28, images);
  write_labels(folder + "/" + prefix + "-labels-idx1-ubyte", labels);
}

inline void write_dataset(const std::string& folder, std::uint32_t training_images = 3000,
                          std::uint32_t test_images = 600) {
  write_half(folder, "train", training_images, 1);
  write_half(folder, "t10k", test_images, 2);
}

}  // namespace infeed::test
