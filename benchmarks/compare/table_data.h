#pragma once

#include <filesystem>

namespace infeed::compare {

/// Writes a table of 4 integers, 4 floats and 2 texts a row: table.csv (200 MB), and table.jsonl
/// with the same rows (390 MB).
void make_table(const std::filesystem::path& folder);

}  // namespace infeed::compare
