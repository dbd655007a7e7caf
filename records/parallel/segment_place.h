#pragma once

#include <cstddef>
#include <cstdint>

#include "io/little_endian.h"
#include "tfrecord/framing.h"

namespace infeed::detail {

/// A place in a compressed file, at the front of a record, where decoding can begin without the
/// bytes before it. Our files store it as three little-endian numbers.
struct SegmentPlace {
  static constexpr std::size_t kBytes = 24;

  std::uint64_t file_offset = 0;
  std::uint64_t stream_offset = 0;
  std::uint64_t first_record = 0;
  bool operator==(const SegmentPlace&) const = default;

  static SegmentPlace load(const char* at) {
    return {load_little<std::uint64_t>(at), load_little<std::uint64_t>(at + 8),
            load_little<std::uint64_t>(at + 16)};
  }
  void store(char* at) const {
    store_little(at, file_offset);
    store_little(at + 8, stream_offset);
    store_little(at + 16, first_record);
  }
  /// True if `next` can be the place that follows.
  bool may_precede(const SegmentPlace& next) const {
    return file_offset < next.file_offset && stream_offset < next.stream_offset &&
           first_record < next.first_record;
  }
};

}  // namespace infeed::detail
