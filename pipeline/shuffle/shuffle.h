#pragma once

#include <cstdint>
#include <vector>

#include <infeed/pipeline/philox.h>
#include <infeed/pipeline/stage.h>

#include "engine/seeds/word_stream.h"

// The shuffle's arithmetic without its elements: which slot is handed out, and which element lies
// in which slot.
//
// A pass has n elements and a buffer of B slots. Hand-out t (0, 1, ...) draws word t of the pass's
// generator. Live positions are t .. min(n, t+B)-1, and position p lies in slot p mod B. The
// hand-out gives the content of slot i = (t + word mod live) mod B, and moves the content of slot j
// = t mod B there. Before hand-out t >= 1, input element t+B-1 (if there is one) goes to slot (t-1)
// mod B, which the previous hand-out has freed.
namespace infeed::detail {

/// Returns how many elements of the input have entered the buffer before the refill for hand-out
/// `handed_out` >= 1. It avoids adding to a count near the limit.
inline std::uint64_t elements_entered(std::uint64_t buffer, std::uint64_t input_count,
                                      std::uint64_t handed_out) {
  const std::uint64_t room = buffer - 1;
  return input_count > room && handed_out < input_count - room ? handed_out + room : input_count;
}

/// The origin of an element that is still in the buffer.
struct Buffered {
  std::uint64_t position;  ///< the element's place in the input
  std::uint64_t slot;
};

/// The buffer's content after `handed_out` >= 1 hand-outs, before the refill for the next one, in
/// the order of positions. `input_count` is the number of input elements (the largest number if
/// unknown).
///
/// The constructor walks the draws backwards until the content of every slot is known: O(buffer log
/// buffer) steps, however many hand-outs there were. It holds 8 bytes a slot if all elements come
/// from the first filling, and 16 to 24 otherwise.
class BufferContent {
 public:
  BufferContent(const Philox& generator, std::uint64_t buffer, std::uint64_t input_count,
                std::uint64_t handed_out);
  /// Returns the most bytes that it holds, for the same arguments, and a bit a slot to tell which
  /// are loaded.
  static std::uint64_t bytes_max(std::uint64_t buffer, std::uint64_t input_count,
                                 std::uint64_t handed_out);

  bool empty() const { return at_ == first_.size() && later_.empty(); }
  Buffered front() const {
    return at_ < first_.size() ? Buffered{at_, first_[at_]} : later_.back();
  }
  void pop();
  /// Returns how many elements from the front on, at most `most`, are neighbours in the input.
  std::size_t run_length(std::size_t most) const;

 private:
  void pass_over_nobody();

  /// The slots of the elements 0, 1, ... of the first filling, also while the constructor walks.
  std::vector<std::uint64_t> first_;
  std::uint64_t at_ = 0;         ///< the front's place in first_
  std::vector<Buffered> later_;  ///< elements that were refilled, the last one first
};

/// Returns the input element that hand-out `t` gives. Takes O(buffer) steps back, however many
/// hand-outs there were. `input_count` as above.
std::uint64_t input_position_of(const Philox& generator, std::uint64_t buffer,
                                std::uint64_t input_count, std::uint64_t t);

/// Computes x mod divisor by two multiplications instead of a division (Lemire, Kaser, Kurz 2019).
class FastModulo {
 public:
  explicit FastModulo(std::uint32_t divisor)
      : divisor_(divisor), reciprocal_(~std::uint64_t{0} / divisor + 1) {}

  std::uint32_t operator()(std::uint32_t x) const {
    if (divisor_ == 1) return 0;
    __extension__ using Wide = unsigned __int128;
    return static_cast<std::uint32_t>((static_cast<Wide>(reciprocal_ * x) * divisor_) >> 64);
  }

 private:
  std::uint64_t divisor_;
  std::uint64_t reciprocal_;
};

}  // namespace infeed::detail
