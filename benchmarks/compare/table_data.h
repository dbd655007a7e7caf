#pragma once

#include <filesystem>

namespace infeed::compare {

/// Writes a table of 4 integers, 4 floats and 2 texts a row: table.csv (200 MB), and table.jsonl
/// with the same rows (390 MB).
void make_table(const std::filesystem::path& folder);

/// Writes the files of `table` compressed by zstd at its usual level: table.csv.zst (80 MB) and
/// table.jsonl.zst (99 MB).
void make_zstd_table(const std::filesystem::path& folder, const std::filesystem::path& table);

}  // namespace infeed::compare
