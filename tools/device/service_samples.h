#pragma once

#include <cstdint>
#include <string>
#include <vector>

/// Why: `infeed pace` measures the time that a host needs for each batch, and `infeed step
/// --virtual` replays such times through a slice. They meet in a file that people and other
/// programs can write, too: microseconds, a number a line; a # begins a comment.
namespace infeed::tools {

/// Returns the times in picoseconds, in the order of the text of `file`. Throws Error that names the
/// line: no number, negative, above 10^12 us; a text without any.
std::vector<std::int64_t> parse_service_samples(const std::string& text, const std::string& file);

/// Returns the text of such a file for the times `ns`.
std::string service_samples_text(const std::vector<std::int64_t>& ns);

}  // namespace infeed::tools
