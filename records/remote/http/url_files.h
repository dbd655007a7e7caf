#pragma once

#include <string>
#include <vector>

namespace infeed::detail {

/// What match_files() does for URLs.
std::vector<std::string> match_urls(const std::string& pattern);

}  // namespace infeed::detail
