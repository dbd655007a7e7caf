#pragma once

#include <filesystem>
#include <string>

/// Why: both sides read the same files, which are made once and kept in the build folder.
namespace infeed::compare {

/// Writes the files that are missing below `folder`.
void make_data(const std::filesystem::path& folder);

/// Pattern of the 16 shards with the 60,000 training images.
std::filesystem::path fashion_mnist_shards(const std::filesystem::path& folder);

/// Pattern of the files of one kind of record: "image-784", "image-2k", "image-112k", "scalars",
/// "floats", "tokens", "text", "text-gzip", "text-one-gzip" (one file with flush points),
/// "text-lz4", and "photos", which photo_data.py makes.
std::filesystem::path record_files(const std::filesystem::path& folder, const std::string& kind);

/// Reads the files that fit the pattern. Runs are so long that the system drops pages that were
/// last read for the first row. Ours is measured first, so the peers find them, too.
void read_into_page_cache(const std::filesystem::path& pattern);

}  // namespace infeed::compare
