#pragma once

#include <filesystem>

namespace infeed::compare {

/// Writes the lengths of 20,000 documents, in tokens: lengths.bin, int32 each. They are log-normal
/// with a mean of 600 and a median of 400, like texts from the web, at most 2048.
void make_documents(const std::filesystem::path& folder);

}  // namespace infeed::compare
