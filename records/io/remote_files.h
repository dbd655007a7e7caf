#pragma once

#include <memory>
#include <string>
#include <vector>

#include "io/byte_source.h"
#include "io/input_file.h"

/// All that reading by URL is to the readers of files; the functions are in remote/http. A build
/// without it (INFEED_REMOTE=OFF) has those of without_remote.cc, which say so.
namespace infeed::detail {

std::unique_ptr<InputFile> open_url_file(const std::string& url, const UrlOptions& options);

/// What open_source() does, but decompressing.
OpenedSource open_url_source(const std::string& url, const SourceOptions& options);

/// What match_files() does.
std::vector<std::string> match_urls(const std::string& pattern);

}  // namespace infeed::detail
