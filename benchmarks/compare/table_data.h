#pragma once

#include <filesystem>

namespace infeed::compare {

/// A table of 4 integers, 4 floats and 2 texts a row: table.csv (200 MB), and its first rows as
/// table.jsonl (100 MB).
void make_table(const std::filesystem::path& folder);

}  // namespace infeed::compare
