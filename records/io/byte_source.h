#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "infeed/records/compression.h"
#include "infeed/records/file.h"
#include "infeed/records/url_options.h"

/// A stream of bytes, read front to back: what a reader of records stands on.
namespace infeed::detail {

/// The stream itself (not a record in it) is damaged.
struct StreamDamage {
  std::string message;
  /// Where in the stream (counted without the damage) the next read goes on; nothing when it is
  /// over.
  std::optional<std::uint64_t> resumes_at = std::nullopt;
};

class ByteSource {
 public:
  virtual ~ByteSource() = default;
  /// What is at hand, at least a byte; 0 is the end. Throws Error (system) or StreamDamage.
  virtual std::size_t read(std::span<char> into) = 0;
  /// Length of the stream where it is known beforehand.
  virtual std::optional<std::uint64_t> size_bytes() const { return std::nullopt; }
  /// Room that the next read can fill without copying; 0 when it does not matter.
  virtual std::size_t room_preferred() const { return 0; }
  virtual bool is_seekable() const { return false; }
  virtual void seek(std::uint64_t) {}
};

/// Throws StreamDamage where a file of `wanted_bytes` when it was opened ends at `found_bytes`. That
/// may be the border of a record, and so pass for a good end.
void require_end(std::uint64_t found_bytes, std::uint64_t wanted_bytes);

/// A file's bytes as they are. `prefix` was read from a pipe already.
std::unique_ptr<ByteSource> make_plain_source(File file, std::string prefix);

enum class TrailingStreams { read, ignore_like_tensorflow };

/// Inflates one or several gzip members or zlib streams, checksums verified.
std::unique_ptr<ByteSource> make_inflate_source(std::unique_ptr<ByteSource> input,
                                                Compression compression,
                                                std::size_t input_block_bytes,
                                                TrailingStreams trailing);

/// As much of a file's front as recognise_compression() needs.
inline constexpr std::size_t kCompressionPrefixBytes = 16;

/// What a file that begins with `prefix` is.
Compression recognise_compression(std::string_view prefix);

struct OpenedSource {
  std::unique_ptr<ByteSource> source;
  Compression compression;
  std::optional<std::uint64_t> file_bytes;
};

struct SourceOptions {
  Compression compression = Compression::automatic;
  std::size_t input_block_bytes = std::size_t{256} << 10;
  TrailingStreams trailing = TrailingStreams::read;
  UrlOptions url = {};
};

/// By path or URL.
OpenedSource open_source(const std::string& file, const SourceOptions& options);
/// The same for text and for data of any kind, which may by chance begin as a zlib stream does
/// ("x^2,..."): nobody keeps those in one, so zlib has to be named.
OpenedSource open_data_source(const std::string& file, SourceOptions options);

/// The size of a regular file that open_data_source() would give as it is; nothing for one that is
/// compressed, no regular file, or can't be opened.
std::optional<std::uint64_t> plain_file_bytes(const std::string& file, Compression compression);

}  // namespace infeed::detail
