#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "infeed/records/file.h"
#include "io/byte_source.h"
#include "io/input_file.h"
#include "parallel/segment_place.h"

/// Record files in independent LZ4 blocks; lz4_format.md has every byte.
namespace infeed::detail {

inline constexpr std::string_view kLz4Magic = "INFEEDL4";
/// Bytes a writer gathers for a block: they fit a reader's block, which is decoded into directly.
inline constexpr std::size_t kLz4BlockBytes = std::size_t{256} << 10;
/// A larger record is refused.
inline constexpr std::size_t kLz4BlockBytesMax = std::size_t{1} << 30;

struct Lz4BlockHeader {
  static constexpr std::size_t kBytes = 36;

  std::uint32_t compressed_bytes = 0;
  std::uint32_t stream_bytes = 0;
  std::uint32_t records = 0;
  std::uint64_t stream_offset = 0;
  std::uint64_t first_record = 0;

  /// Nothing when the 36 bytes are no header.
  static std::optional<Lz4BlockHeader> load(const char* at);
  std::string encode() const;
  bool is_end_mark() const { return stream_bytes == 0; }
};

class Lz4Encoder {
 public:
  using Sink = std::function<void(std::string_view)>;

  /// `level` is 0 to 3. Writes the file's header at once.
  Lz4Encoder(int level, Sink sink);

  /// Whole records with their framing, at least one, kLz4BlockBytesMax at most.
  void write_block(std::string_view framed, std::uint32_t records);
  /// End mark and index.
  void finish();

 private:
  std::size_t compress(std::string_view bytes);
  void put(std::string_view bytes);

  const int level_;
  const Sink sink_;
  std::vector<char> compressed_;
  SegmentPlace next_;
  std::vector<SegmentPlace> places_;
};

/// Decodes such a file. Damage costs a block.
class Lz4Source : public ByteSource {
 public:
  /// Goes on with the block there; the input was put to its file offset.
  virtual void restart_at(const SegmentPlace& place) = 0;
};
std::unique_ptr<Lz4Source> make_lz4_source(const std::string& name,
                                           std::unique_ptr<ByteSource> input,
                                           std::size_t input_block_bytes);

/// Where the blocks of a file are, and where the last one ends. Checks all that is not in blocks;
/// throws Error data_loss.
std::vector<SegmentPlace> read_lz4_places(const InputFile& file);

}  // namespace infeed::detail
