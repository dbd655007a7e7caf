#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "infeed/records/compression.h"
#include "infeed/records/url_options.h"

/// Why: datasets come as files of any format, often gzipped. This is a file's bytes (or a URL's:
/// url_options.h) from front to back, decompressed and checked, for readers of formats that are not
/// records.
///
///     infeed::ByteStream stream("table.csv.gz");
///     while (std::size_t got = stream.read(buffer)) use(std::span(buffer).first(got));
///
/// Errors: as opening a file; data_loss for a damaged or cut compressed stream, with the file.
///
/// Thread-safety: one thread at a time.
namespace infeed {

class ByteStream {
 public:
  /// Recognises the compression by content when it is automatic. Text may by chance begin like a
  /// zlib stream: whoever reads text says what it is.
  explicit ByteStream(const std::string& file, Compression compression = Compression::automatic,
                      const UrlOptions& url = {});
  ByteStream(ByteStream&&) noexcept;
  ByteStream& operator=(ByteStream&&) noexcept;
  ~ByteStream();

  /// Fills `into`; fewer bytes only at the end.
  std::size_t read(std::span<char> into);
  const std::string& file() const;

 private:
  class State;
  std::unique_ptr<State> state_;
};

}  // namespace infeed
