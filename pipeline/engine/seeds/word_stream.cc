#include "engine/seeds/word_stream.h"

#include "engine/seeds/philox_fill.h"

namespace infeed::detail {

void WordStream::refill() {
  philox_fill(generator_, filled_to_, words_);
  filled_to_ += words_.size();
  next_ = 0;
}

void WordStream::seek(std::uint64_t position) {
  filled_to_ = position / words_.size() * words_.size();
  refill();
  next_ = static_cast<std::size_t>(position % words_.size());
}

}  // namespace infeed::detail
