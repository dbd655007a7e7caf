#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <infeed/error.h>

/// Why: files outlive programs. Each format begins with its version, and a program that meets a
/// later one names it, the newest that it knows, and what to do. tests/versions keeps files of each
/// version.
namespace infeed::detail {

/// Returns the version in a line such as "infeed-checkpoint 1" by its name, "infeed-checkpoint".
/// Returns 0 for every other line.
std::uint32_t format_version(std::string_view line, std::string_view name);

/// Returns "the index has format version 2, and this infeed knows versions up to 1; use the infeed
/// that wrote it, or a newer one". `what` is the file's noun.
std::string later_format_text(std::string_view what, std::uint64_t found, std::uint64_t known);

/// Returns Error(failed_precondition) with that text. `otherwise` is what else helps: "make it anew".
Error later_format(std::string_view what, std::uint64_t found, std::uint64_t known,
                   std::string_view otherwise = {});

}  // namespace infeed::detail
