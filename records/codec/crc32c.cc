#include "infeed/records/crc32c.h"

#include <cstddef>
#include <isa-l/crc.h>

#include "codec/copying_crc32c.h"
#include "codec/crc32c_folded.h"
#include "codec/crc32c_fused.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace infeed {

namespace {

#if defined(__x86_64__)
[[gnu::target("avx")]] void clear_upper_halves() noexcept { _mm256_zeroupper(); }
#endif

/// ISA-L's kernels for AVX and AVX-512 leave the upper halves of the vector registers in use. Intel's
/// processors since Ice Lake then save and restore them around the SSE instructions that follow, which
/// is what this library is compiled to: 784-byte images were parsed at 3.7 million a second on two
/// cores of a Xeon of the fifth generation, and came at 7.0 without that.
void leave_vector_code() noexcept {
#if defined(__x86_64__)
  static const bool has_avx = __builtin_cpu_supports("avx");
  if (has_avx) clear_upper_halves();
#endif
}

/// Goes over the chunks in front, where that is quicker, and leaves the rest.
std::uint32_t take_chunks(std::uint32_t state, std::string_view& bytes) noexcept {
  const std::size_t chunks = bytes.size() / detail::kFusedCrcChunkBytes;
  if (chunks == 0) return state;
  static const bool is_quicker = detail::has_fused_crc32c();
  if (!is_quicker) return state;
  state = detail::fused_crc32c(state, bytes.data(), chunks);
  bytes.remove_prefix(chunks * detail::kFusedCrcChunkBytes);
  return state;
}

bool is_folded() noexcept {
  static const bool has_instructions = detail::has_folded_crc32c();
  return has_instructions;
}

}  // namespace

std::uint32_t detail::shifted_crc32c(std::uint32_t state, std::string_view bytes) noexcept {
  state = take_chunks(state, bytes);
  // ISA-L's crc32_iscsi is the bare shift register: it inverts neither before nor after, takes an
  // int as the length, and reads through a pointer that is not const.
  constexpr std::size_t kPieceBytesMax = std::size_t{1} << 30;
  while (!bytes.empty()) {
    const std::string_view piece = bytes.substr(0, kPieceBytesMax);
    auto* data = reinterpret_cast<unsigned char*>(const_cast<char*>(piece.data()));
    state = crc32_iscsi(data, static_cast<int>(piece.size()), state);
    bytes.remove_prefix(piece.size());
  }
  leave_vector_code();
  return state;
}

std::uint32_t extend_crc32c(std::uint32_t crc, std::string_view bytes) noexcept {
  if (is_folded()) return ~detail::folded_crc32c(~crc, bytes.data(), bytes.size());
  return ~detail::shifted_crc32c(~crc, bytes);
}

std::uint32_t crc32c(std::string_view bytes) noexcept { return extend_crc32c(0, bytes); }

std::uint32_t detail::crc32c_copying(std::string_view bytes, LateCopy& late) noexcept {
  static_assert(LateCopy::kBytesMin >= kFoldedCopyBytesMin);
  if (late.bytes() == 0 || !is_folded()) {
    const std::uint32_t crc = crc32c(bytes);
    late.run();
    return crc;
  }
  const std::uint32_t state =
      folded_crc32c_copying(~0U, bytes, {late.from(), late.bytes()}, late.to());
  late.forget();
  return ~state;
}

}  // namespace infeed
