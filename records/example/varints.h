#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "example/wire.h"

/// Packed varints, many at a time.
///
/// Byte by byte, each value costs a mispredicted branch: token numbers have one to three bytes at
/// random. Here the ends of all values in 64 bytes are one bit mask, so finding the next value does
/// not wait for loading the last one, and no branch depends on a size.
namespace infeed::detail {

inline constexpr std::ptrdiff_t kVarintBlockBytes = 64;
/// That may be loaded.
inline constexpr std::ptrdiff_t kVarintLoadedBytes = kVarintBlockBytes + 8;

/// Decodes what begins in the 64 bytes at `at` (eight more may be loaded) into `out`, which has
/// room for 64. Returns the number of values; `at` goes behind the last one that is whole.
using UnpackBlock = std::size_t (*)(const char*& at, std::uint64_t* out);

/// Those that this machine can run, the fastest first.
std::vector<UnpackBlock> unpack_block_forms();
/// The fastest for this machine.
UnpackBlock choose_unpack_block();

/// visit(std::span<const std::uint64_t>), some values at a time (one call a value would keep the
/// caller's counter in memory: 2 ns); Error data_loss when the last one is cut.
template <class Visitor>
void visit_packed_varints(std::string_view run, Visitor&& visit) {
  std::array<std::uint64_t, kVarintBlockBytes> values;
  const char* at = run.data();
  const char* const end = at + run.size();
  if (end - at >= kVarintLoadedBytes) {
    const UnpackBlock unpack_block = choose_unpack_block();
    while (end - at >= kVarintLoadedBytes) {
      const std::size_t count = unpack_block(at, values.data());
      visit(std::span<const std::uint64_t>(values).first(count));
    }
  }
  std::size_t count = 0;
  WireReader rest({at, static_cast<std::size_t>(end - at)});
  while (!rest.is_at_end()) {
    values[count++] = rest.varint();
    if (count == values.size() || rest.is_at_end()) {
      visit(std::span<const std::uint64_t>(values).first(std::exchange(count, 0)));
    }
  }
}

}  // namespace infeed::detail
