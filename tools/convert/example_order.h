#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

/// Why: the order of the examples is computed without a list of them. So a long conversion needs no
/// more memory than a short one, any shard can be made on its own, and only the seed is remembered.
namespace infeed::tools {

/// A permutation of 0 .. size-1, or the identity without a seed. A Feistel network of six rounds
/// over the next power of four, walked until it lands inside: about 50 ns.
///
///     ExampleOrder order(60'000, 42);
///     input.read(order.example_at(0), ...)   // the first of the shuffled order
///
/// Thread-safety: const access from any thread.
class ExampleOrder {
 public:
  ExampleOrder(std::uint64_t size, std::optional<std::uint64_t> seed);
  std::uint64_t example_at(std::uint64_t position) const;

 private:
  static constexpr std::size_t kRounds = 6;
  std::uint64_t permute(std::uint64_t value) const;

  std::uint64_t size_;
  bool is_shuffled_;
  unsigned half_bits_ = 0;
  std::array<std::uint64_t, kRounds> keys_{};
};

/// True if an example is among the `share` (0..1) kept for validation. A hash of its name decides,
/// so that it stays in its part when other examples come or go.
bool is_for_validation(std::string_view example_name, double share);

}  // namespace infeed::tools
