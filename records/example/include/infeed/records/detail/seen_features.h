#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace infeed::detail {

/// Marks the features of a record that were seen.
class SeenFeatures {
 public:
  static constexpr std::size_t kFeaturesMax = 1024;

  explicit SeenFeatures(std::size_t features) {
    std::memset(words_.data(), 0, (features + 63) / 64 * sizeof(std::uint64_t));
  }
  /// Returns false when the feature was seen before.
  bool add(std::size_t i) {
    std::uint64_t& word = words_[i / 64];
    const std::uint64_t bit = std::uint64_t{1} << (i % 64);
    const bool is_new = (word & bit) == 0;
    word |= bit;
    return is_new;
  }

 private:
  std::array<std::uint64_t, kFeaturesMax / 64> words_;
};

}  // namespace infeed::detail
