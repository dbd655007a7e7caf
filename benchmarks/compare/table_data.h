#pragma once

#include <filesystem>

namespace infeed::compare {

/// Writes a table of 4 integers, 4 floats and 2 texts a row: table.csv (200 MB), and table.jsonl
/// with the same rows (390 MB).
void make_table(const std::filesystem::path& folder);

/// Writes a table of 40 features a row, as models for clicks have it: 26 int64, i00 to i25, of which
/// one is the label, and 14 float32, f00 to f13: features.csv (50 MB).
void make_features(const std::filesystem::path& folder);

/// Writes the files of `table` compressed by zstd at its usual level: table.csv.zst (80 MB) and
/// table.jsonl.zst (99 MB).
void make_zstd_table(const std::filesystem::path& folder, const std::filesystem::path& table);

}  // namespace infeed::compare
