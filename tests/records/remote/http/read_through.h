#pragma once

#include <string>

#include <infeed/records/byte_stream.h>

#include "records/remote/http/quick_retries.h"

namespace infeed::test {

/// Reads the content to its end.
inline void read_through(const std::string& url, const UrlOptions& options = quick_retries()) {
  ByteStream stream(url, Compression::none, options);
  std::string bytes(100'000, '\0');
  while (stream.read(bytes) != 0) continue;
}

}  // namespace infeed::test
