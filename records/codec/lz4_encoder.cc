#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <new>
#include <utility>

#include "codec/lz4_file.h"
#include "codec/lz4_layout.h"
#include "infeed/error.h"
#include "io/little_endian.h"
#include "tfrecord/framing.h"

namespace infeed::detail {
namespace {

LZ4F_preferences_t preferences_of(int level) {
  // LZ4's own levels: below 0 it looks less often for repeated bytes, from 3 on it takes its time.
  constexpr std::array<int, 4> kLevels = {-7, 0, 4, 9};
  if (level < 0 || level >= static_cast<int>(kLevels.size())) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("compression_level is {}, for lz4 it goes from 0 (fastest) to 3 "
                            "(smallest)",
                            level));
  }
  LZ4F_preferences_t preferences{};
  preferences.frameInfo.blockSizeID = LZ4F_max256KB;
  preferences.frameInfo.blockMode = LZ4F_blockIndependent;
  preferences.compressionLevel = kLevels.at(static_cast<std::size_t>(level));
  preferences.autoFlush = 1;  // each write ends a block
  return preferences;
}

std::size_t checked_size(std::size_t result) {
  if (LZ4F_isError(result) == 0) return result;
  throw Error(ErrorCode::internal,
              fmt::format("compressing failed: {}", LZ4F_getErrorName(result)));
}

}  // namespace

Lz4Encoder::Lz4Encoder(int level, Sink sink)
    : sink_(std::move(sink)),
      preferences_(preferences_of(level)),
      context_(nullptr, &LZ4F_freeCompressionContext),
      output_(LZ4F_compressBound(kLz4BlockBytes, &preferences_)) {
  LZ4F_cctx* context = nullptr;
  if (LZ4F_isError(LZ4F_createCompressionContext(&context, LZ4F_VERSION)) != 0) {
    throw std::bad_alloc();
  }
  context_.reset(context);
  checked_size(LZ4F_compressBegin(context, output_.data(), output_.size(), &preferences_));
  put(kLz4FrameHeader);  // begins with what was compressed
}

void Lz4Encoder::put(std::string_view bytes) {
  sink_(bytes);
  next_.file_offset += bytes.size();
}

void Lz4Encoder::write_records(std::string_view framed, std::uint64_t records) {
  places_.push_back(next_);
  next_.stream_offset += framed.size();
  next_.first_record += records;
  while (!framed.empty()) {
    const std::string_view block = framed.substr(0, kLz4BlockBytes);
    put({output_.data(),
         checked_size(LZ4F_compressUpdate(context_.get(), output_.data(), output_.size(),
                                          block.data(), block.size(), nullptr))});
    framed.remove_prefix(block.size());
  }
}

void Lz4Encoder::finish() {
  places_.push_back(next_);
  put({output_.data(),
       checked_size(LZ4F_compressEnd(context_.get(), output_.data(), output_.size(), nullptr))});
  const std::size_t index_bytes = places_.size() * SegmentPlace::kBytes + kLz4TrailerBytes;
  std::string frame(kSkippableHeaderBytes + index_bytes, '\0');
  store_little(frame.data(), kLz4IndexMagic);
  store_little(frame.data() + 4, static_cast<std::uint32_t>(index_bytes));
  char* const index = frame.data() + kSkippableHeaderBytes;
  char* at = index;
  for (const SegmentPlace& place : places_) {
    place.store(at);
    at += SegmentPlace::kBytes;
  }
  store_little(at, std::uint64_t{places_.size() - 1});
  const auto checked = static_cast<std::size_t>(at + 8 - index);
  store_little(at + 8, mask_crc32c(crc32c({index, checked})));
  std::copy(kLz4TrailerMagic.begin(), kLz4TrailerMagic.end(), at + 12);
  put(frame);
}

}  // namespace infeed::detail
