#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string_view>

namespace infeed::detail {

/// CRC-32C of ranges of one stream that overlap, without hashing any byte again for each of them.
///
/// Why: after damage, every 12 bytes can be the valid header of a record that claims all the rest
/// of the file. A file made so on purpose would have a searching reader hash it once a header: a
/// megabyte 80,000 times.
///
/// How: the state of the shift register is kept for every 64 bytes of what was hashed once. CRCs
/// are linear, so that of a range is the state at its end, less what the state at its begin has
/// become by then, which four multiplications of polynomials tell. What is left to hash are the
/// ends of the range, less than 128 bytes; so each byte is hashed at most 1 + 127 / 12 times,
/// however many headers there are. The states take a sixteenth of the bytes between the two ends.
class RangeCrcs {
 public:
  /// CRC-32C of `bytes`, which lie at `offset` of the stream. Cheap while offsets grow; one that
  /// lies before those of earlier calls begins anew.
  std::uint32_t crc32c_of(std::string_view bytes, std::uint64_t offset);

  /// The stream is known up to there; 0 when it is not at all.
  std::uint64_t known_until() const { return end_; }
  /// For tests of what this is for.
  std::uint64_t bytes_hashed() const { return bytes_hashed_; }

 private:
  static constexpr std::size_t kStepBytes = 64;

  void begin_at(std::uint64_t offset);
  void extend(std::string_view bytes, std::uint64_t offset);
  std::uint32_t update(std::uint32_t state, std::string_view bytes);

  // states_[i] is the register, begun with 0 where the first range began, at begin_ + i *
  // kStepBytes; the last one at end_.
  std::deque<std::uint32_t> states_;
  std::uint64_t begin_ = 0;
  std::uint64_t end_ = 0;
  std::uint64_t bytes_hashed_ = 0;
};

}  // namespace infeed::detail
