#include "infeed/records/detail/usual_form.h"

#include <limits>
#include <utility>

#include "example/varints.h"
#include "infeed/error.h"

namespace infeed::detail {
namespace {

/// Reads one value of up to ten bytes that fills `bytes`. Returns false if it doesn't.
bool read_one(std::string_view bytes, std::uint64_t& value) {
  constexpr std::size_t kBytesMax = 10;
  if (bytes.empty() || bytes.size() > kBytesMax) return false;
  value = 0;
  for (std::size_t i = 0; i + 1 < bytes.size(); ++i) {
    const auto byte = static_cast<std::uint8_t>(bytes[i]);
    if (byte < 0x80) return false;
    value |= static_cast<std::uint64_t>(byte & 0x7f) << (7 * i);
  }
  const auto last = static_cast<std::uint8_t>(bytes.back());
  if (last >= 0x80) return false;
  value |= static_cast<std::uint64_t>(last) << (7 * (bytes.size() - 1));
  return true;
}

template <class I>
bool narrow_usual(std::span<const std::uint64_t> values, I* out) {
  bool all_fit = true;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto value = static_cast<std::int64_t>(values[i]);
    if constexpr (!std::is_same_v<I, std::int64_t>) all_fit &= std::in_range<I>(value);
    out[i] = static_cast<I>(value);
  }
  return all_fit;
}

constexpr std::size_t kNotUsual = std::numeric_limits<std::size_t>::max();

/// Decodes one block through a buffer. Returns the number of values, or kNotUsual. Values whose
/// bytes lie behind `end` don't count: they have a byte each.
template <class I>
std::size_t unpack_narrowed(UnpackBlock unpack_block, const char*& at, const char* end, I* out,
                            std::size_t room) {
  std::array<std::uint64_t, kVarintBlockBytes> values;
  std::size_t count = unpack_block(at, values.data());
  if (at > end) count -= static_cast<std::size_t>(at - end);
  if (count > room) return kNotUsual;
  return narrow_usual<I>(std::span(values).first(count), out) ? count : kNotUsual;
}

/// Decodes up to `room` values of whole blocks. Returns their number, or kNotUsual.
template <class I>
std::size_t unpack_blocks(UnpackBlock unpack_block, const char*& at, const char* end, I* out,
                          std::size_t room) {
  std::size_t count = 0;
  while (end - at >= kVarintLoadedBytes) {
    if (std::is_same_v<I, std::int64_t> && room - count >= kVarintBlockBytes) {
      // Decodes straight to the values' place, as the bits of an int64.
      count += unpack_block(at, reinterpret_cast<std::uint64_t*>(out + count));
      continue;
    }
    const std::size_t more = unpack_narrowed(unpack_block, at, end, out + count, room - count);
    if (more == kNotUsual) return kNotUsual;
    count += more;
  }
  return count;
}

/// Decodes less than a block. It puts the bytes in front of zeros, each of which is one more value.
/// Byte by byte this rest took a fourth of the time of 512 values below 128.
template <class I>
std::size_t unpack_rest(UnpackBlock unpack_block, std::string_view rest, I* out, std::size_t room) {
  if (static_cast<std::uint8_t>(rest.back()) >= 0x80) return kNotUsual;  // a zero would end it
  std::array<char, 2 * kVarintLoadedBytes> padded{};
  std::memcpy(padded.data(), rest.data(), rest.size());
  const char* at = padded.data();
  const char* const end = at + rest.size();
  std::size_t count = 0;
  while (at < end) {
    const std::size_t more = unpack_narrowed(unpack_block, at, end, out + count, room - count);
    if (more == kNotUsual) return kNotUsual;
    count += more;
  }
  return count;
}

/// Decodes all values.
template <class I>
std::size_t unpack_usual(std::string_view run, I* out, std::size_t room) try {
  static const UnpackBlock unpack_block = choose_unpack_block();
  const char* at = run.data();
  const char* const end = at + run.size();
  const std::size_t count = unpack_blocks(unpack_block, at, end, out, room);
  if (count == kNotUsual || at == end) return count;
  const std::string_view rest(at, static_cast<std::size_t>(end - at));
  const std::size_t more = unpack_rest(unpack_block, rest, out + count, room - count);
  return more == kNotUsual ? kNotUsual : count + more;
} catch (const Error&) {  // a value of more than ten bytes, which the next reader reports
  return kNotUsual;
}

}  // namespace

template <class I>
bool read_usual_integers(std::string_view list, std::span<I> out) {
  constexpr std::uint8_t kUnpacked = 0x08;
  if (out.size() == 1) {
    std::size_t size = 0;
    const char* const run = usual_whole(list, 0x0a, size);
    std::string_view bytes;
    if (run != nullptr) {
      bytes = {run, size};
    } else if (!list.empty() && static_cast<std::uint8_t>(list[0]) == kUnpacked) {
      bytes = list.substr(1);
    }
    std::uint64_t value = 0;
    return read_one(bytes, value) && narrow_usual<I>({&value, 1}, out.data());
  }
  std::size_t size = 0;
  const char* const run = usual_whole(list, 0x0a, size);
  return run != nullptr && unpack_usual<I>({run, size}, out.data(), out.size()) == out.size();
}

template <class I>
std::size_t unpack_usual_integers(std::string_view list, std::span<I> out) {
  std::size_t size = 0;
  const char* const run = usual_whole(list, 0x0a, size);
  if (run == nullptr || size == 0) return 0;  // an empty list may count as a missing one
  const std::size_t count = unpack_usual<I>({run, size}, out.data(), out.size());
  return count == kNotUsual ? 0 : count;
}

template bool read_usual_integers(std::string_view, std::span<signed char>);
template bool read_usual_integers(std::string_view, std::span<unsigned char>);
template bool read_usual_integers(std::string_view, std::span<short>);
template bool read_usual_integers(std::string_view, std::span<unsigned short>);
template bool read_usual_integers(std::string_view, std::span<int>);
template bool read_usual_integers(std::string_view, std::span<unsigned>);
template bool read_usual_integers(std::string_view, std::span<long>);
template bool read_usual_integers(std::string_view, std::span<unsigned long>);
template bool read_usual_integers(std::string_view, std::span<long long>);
template bool read_usual_integers(std::string_view, std::span<unsigned long long>);
template std::size_t unpack_usual_integers(std::string_view, std::span<signed char>);
template std::size_t unpack_usual_integers(std::string_view, std::span<unsigned char>);
template std::size_t unpack_usual_integers(std::string_view, std::span<short>);
template std::size_t unpack_usual_integers(std::string_view, std::span<unsigned short>);
template std::size_t unpack_usual_integers(std::string_view, std::span<int>);
template std::size_t unpack_usual_integers(std::string_view, std::span<unsigned>);
template std::size_t unpack_usual_integers(std::string_view, std::span<long>);
template std::size_t unpack_usual_integers(std::string_view, std::span<unsigned long>);
template std::size_t unpack_usual_integers(std::string_view, std::span<long long>);
template std::size_t unpack_usual_integers(std::string_view, std::span<unsigned long long>);

}  // namespace infeed::detail
