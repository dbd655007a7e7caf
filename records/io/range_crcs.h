#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string_view>

namespace infeed::detail {

/// Computes the CRC-32C of overlapping ranges of one stream, without hashing a byte again for each.
///
/// Why: after damage, every 12 bytes can be the valid header of a record that claims all the rest
/// of the file. A file made so on purpose would have a searching reader hash that rest once for
/// each header: a megabyte 80,000 times.
///
/// How: the state of the shift register is kept for every 64 hashed bytes. CRCs are linear: a
/// range's CRC is the state at its end, less the state at its begin, moved to the end by four
/// multiplications of polynomials. Only the two ends of the range, less than 128 bytes, are left to
/// hash. So each byte is hashed at most 1 + 127 / 12 times, however many headers there are. The
/// states take a sixteenth of the bytes between the two ends.
class RangeCrcs {
 public:
  /// Returns the CRC-32C of `bytes`, which lie at `offset` of the stream. Cheap while offsets grow;
  /// an offset before the kept states begins anew.
  std::uint32_t crc32c_of(std::string_view bytes, std::uint64_t offset);

  /// Offset up to which the stream is known; 0 when none of it is.
  std::uint64_t known_until() const { return end_; }
  /// Number of bytes hashed, for tests.
  std::uint64_t bytes_hashed() const { return bytes_hashed_; }

 private:
  static constexpr std::size_t kStepBytes = 64;

  void begin_at(std::uint64_t offset);
  void extend(std::string_view bytes, std::uint64_t offset);
  std::uint32_t update(std::uint32_t state, std::string_view bytes);

  // states_[i] is the register at begin_ + i * kStepBytes, begun with 0 where the first range
  // began. The last state is at end_.
  std::deque<std::uint32_t> states_;
  std::uint64_t begin_ = 0;
  std::uint64_t end_ = 0;
  std::uint64_t bytes_hashed_ = 0;
};

}  // namespace infeed::detail
