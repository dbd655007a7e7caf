#pragma once

#include <lz4.h>

#include "records/tfrecord/framed.h"

/// Record files in LZ4 blocks made by hand from records/lz4_format.md, independently of
/// RecordWriter.
namespace infeed::test {

inline std::string with_masked_crc(const std::string& bytes) {
  return bytes + little(mask_crc32c(crc32c(bytes)));
}

inline std::string lz4_block_header(std::size_t compressed_bytes, std::size_t stream_bytes,
                                    std::size_t records, std::size_t stream_offset,
                                    std::size_t first_record) {
  return with_masked_crc("LZ4B" + little(static_cast<std::uint32_t>(compressed_bytes)) +
                         little(static_cast<std::uint32_t>(stream_bytes)) +
                         little(static_cast<std::uint32_t>(records)) +
                         little(std::uint64_t{stream_offset}) +
                         little(std::uint64_t{first_record}));
}

inline std::string lz4_compressed(const std::string& bytes) {
  std::string out(bytes.size(), '\0');
  const int done = LZ4_compress_default(bytes.data(), out.data(), static_cast<int>(bytes.size()),
                                        static_cast<int>(out.size()) - 1);
  if (done <= 0) return bytes;
  out.resize(static_cast<std::size_t>(done));
  return out;
}

/// Makes one block for each piece of a stream; `records` is the claimed content of each.
inline std::string lz4_file(const std::vector<std::string>& pieces,
                            const std::vector<std::size_t>& records) {
  std::string file = with_masked_crc("INFEEDL4" + little(std::uint32_t{1}));
  std::string index;
  std::size_t stream_offset = 0;
  std::size_t first_record = 0;
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    index += little(std::uint64_t{file.size()}) + little(std::uint64_t{stream_offset}) +
             little(std::uint64_t{first_record});
    const std::string compressed = lz4_compressed(pieces[i]);
    file += lz4_block_header(compressed.size(), pieces[i].size(), records[i], stream_offset,
                             first_record);
    file += compressed;
    stream_offset += pieces[i].size();
    first_record += records[i];
  }
  file += lz4_block_header(0, 0, 0, stream_offset, first_record);
  return file + with_masked_crc(index + little(std::uint64_t{pieces.size()})) + "INFEEDLE";
}

}  // namespace infeed::test
