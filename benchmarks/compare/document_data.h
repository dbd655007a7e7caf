#pragma once

#include <filesystem>

namespace infeed::compare {

/// How long 20,000 documents are, in tokens: lengths.bin, int32 each. They are log-normal with a mean
/// of 600 and a median of 400, as of texts from the web, and none is longer than 2048.
void make_documents(const std::filesystem::path& folder);

}  // namespace infeed::compare
