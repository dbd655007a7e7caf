#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <lz4frame.h>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "infeed/records/file.h"
#include "io/byte_source.h"
#include "io/input_file.h"
#include "parallel/segment_place.h"

/// Record files as LZ4 frames: those that we write, whose blocks end at records (lz4_format.md has
/// every byte), and those of other programs.
namespace infeed::detail {

inline constexpr std::string_view kLz4Magic = "\x04\x22\x4d\x18";
/// The most bytes of a block: they fit a reader's block, which is decoded into directly.
inline constexpr std::size_t kLz4BlockBytes = std::size_t{256} << 10;

class Lz4Encoder {
 public:
  using Sink = std::function<void(std::string_view)>;

  /// `level` is 0 to 3. Writes the frame's header at once.
  Lz4Encoder(int level, Sink sink);

  /// Writes whole records with their framing, at least one. They are one block if they fit
  /// (kLz4BlockBytes), else several.
  void write_records(std::string_view framed, std::uint64_t records);
  /// Writes the end mark and the index.
  void finish();

 private:
  void put(std::string_view bytes);

  const Sink sink_;
  const LZ4F_preferences_t preferences_;
  std::unique_ptr<LZ4F_cctx, decltype(&LZ4F_freeCompressionContext)> context_;
  std::vector<char> output_;
  SegmentPlace next_;
  std::vector<SegmentPlace> places_;
};

/// Decodes LZ4 frames. Damage costs a block where the file has our index and can be sought, else
/// the rest.
class Lz4Source : public ByteSource {
 public:
  /// Goes on with the blocks from `begin` to `end` of a file of ours, of which all must be good;
  /// the input was put to `begin`.
  virtual void begin_segment(const SegmentPlace& begin, const SegmentPlace& end) = 0;
};
std::unique_ptr<Lz4Source> make_lz4_source(const std::string& name,
                                           std::unique_ptr<ByteSource> input,
                                           std::size_t input_block_bytes);

/// Finds where records begin at the begin of a block, and where the last block ends. Checks all
/// that is not in blocks. Throws Error data_loss.
std::vector<SegmentPlace> read_lz4_places(const InputFile& file);

/// The same for a file of `size` bytes whose bytes `read_part` gives, fewer at its end. Throws
/// StreamDamage.
using ReadPart = std::function<std::string(std::uint64_t offset, std::uint64_t bytes)>;
std::vector<SegmentPlace> find_lz4_places(std::uint64_t size, const ReadPart& read_part);

}  // namespace infeed::detail
