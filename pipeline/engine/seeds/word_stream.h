#pragma once

#include <array>
#include <cstdint>

#include <infeed/pipeline/philox.h>

namespace infeed::detail {

/// The random words of one pass in order. They are computed 256 at a time.
class WordStream {
 public:
  explicit WordStream(const Philox& generator) : generator_(generator) {}

  std::uint32_t operator()() {
    if (next_ == words_.size()) refill();
    return words_[next_++];
  }
  void seek(std::uint64_t position);
  const Philox& generator() const { return generator_; }

 private:
  void refill();

  Philox generator_;
  std::uint64_t filled_to_ = 0;  ///< position after the last word of words_
  std::array<std::uint32_t, 256> words_{};
  std::size_t next_ = words_.size();
};

}  // namespace infeed::detail
