#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "example/wire.h"

/// Decodes packed varints, many at a time.
///
/// Byte by byte, each value costs a mispredicted branch: token numbers have one to three bytes at
/// random. Here the ends of all values in 64 bytes are one bit mask. So finding the next value does
/// not wait for loading the last one, and no branch depends on a size.
namespace infeed::detail {

inline constexpr std::ptrdiff_t kVarintBlockBytes = 64;
/// Bytes that may be loaded for a block.
inline constexpr std::ptrdiff_t kVarintLoadedBytes = kVarintBlockBytes + 8;

/// Decodes the values that begin in the 64 bytes at `at` (eight more may be loaded) into `out`,
/// which has room for 64. Returns their number, and moves `at` behind the last whole one.
using UnpackBlock = std::size_t (*)(const char*& at, std::uint64_t* out);

/// Returns the forms that this machine can run, the fastest first.
std::vector<UnpackBlock> unpack_block_forms();
/// Returns the fastest form for this machine.
UnpackBlock choose_unpack_block();

/// Calls visit(std::span<const std::uint64_t>) with some values at a time. (One call a value would
/// keep the caller's counter in memory: 2 ns.) Throws data_loss when the last value is cut.
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
