#pragma once

#include <cstdint>
#include <string>

#include "infeed/records/url_options.h"

/// Why: whoever comes back to a URL later (the resumed conversion of what lies there) must see
/// whether the object is still the same one, without reading it.
///
///     infeed::examine_url("s3://bucket/table.csv").version  // "\"9a0364b9e99bb480\""
///
/// Thread-safety: a pure function of the store.
namespace infeed {

struct UrlObject {
  std::uint64_t size_bytes = 0;
  /// Its ETag, or else the date of its last change; empty where the server says neither.
  std::string version = {};
};

/// One request. Throws Error, as reading does (url_options.h).
UrlObject examine_url(const std::string& url, const UrlOptions& options = {});

}  // namespace infeed
