#include "convert/example_order.h"

namespace infeed::tools {
namespace {

/// SplitMix64's output function (Steele, Lea, Flood 2014): every input bit changes half the output.
std::uint64_t mixed(std::uint64_t value) {
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9U;
  value = (value ^ (value >> 27)) * 0x94d049bb133111ebU;
  return value ^ (value >> 31);
}

}  // namespace

ExampleOrder::ExampleOrder(std::uint64_t size, std::optional<std::uint64_t> seed)
    : size_(size), is_shuffled_(seed.has_value()) {
  while (half_bits_ < 32 && (std::uint64_t{1} << (2 * half_bits_)) < size) ++half_bits_;
  for (std::size_t round = 0; is_shuffled_ && round < kRounds; ++round) {
    keys_.at(round) = mixed(*seed + 0x9e3779b97f4a7c15U * (round + 1));
  }
}

std::uint64_t ExampleOrder::permute(std::uint64_t value) const {
  const std::uint64_t mask = (std::uint64_t{1} << half_bits_) - 1;
  std::uint64_t left = value >> half_bits_;
  std::uint64_t right = value & mask;
  for (const std::uint64_t key : keys_) {
    const std::uint64_t next = left ^ (mixed(right + key) & mask);
    left = right;
    right = next;
  }
  return left << half_bits_ | right;
}

std::uint64_t ExampleOrder::example_at(std::uint64_t position) const {
  if (!is_shuffled_) return position;
  // The network permutes up to four times as many numbers. Following its cycle from an inside
  // number until the next inside one permutes the inside numbers.
  std::uint64_t value = position;
  do {
    value = permute(value);
  } while (value >= size_);
  return value;
}

bool is_for_validation(std::string_view example_name, double share) {
  std::uint64_t hash = 0xcbf29ce484222325U;  // FNV-1a, whose upper bits need the mixing
  for (const char c : example_name) {
    hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
  }
  const double uniform = static_cast<double>(mixed(hash) >> 11) * 0x1p-53;
  return uniform < share;
}

}  // namespace infeed::tools
