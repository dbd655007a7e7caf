#pragma once

#include <cstdint>
#include <string>

#include "infeed/records/url_options.h"

/// Why: a program that comes back to a URL later (a resumed conversion) must see whether the object
/// is still the same one, without reading it.
///
///     infeed::examine_url("s3://bucket/table.csv").version  // "\"9a0364b9e99bb480\""
///
/// Thread-safety: a pure function of the store.
namespace infeed {

struct UrlObject {
  std::uint64_t size_bytes = 0;
  /// The object's ETag, or else the date of its last change. Empty where the server says neither.
  std::string version = {};
};

/// Sends one request. Throws the errors of reading (url_options.h).
UrlObject examine_url(const std::string& url, const UrlOptions& options = {});

}  // namespace infeed
