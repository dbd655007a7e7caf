#include "io/byte_source.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <unistd.h>
#include <utility>
#include <zlib.h>

#include "codec/lz4_file.h"
#include "codec/skippable_frame.h"
#include "codec/zstd_source.h"
#include "infeed/records/files.h"
#include "io/remote_files.h"
#include "parallel/zstd_frames.h"
#include "tfrecord/framing.h"

namespace infeed {

std::string_view to_string(Compression compression) {
  switch (compression) {
    case Compression::automatic:
      return "automatic";
    case Compression::none:
      return "plain";
    case Compression::gzip:
      return "gzip";
    case Compression::zlib:
      return "zlib";
    case Compression::lz4:
      return "lz4";
    case Compression::zstd:
      return "zstd";
  }
  return "unknown";
}

namespace detail {
namespace {

class RegularFileSource final : public ByteSource {
 public:
  RegularFileSource(File file, std::uint64_t size) : file_(std::move(file)), size_(size) {
    // Only a hint: the kernel then reads twice as far ahead.
    (void)::posix_fadvise(file_.descriptor(), 0, 0, POSIX_FADV_SEQUENTIAL);
  }
  std::size_t read(std::span<char> into) override {
    const std::size_t got = file_.read_before_error(offset_, into);
    if (got == 0 && !into.empty()) require_end(offset_, size_);
    offset_ += got;
    return got;
  }
  std::optional<std::uint64_t> size_bytes() const override { return size_; }
  const File* plain_file() const override { return &file_; }
  bool is_seekable() const override { return true; }
  void seek(std::uint64_t offset) override { offset_ = offset; }

 private:
  File file_;
  std::uint64_t size_;
  std::uint64_t offset_ = 0;
};

class PipeSource final : public ByteSource {
 public:
  PipeSource(File file, std::string prefix, std::stop_token stop)
      : file_(std::move(file)), prefix_(std::move(prefix)), stop_(std::move(stop)) {}
  std::size_t read(std::span<char> into) override {
    if (prefix_used_ == prefix_.size()) return file_.read_some(into, stop_);
    const std::size_t count = std::min(into.size(), prefix_.size() - prefix_used_);
    std::memcpy(into.data(), prefix_.data() + prefix_used_, count);
    prefix_used_ += count;
    return count;
  }

 private:
  File file_;
  std::string prefix_;
  std::stop_token stop_;
  std::size_t prefix_used_ = 0;
};

std::string read_prefix_of_pipe(const File& file, const std::stop_token& stop) {
  std::string prefix(kCompressionPrefixBytes, '\0');
  std::size_t size = 0;
  while (size < prefix.size()) {
    const std::size_t got = file.read_some(std::span(prefix).subspan(size), stop);
    if (got == 0) break;
    size += got;
  }
  prefix.resize(size);
  return prefix;
}

std::string read_prefix(const File& file) {
  std::string prefix(kCompressionPrefixBytes, '\0');
  prefix.resize(file.read_at(0, prefix));
  return prefix;
}

/// Opens a local file as its stored bytes, and recognises the compression.
OpenedSource open_local(const std::string& name, const SourceOptions& options) {
  File file = File::open_stream(name);
  OpenedSource opened{nullptr, options.compression, file.size_bytes()};
  std::string prefix;
  if (options.compression == Compression::automatic) {
    prefix = opened.file_bytes ? read_prefix(file) : read_prefix_of_pipe(file, options.url.stop);
    opened.compression = recognise_compression(prefix);
    opened.front = prefix;
  }
  opened.source = make_plain_source(std::move(file), std::move(prefix), options.url.stop);
  return opened;
}

/// True if something can be decompressed. One in 2,048 plain record files begins with two bytes that
/// may be zlib's, which are the length of its first record.
bool begins_a_zlib_stream(std::string_view prefix) {
  z_stream stream{};
  if (::inflateInit(&stream) != Z_OK) return true;  // there is no memory: reading will say so
  std::array<unsigned char, kHeaderBytes> some;
  stream.next_in = reinterpret_cast<unsigned char*>(const_cast<char*>(prefix.data()));
  stream.avail_in = static_cast<unsigned>(prefix.size());
  stream.next_out = some.data();
  stream.avail_out = static_cast<unsigned>(some.size());
  const int result = ::inflate(&stream, Z_SYNC_FLUSH);
  ::inflateEnd(&stream);
  return result != Z_DATA_ERROR;
}

}  // namespace

std::size_t block_bytes_for(const ByteSource& source, std::size_t bytes_max) {
  constexpr std::uint64_t kBytesMin = 4096;
  return static_cast<std::size_t>(std::min<std::uint64_t>(
      bytes_max, std::max(kBytesMin, source.size_bytes().value_or(bytes_max))));
}

void require_end(std::uint64_t found_bytes, std::uint64_t wanted_bytes) {
  if (found_bytes >= wanted_bytes) return;
  throw StreamDamage{
      fmt::format("the file became shorter while it was read: nothing is left at {} of "
                  "the {} bytes that it had",
                  found_bytes, wanted_bytes)};
}

std::unique_ptr<ByteSource> make_plain_source(File file, std::string prefix, std::stop_token stop) {
  const auto size = file.size_bytes();
  if (!size) {
    return std::make_unique<PipeSource>(std::move(file), std::move(prefix), std::move(stop));
  }
  return std::make_unique<RegularFileSource>(std::move(file), *size);
}

Compression recognise_compression(std::string_view prefix) {
  const auto byte = [prefix](std::size_t i) { return static_cast<unsigned char>(prefix[i]); };
  if (begins_with_record(prefix)) return Compression::none;
  const std::string_view frame = behind_skippable_frames(prefix);
  if (frame.starts_with(kLz4Magic)) return Compression::lz4;
  // A long skippable frame hides what follows it: zstd's writers begin with one, LZ4's don't.
  if (frame.starts_with(kZstdMagic) || frame.size() < prefix.size()) return Compression::zstd;
  if (prefix.size() >= 3 && byte(0) == 0x1f && byte(1) == 0x8b && byte(2) == 8) {
    return Compression::gzip;
  }
  // Deflate with a window of at most 32 KiB, a header sum that is a multiple of 31, no dictionary.
  if (prefix.size() >= 2 && (byte(0) & 0x0f) == 8 && (byte(0) >> 4) <= 7 &&
      (byte(0) * 256 + byte(1)) % 31 == 0 && (byte(1) & 0x20) == 0) {
    return begins_a_zlib_stream(prefix) ? Compression::zlib : Compression::none;
  }
  return Compression::none;
}

namespace {

/// Opens a path or URL as its stored bytes, and recognises the compression.
OpenedSource open_stored(const std::string& name, const SourceOptions& options) {
  return is_url(name) ? open_url_source(name, options) : open_local(name, options);
}

/// Puts what decompresses it on top of a source of stored bytes.
OpenedSource decompressed(OpenedSource opened, const std::string& name,
                          const SourceOptions& options) {
  switch (opened.compression) {
    case Compression::automatic:
    case Compression::none:
      break;
    case Compression::gzip:
    case Compression::zlib:
      opened.source = make_inflate_source(std::move(opened.source), opened.compression,
                                          options.input_block_bytes, options.trailing);
      break;
    case Compression::lz4:
      opened.source = make_lz4_source(name, std::move(opened.source), options.input_block_bytes);
      break;
    case Compression::zstd:
      if (opened.file_bytes && !is_url(name)) {
        if (auto frames = make_zstd_frames_source(name, options.input_block_bytes, options.ahead)) {
          opened.source = std::move(frames);
          break;
        }
      }
      opened.source = make_zstd_source(name, std::move(opened.source), options.input_block_bytes);
      break;
  }
  return opened;
}

}  // namespace

OpenedSource open_source(const std::string& name, const SourceOptions& options) {
  return decompressed(open_stored(name, options), name, options);
}

OpenedSource open_data_source(const std::string& name, const SourceOptions& options) {
  OpenedSource opened = open_stored(name, options);
  const bool is_recognised = options.compression == Compression::automatic;
  // It isn't opened again as what it is: the first bytes of a pipe were read.
  if (is_recognised && opened.compression == Compression::zlib)
    opened.compression = Compression::none;
  if (opened.compression == Compression::none) refuse_foreign_format(opened.front, name);
  return decompressed(std::move(opened), name, options);
}

std::optional<std::uint64_t> plain_file_bytes(const std::string& name, Compression compression) {
  std::error_code error;
  // A pipe is not even opened: its writer would take that for the reader that it waits for.
  if (!std::filesystem::is_regular_file(name, error)) return std::nullopt;
  try {
    const File file = File::open_to_read(name);
    if (compression == Compression::automatic) {
      compression = recognise_data_compression(read_prefix(file));
    }
    return compression == Compression::none ? file.size_bytes() : std::nullopt;
  } catch (const Error&) {
    return std::nullopt;
  }
}

}  // namespace detail
}  // namespace infeed
