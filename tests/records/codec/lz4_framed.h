#pragma once

#include <lz4.h>
#include <lz4frame.h>
#include <stdexcept>

#include "records/codec/skippable.h"
#include "records/tfrecord/framed.h"

/// Record files in LZ4 frames: ours made by hand from records/lz4_format.md, independently of
/// RecordWriter, and others by the library.
namespace infeed::test {

/// Independent blocks of at most 256 KiB, without sizes or checksums.
inline const std::string kLz4Header = "\x04\x22\x4d\x18\x60\x50\xfb";
/// A block that decodes to nothing.
inline const std::string kLz4Promise{"\x01\0\0\0\0", 5};
constexpr std::uint32_t kLz4IndexMagic = 0x184d2a5d;

inline std::string lz4_block(const std::string& bytes) {
  std::string out(bytes.size(), '\0');
  const int done = LZ4_compress_default(bytes.data(), out.data(), static_cast<int>(bytes.size()),
                                        static_cast<int>(out.size()) - 1);
  if (done <= 0) return little(static_cast<std::uint32_t>(bytes.size()) | 0x80000000U) + bytes;
  out.resize(static_cast<std::size_t>(done));
  return little(static_cast<std::uint32_t>(done)) + out;
}

/// Makes one block for each piece of a stream (several if it is large); `records` is the claimed
/// content of each.
inline std::string lz4_file(const std::vector<std::string>& pieces,
                            const std::vector<std::size_t>& records) {
  constexpr std::size_t kBlockBytes = std::size_t{256} << 10;
  std::string file = kLz4Header + kLz4Promise;
  std::string index;
  std::size_t stream_offset = 0;
  std::size_t first_record = 0;
  const auto add_place = [&] {
    index += little(std::uint64_t{file.size()}) + little(std::uint64_t{stream_offset}) +
             little(std::uint64_t{first_record});
  };
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    add_place();
    for (std::size_t at = 0; at < pieces[i].size(); at += kBlockBytes) {
      file += lz4_block(pieces[i].substr(at, kBlockBytes));
    }
    stream_offset += pieces[i].size();
    first_record += records[i];
  }
  add_place();
  index += little(std::uint64_t{pieces.size()});
  index += little(mask_crc32c(crc32c(index))) + "INFEEDL2";
  return file + little(std::uint32_t{0}) + skippable_frame(index, kLz4IndexMagic);
}

/// Makes a frame as another program may write it.
inline std::string lz4_frame(std::string_view bytes, LZ4F_blockMode_t mode,
                             LZ4F_contentChecksum_t checksum, bool has_size = false) {
  LZ4F_preferences_t preferences{};
  preferences.frameInfo.blockSizeID = LZ4F_max64KB;
  preferences.frameInfo.blockMode = mode;
  preferences.frameInfo.contentChecksumFlag = checksum;
  preferences.frameInfo.contentSize = has_size ? bytes.size() : 0;
  std::string out(LZ4F_compressFrameBound(bytes.size(), &preferences), '\0');
  const std::size_t size =
      LZ4F_compressFrame(out.data(), out.size(), bytes.data(), bytes.size(), &preferences);
  if (LZ4F_isError(size) != 0) throw std::runtime_error("LZ4F_compressFrame");
  out.resize(size);
  return out;
}
inline std::string lz4_frame(std::string_view bytes) {
  return lz4_frame(bytes, LZ4F_blockLinked, LZ4F_contentChecksumEnabled);
}

}  // namespace infeed::test
