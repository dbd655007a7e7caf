#pragma once

#include <cstdint>
#include <stdexcept>
#include <vector>

#include <infeed/pipeline/philox.h>

/// tf.data's shuffle, word for word as on its reference page, one element at a time: slow and
/// obvious, to compare the real one with.
namespace infeed::test {

template <class T>
std::vector<T> reference_shuffle(const std::vector<T>& input, std::uint64_t buffer_size,
                                 Philox generator) {
  std::vector<T> buffer(
      static_cast<std::size_t>(std::min<std::uint64_t>(buffer_size, input.size() + 1)));
  const std::uint64_t slots = buffer.size();
  if (buffer_size != slots && input.size() >= slots) throw std::logic_error("slots");
  std::vector<T> output;
  std::uint64_t start = 0;
  std::uint64_t end = 0;
  std::size_t next_input = 0;
  while (true) {
    // 1. Fill while there is room and input.
    while (end - start < buffer_size && next_input < input.size()) {
      buffer[end % slots] = input[next_input++];
      ++end;
    }
    // 2. Nothing there: the end.
    if (start == end) return output;
    // 4. One word an element, also for the last.
    const std::uint64_t offset = generator() % (end - start);
    const std::uint64_t i = (start + offset) % slots;
    const std::uint64_t j = start % slots;
    output.push_back(buffer[i]);
    std::swap(buffer[i], buffer[j]);
    ++start;
  }
}

/// Returns the generator of pass `epoch`: words 2k and 2k+1 of the dataset's, or the dataset's
/// seeds.
inline Philox reference_generator(std::uint64_t seed, std::uint64_t seed2, std::uint64_t epoch,
                                  bool reshuffle_each_iteration) {
  if (!reshuffle_each_iteration) return Philox(seed, seed2);
  Philox epochs(seed, seed2);
  // Random access, since nested repeats number their passes far apart.
  epochs.seek(2 * epoch);
  const std::uint64_t first = epochs();
  const std::uint64_t second = epochs();
  return Philox(first, second);
}

/// (seed, seed2) of an operation seed without a global one.
inline constexpr std::uint64_t kDefaultGlobalSeed = 87'654'321;

}  // namespace infeed::test
