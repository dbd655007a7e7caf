#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "infeed/records/compression.h"
#include "infeed/records/url_options.h"

/// Why: datasets come as files of any format, often gzipped. A ByteStream gives the bytes of a file
/// (or of a URL: url_options.h) from front to back, decompressed and checked, to readers of formats
/// that are not records.
///
///     infeed::ByteStream stream("table.csv.gz");
///     while (std::size_t got = stream.read(buffer)) use(std::span(buffer).first(got));
///
/// Errors: those of opening a file; data_loss with the file for a damaged or cut compressed stream.
///
/// Thread-safety: one thread at a time.
namespace infeed {

class ByteStream {
 public:
  /// Recognises an automatic compression by content. Text may by chance begin like a zlib stream,
  /// so a reader of text names the compression.
  explicit ByteStream(const std::string& file, Compression compression = Compression::automatic,
                      const UrlOptions& url = {});
  ByteStream(ByteStream&&) noexcept;
  ByteStream& operator=(ByteStream&&) noexcept;
  ~ByteStream();

  /// Fills `into` and returns the bytes read: fewer only at the end.
  std::size_t read(std::span<char> into);
  const std::string& file() const;

 private:
  class State;
  std::unique_ptr<State> state_;
};

}  // namespace infeed
