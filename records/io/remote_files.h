#pragma once

#include <memory>
#include <string>
#include <vector>

#include "io/byte_source.h"
#include "io/input_file.h"

/// The functions through which readers of files read by URL; remote/http defines them. A build
/// without it (INFEED_REMOTE=OFF) uses without_remote.cc, whose functions throw.
namespace infeed::detail {

std::unique_ptr<InputFile> open_url_file(const std::string& url, const UrlOptions& options);

/// Opens a URL as open_source() does, but without decompressing.
OpenedSource open_url_source(const std::string& url, const SourceOptions& options);

/// Matches URLs as match_files() does.
std::vector<std::string> match_urls(const std::string& pattern);

}  // namespace infeed::detail
