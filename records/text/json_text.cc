#include "text/json_text.h"

#include <bit>
#include <cstring>
#include <fmt/format.h>

#include "infeed/records/detail/json_depth.h"
#include "infeed/records/limits.h"
#include "text/text_masks.h"
#include "text/text_plan.h"
#include "text/utf8.h"

namespace infeed::detail {
namespace {

constexpr bool is_json_digit(char c) { return c >= '0' && c <= '9'; }

int hex_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  const char lower = static_cast<char>(c | 0x20);
  return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

/// Reads four hexadecimal digits; -1 when they aren't.
int read_hex(const char* at) {
  int value = 0;
  for (int i = 0; i < 4; ++i) {
    const int digit = hex_value(at[i]);
    if (digit < 0) return -1;
    value = value * 16 + digit;
  }
  return value;
}

constexpr bool is_high_surrogate(int code) { return code >= 0xd800 && code < 0xdc00; }
constexpr bool is_low_surrogate(int code) { return code >= 0xdc00 && code < 0xe000; }

struct StringBlock {
  std::uint32_t stops;  ///< quotes, backslashes and control characters
  std::uint32_t not_ascii;
};

#if defined(__SSE2__)
constexpr std::ptrdiff_t kStringBlockBytes = 32;

StringBlock look_at_16(const char* at) {
  const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(at));
  const __m128i last_control = _mm_set1_epi8(0x1f);
  const __m128i control = _mm_cmpeq_epi8(_mm_max_epu8(bytes, last_control), last_control);
  const __m128i stops =
      _mm_or_si128(control, _mm_or_si128(_mm_cmpeq_epi8(bytes, _mm_set1_epi8('"')),
                                         _mm_cmpeq_epi8(bytes, _mm_set1_epi8('\\'))));
  return {static_cast<std::uint32_t>(_mm_movemask_epi8(stops)),
          static_cast<std::uint32_t>(_mm_movemask_epi8(bytes))};
}

/// Looks at 32 bytes at once: most strings end there, but whether in the first 16 can't be
/// foretold.
StringBlock look_at_string(const char* at) {
  const StringBlock first = look_at_16(at);
  const StringBlock second = look_at_16(at + 16);
  return {first.stops | second.stops << 16, first.not_ascii | second.not_ascii << 16};
}
#else
constexpr std::ptrdiff_t kStringBlockBytes = 1;

StringBlock look_at_string(const char* at) {
  const auto byte = static_cast<unsigned char>(*at);
  return {byte < 0x20 || byte == '"' || byte == '\\', byte >= 0x80};
}
#endif

}  // namespace

bool is_utf8(std::string_view text) {
  const auto* at = reinterpret_cast<const unsigned char*>(text.data());
  const auto* const end = at + text.size();
  const auto follows = [&](std::ptrdiff_t i) { return i < end - at && (at[i] & 0xc0) == 0x80; };
  while (at != end) {
    if (end - at >= 8) {
      std::uint64_t word;
      std::memcpy(&word, at, 8);
      if ((word & 0x8080808080808080U) == 0) {
        at += 8;
        continue;
      }
    }
    const unsigned first = *at;
    if (first < 0x80) {
      ++at;
    } else if (first >= 0xc2 && first < 0xe0 && follows(1)) {
      at += 2;
    } else if (first >= 0xe0 && first < 0xf0 && follows(1) && follows(2)) {
      if ((first == 0xe0 && at[1] < 0xa0) || (first == 0xed && at[1] >= 0xa0)) return false;
      at += 3;
    } else if (first >= 0xf0 && first < 0xf5 && follows(1) && follows(2) && follows(3)) {
      if ((first == 0xf0 && at[1] < 0x90) || (first == 0xf4 && at[1] >= 0x90)) return false;
      at += 4;
    } else {
      return false;
    }
  }
  return true;
}

bool JsonCursor::fail_at(const char* at, std::string what) {
  problem_ = {std::move(what), at};
  return false;
}

bool JsonCursor::fail_expected(std::string_view expected) {
  const std::string found = *at_ == '\n' ? "the line ends" : quoted_text({at_, 1}) + " stands";
  return fail(fmt::format("{} where {} is expected", found, expected));
}

bool JsonCursor::enter(int depth) {
  if (depth <= limits::json_depth) return true;
  return fail(std::string(json_limits_text()));
}

bool JsonCursor::read_string(JsonString& out) {
  const char* at = at_ + 1;
  out = {at, nullptr, false};
  std::uint32_t not_ascii = 0;
  while (true) {
    const StringBlock block = look_at_string(at);
    if (block.stops == 0) {
      not_ascii |= block.not_ascii;
      at += kStringBlockBytes;
      continue;
    }
    const int stop = std::countr_zero(block.stops);
    not_ascii |= block.not_ascii & ((std::uint32_t{1} << stop) - 1);
    at += stop;
    if (*at == '"') break;
    if (*at != '\\') {
      at_ = at;
      if (*at == '\n') return fail_at(out.begin - 1, "a string is not closed before the line ends");
      return fail("a control character stands in a string; it is to be written as an escape");
    }
    out.has_escapes = true;
    std::size_t length = 0;
    if (!check_escape(at, length)) return false;
    at += length;
  }
  out.end = at;
  if (not_ascii != 0 && !is_utf8(out.view())) {
    return fail_at(out.begin - 1, "a string is not valid UTF-8");
  }
  at_ = at + 1;
  return true;
}

bool JsonCursor::check_escape(const char* at, std::size_t& length) {
  length = 2;
  if (at[1] != '\0' && std::strchr("\"\\/bfnrt", at[1]) != nullptr) return true;
  if (at[1] != 'u') return fail_at(at, fmt::format("{} is no escape", quoted_text({at, 2})));
  const int code = read_hex(at + 2);
  if (code < 0) return fail_at(at, fmt::format("{} is no escape", quoted_text({at, 6})));
  length = 6;
  if (!is_high_surrogate(code) && !is_low_surrogate(code)) return true;
  if (is_high_surrogate(code) && at[6] == '\\' && at[7] == 'u' &&
      is_low_surrogate(read_hex(at + 8))) {
    length = 12;
    return true;
  }
  return fail_at(at, fmt::format("{} is half of a surrogate pair", quoted_text({at, 6})));
}

bool JsonCursor::read_number(JsonNumber& out) {
  const char* at = at_;
  out = {at, nullptr, true};
  if (*at == '-') ++at;
  const char* const digits = at;
  while (is_json_digit(*at)) ++at;
  if (at == digits) return fail_expected("a value");
  if (*digits == '0' && at - digits > 1)
    return fail("a number begins with a zero that means nothing");
  if (*at == '.') {
    out.is_integer = false;
    const char* const fraction = ++at;
    while (is_json_digit(*at)) ++at;
    if (at == fraction) return fail("a number has no digit behind its point");
  }
  if (*at == 'e' || *at == 'E') {
    out.is_integer = false;
    ++at;
    if (*at == '-' || *at == '+') ++at;
    const char* const power = at;
    while (is_json_digit(*at)) ++at;
    if (at == power) return fail("a number has no digit in its exponent");
  }
  out.end = at;
  at_ = at;
  return true;
}

bool JsonCursor::read_word(std::string_view word) {
  for (std::size_t i = 0; i < word.size(); ++i) {
    if (at_[i] != word[i]) return fail_expected("a value");
  }
  at_ += word.size();
  return true;
}

bool JsonCursor::skip_value(int depth) {
  switch (peek()) {
    case '"': {
      JsonString ignored;
      return read_string(ignored);
    }
    case 't':
      return read_word("true");
    case 'f':
      return read_word("false");
    case 'n':
      return read_word("null");
    case '{':
    case '[':
      break;
    default: {
      JsonNumber ignored;
      return read_number(ignored);
    }
  }
  const bool is_object = *at_ == '{';
  const char close = is_object ? '}' : ']';
  if (!enter(depth + 1)) return false;
  take();
  if (peek() == close) {
    take();
    return true;
  }
  while (true) {
    if (is_object) {
      JsonString ignored;
      if (peek() != '"') return fail_expected("a member's name");
      if (!read_string(ignored)) return false;
      if (peek() != ':') return fail_expected("':'");
      take();
    }
    if (!skip_value(depth + 1)) return false;
    const char next = peek();
    if (next == close) {
      take();
      return true;
    }
    if (next != ',') return fail_expected(is_object ? "',' or '}'" : "',' or ']'");
    take();
  }
}

std::size_t unescape_json(const JsonString& text, char* out) {
  const char* const begin = out;
  for (const char* at = text.begin; at != text.end;) {
    if (*at != '\\') {
      *out++ = *at++;
      continue;
    }
    const char kind = at[1];
    at += 2;
    switch (kind) {
      case 'b':
        *out++ = '\b';
        break;
      case 'f':
        *out++ = '\f';
        break;
      case 'n':
        *out++ = '\n';
        break;
      case 'r':
        *out++ = '\r';
        break;
      case 't':
        *out++ = '\t';
        break;
      case 'u': {
        int code = read_hex(at);
        at += 4;
        if (is_high_surrogate(code)) {
          code = 0x10000 + ((code - 0xd800) << 10) + (read_hex(at + 2) - 0xdc00);
          at += 6;
        }
        out = write_utf8(static_cast<std::uint32_t>(code), out);
        break;
      }
      default:
        *out++ = kind;
    }
  }
  return static_cast<std::size_t>(out - begin);
}

std::string unescaped_json(const JsonString& text) {
  std::string out(text.view().size(), '\0');
  out.resize(unescape_json(text, out.data()));
  return out;
}

}  // namespace infeed::detail
