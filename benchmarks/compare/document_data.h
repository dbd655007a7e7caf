#pragma once

#include <filesystem>

namespace infeed::compare {

/// Writes the lengths of 20,000 documents, in tokens: lengths.bin, int32 each. They are log-normal
/// with a mean of 600 and a median of 400, like texts from the web, at most 2048.
void make_documents(const std::filesystem::path& folder);

/// Writes documents of these lengths, an object {"tokens": [...]} a line: documents.jsonl (70 MB).
void make_json_documents(const std::filesystem::path& folder,
                         const std::filesystem::path& documents);

}  // namespace infeed::compare
