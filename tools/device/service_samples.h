#pragma once

#include <cstdint>
#include <string>
#include <vector>

/// Why: what a host needed for each batch is measured in one place (infeed pace) and replayed
/// through a slice in another (infeed step --virtual). Between the two lies a file that people and
/// other programs can write, too: microseconds, a number a line; what follows a # is a comment.
namespace infeed::tools {

/// In picoseconds, in the order of the file. Throws Error that names the line: no number, negative,
/// above 10^12 us; a file without any.
std::vector<std::int64_t> read_service_samples(const std::string& file);
std::vector<std::int64_t> parse_service_samples(const std::string& text, const std::string& file);

/// `ns` becomes such a file.
std::string service_samples_text(const std::vector<std::int64_t>& ns);

}  // namespace infeed::tools
