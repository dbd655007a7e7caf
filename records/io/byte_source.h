#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "infeed/records/compression.h"
#include "infeed/records/detail/data_front.h"
#include "infeed/records/detail/threads_ahead.h"
#include "infeed/records/file.h"
#include "infeed/records/url_options.h"

/// A stream of bytes, read front to back, which readers of records stand on.
namespace infeed::detail {

/// Damage of the stream itself, not of a record in it.
struct StreamDamage {
  std::string message;
  /// Place in the stream (counted without the damage) where the next read goes on; empty when the
  /// stream is over.
  std::optional<std::uint64_t> resumes_at = std::nullopt;
};

class ByteSource {
 public:
  virtual ~ByteSource() = default;
  /// Reads the bytes at hand, at least one. Returns 0 at the end. Throws Error (system) or
  /// StreamDamage.
  virtual std::size_t read(std::span<char> into) = 0;
  /// Length of the stream, if known beforehand.
  virtual std::optional<std::uint64_t> size_bytes() const { return std::nullopt; }
  /// Room that the next read can fill without copying; 0 when it does not matter.
  virtual std::size_t room_preferred() const { return 0; }
  /// Returns the file on a disk whose bytes these are; null for all else.
  virtual const File* plain_file() const { return nullptr; }
  virtual bool is_seekable() const { return false; }
  virtual void seek(std::uint64_t) {}
};

/// Returns how large a block of at most `bytes_max` must be for what `source` gives: many open files
/// that are small hold little.
std::size_t block_bytes_for(const ByteSource& source, std::size_t bytes_max);

/// Throws StreamDamage where a file that had `wanted_bytes` when it was opened ends at
/// `found_bytes`. That place may be the border of a record, and so pass for a good end.
void require_end(std::uint64_t found_bytes, std::uint64_t wanted_bytes);

/// Gives a file's bytes as they are. `prefix` was already read from a pipe, for which `stop` ends
/// waiting.
std::unique_ptr<ByteSource> make_plain_source(File file, std::string prefix,
                                              std::stop_token stop = {});

enum class TrailingStreams { read, ignore_like_tensorflow };

/// Inflates one or several gzip members or zlib streams and verifies their checksums.
std::unique_ptr<ByteSource> make_inflate_source(std::unique_ptr<ByteSource> input,
                                                Compression compression,
                                                std::size_t input_block_bytes,
                                                TrailingStreams trailing);

/// Bytes at a file's front that recognise_compression() needs.
inline constexpr std::size_t kCompressionPrefixBytes = kDataFrontBytes;

/// Recognises the compression of a record file that begins with `prefix`.
Compression recognise_compression(std::string_view prefix);

struct OpenedSource {
  std::unique_ptr<ByteSource> source;
  Compression compression;
  std::optional<std::uint64_t> file_bytes;
  std::string front = {};  ///< the first bytes, if the compression was recognised by them
};

struct SourceOptions {
  Compression compression = Compression::automatic;
  std::size_t input_block_bytes = std::size_t{256} << 10;
  TrailingStreams trailing = TrailingStreams::read;
  UrlOptions url = {};
  ThreadsAhead ahead = {};
};

/// Opens a path or URL.
OpenedSource open_source(const std::string& file, const SourceOptions& options);
/// Opens text or data of any kind (recognise_data_compression()); zlib has to be named.
OpenedSource open_data_source(const std::string& file, const SourceOptions& options);

/// Returns the size of a regular file that open_data_source() would give as it is. Empty for a file
/// that is compressed, not regular, or can't be opened.
std::optional<std::uint64_t> plain_file_bytes(const std::string& file, Compression compression);

}  // namespace infeed::detail
