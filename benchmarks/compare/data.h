#pragma once

#include <filesystem>

/// Why: both sides read the same files. They are made once and kept in the build folder.
namespace infeed::compare {

/// Writes what is not there yet below `folder`.
void make_data(const std::filesystem::path& folder);

/// Pattern of the 16 shards with the 60,000 training images.
std::filesystem::path fashion_mnist_shards(const std::filesystem::path& folder);

}  // namespace infeed::compare
