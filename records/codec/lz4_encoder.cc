#include <algorithm>
#include <fmt/format.h>
#include <lz4.h>
#include <lz4hc.h>
#include <utility>

#include "codec/lz4_file.h"
#include "codec/lz4_layout.h"
#include "infeed/error.h"
#include "io/little_endian.h"
#include "tfrecord/framing.h"

namespace infeed::detail {

std::string Lz4BlockHeader::encode() const {
  std::string bytes(kBytes, '\0');
  std::copy(kLz4BlockMagic.begin(), kLz4BlockMagic.end(), bytes.begin());
  store_little(bytes.data() + 4, compressed_bytes);
  store_little(bytes.data() + 8, stream_bytes);
  store_little(bytes.data() + 12, records);
  store_little(bytes.data() + 16, stream_offset);
  store_little(bytes.data() + 24, first_record);
  store_little(bytes.data() + 32, mask_crc32c(crc32c({bytes.data(), 32})));
  return bytes;
}

Lz4Encoder::Lz4Encoder(int level, Sink sink) : level_(level), sink_(std::move(sink)) {
  if (level < 0 || level > 3) {
    throw Error(
        ErrorCode::invalid_argument,
        fmt::format("compression_level is {}, for lz4 it goes from 0 (fastest) to 3 (smallest)",
                    level));
  }
  std::string header(kLz4Magic);
  header.resize(kLz4FileHeaderBytes);
  store_little(header.data() + 8, kLz4Version);
  store_little(header.data() + 12, mask_crc32c(crc32c({header.data(), 12})));
  put(header);
}

void Lz4Encoder::put(std::string_view bytes) {
  sink_(bytes);
  next_.file_offset += bytes.size();
}

/// 0 when there is nothing to gain.
std::size_t Lz4Encoder::compress(std::string_view bytes) {
  constexpr int kFastAcceleration = 8;
  constexpr int kGoodHcLevel = 4;
  const int size = static_cast<int>(bytes.size());
  // A result that is not smaller is not wanted, so it needs no room.
  const int room = size - 1;
  compressed_.resize(std::max(compressed_.size(), bytes.size()));
  int done = 0;
  if (level_ < 2) {
    done = LZ4_compress_fast(bytes.data(), compressed_.data(), size, room,
                             level_ == 0 ? kFastAcceleration : 1);
  } else {
    done = LZ4_compress_HC(bytes.data(), compressed_.data(), size, room,
                           level_ == 2 ? kGoodHcLevel : LZ4HC_CLEVEL_DEFAULT);
  }
  return static_cast<std::size_t>(std::max(done, 0));
}

void Lz4Encoder::write_block(std::string_view framed, std::uint32_t records) {
  const std::size_t size = compress(framed);
  const std::string_view stored = size == 0 ? framed : std::string_view(compressed_.data(), size);
  places_.push_back(next_);
  const Lz4BlockHeader header{static_cast<std::uint32_t>(stored.size()),
                              static_cast<std::uint32_t>(framed.size()), records,
                              next_.stream_offset, next_.first_record};
  put(header.encode());
  put(stored);
  next_.stream_offset += framed.size();
  next_.first_record += records;
}

void Lz4Encoder::finish() {
  put(Lz4BlockHeader{0, 0, 0, next_.stream_offset, next_.first_record}.encode());
  std::string index(places_.size() * SegmentPlace::kBytes + kLz4TrailerBytes, '\0');
  char* at = index.data();
  for (const SegmentPlace& place : places_) {
    place.store(at);
    at += SegmentPlace::kBytes;
  }
  store_little(at, std::uint64_t{places_.size()});
  const auto checked = static_cast<std::size_t>(at + 8 - index.data());
  store_little(at + 8, mask_crc32c(crc32c({index.data(), checked})));
  std::copy(kLz4TrailerMagic.begin(), kLz4TrailerMagic.end(), at + 12);
  put(index);
}

}  // namespace infeed::detail
