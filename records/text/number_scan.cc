#include "text/number_scan.h"

#include <algorithm>
#include <array>
#include <type_traits>
#include <utility>

#include "columns/column_values.h"
#include "text/number_text.h"

#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>
#define INFEED_NUMBER_VECTORS __attribute__((target("avx2,bmi,bmi2")))
#endif

namespace infeed::detail {
namespace {

constexpr bool begins_with_idle_zero(const char* digits, std::ptrdiff_t count) {
  return *digits == '0' && count > 1;
}

template <NumberForm kForm>
[[gnu::always_inline]] inline bool has_form(const char* at, const Decimal& decimal) {
  if constexpr (kForm == NumberForm::table) {
    return true;
  } else {
    const char* const digits = at + (decimal.is_negative ? 1 : 0);
    return decimal.whole_digits != 0 && !(decimal.has_point && decimal.fraction_digits == 0) &&
           !begins_with_idle_zero(digits, decimal.whole_digits);
  }
}

template <class T, NumberForm kForm>
struct ByEights {
  static const char* scan(const char* at, std::byte* values, std::size_t row) {
    T* const out = reinterpret_cast<T*>(values) + row;
    if constexpr (std::is_integral_v<T>) {
      const char* const end = scan_integer(at, *out);
      const char* const digits = at + (*at == '-' ? 1 : 0);
      const bool is_good = kForm == NumberForm::table || end == nullptr ||
                           !begins_with_idle_zero(digits, end - digits);
      return is_good ? end : nullptr;
    } else {
      Decimal decimal;
      const char* const end = scan_decimal(at, decimal);
      if (end == nullptr || !has_form<kForm>(at, decimal)) return nullptr;
      return round_decimal(decimal, *out) ? end : nullptr;
    }
  }
};

#if defined(INFEED_NUMBER_VECTORS)

/// 16 zero bytes, then 16 bytes of ones: the 16 bytes from place n on end with n bytes of ones.
alignas(32) constexpr auto kLastBytes = [] {
  std::array<std::uint8_t, 32> bytes{};
  std::fill(bytes.begin() + 16, bytes.end(), std::uint8_t{0xff});
  return bytes;
}();

INFEED_NUMBER_VECTORS inline __m128i load_vector(const void* at) {
  return _mm_loadu_si128(static_cast<const __m128i*>(at));
}

/// Returns each digit's value; 10 or more for a byte that is no digit.
INFEED_NUMBER_VECTORS inline __m128i digits_of(const char* text) {
  return _mm_xor_si128(load_vector(text), _mm_set1_epi8('0'));
}

/// Sets a bit for each byte that is no digit.
INFEED_NUMBER_VECTORS inline std::uint32_t others_of(__m128i digits) {
  const __m128i are_others = _mm_cmpeq_epi8(_mm_max_epu8(digits, _mm_set1_epi8(10)), digits);
  return static_cast<std::uint32_t>(_mm_movemask_epi8(are_others));
}

INFEED_NUMBER_VECTORS inline std::uint32_t places_of(char c, __m128i text) {
  return static_cast<std::uint32_t>(_mm_movemask_epi8(_mm_cmpeq_epi8(text, _mm_set1_epi8(c))));
}

/// Masks the last `count` bytes, at most 16; the others are 0.
INFEED_NUMBER_VECTORS inline __m128i last_bytes(std::size_t count) {
  return load_vector(kLastBytes.data() + count);
}

/// Returns the value of sixteen digits, the first one uppermost.
INFEED_NUMBER_VECTORS inline std::uint64_t value_of_vector(__m128i digits) {
  const __m128i tens = _mm_set1_epi16(10 + (1 << 8));
  const __m128i hundreds = _mm_set1_epi32(100 + (1 << 16));
  const __m128i ten_thousands = _mm_set1_epi32(10000 + (1 << 16));
  const __m128i pairs = _mm_maddubs_epi16(digits, tens);
  const __m128i fours = _mm_madd_epi16(pairs, hundreds);
  const __m128i eights = _mm_madd_epi16(_mm_packus_epi32(fours, fours), ten_thousands);
  const auto halves = static_cast<std::uint64_t>(_mm_cvtsi128_si64(eights));
  return (halves & 0xffffffffU) * 100'000'000U + (halves >> 32);
}

/// Returns the value of the first `count` digits, 1 to 3, of a number whose point stands at
/// `point`.
INFEED_NUMBER_VECTORS inline std::uint64_t value_of_first(const char* at, std::size_t point,
                                                          std::size_t count) {
  const std::uint64_t word = load_digits(at);
  const std::uint64_t before = _bzhi_u64(~std::uint64_t{0}, static_cast<unsigned>(8 * point));
  return value_of_digits((word & before) | ((word >> 8) & ~before), count);
}

template <class T, NumberForm kForm>
struct ByVectors {
  INFEED_NUMBER_VECTORS static const char* scan(const char* at, std::byte* values,
                                                std::size_t row) {
    T* const out = reinterpret_cast<T*>(values) + row;
    if constexpr (std::is_integral_v<T>) {
      return scan_whole(at, *out);
    } else {
      return scan_fraction(at, *out);
    }
  }

 private:
  // The next number waits for the place where this one ends. Only the text's own bytes lie on the
  // way to it, without a branch for a sign or a point.

  INFEED_NUMBER_VECTORS static const char* scan_whole(const char* at, T& out) {
    const std::uint32_t sign = *at == '-' ? 1 : 0;
    const std::uint32_t others = others_of(digits_of(at)) & ~sign;
    const std::size_t size = _tzcnt_u32(others);
    const std::size_t count = size - sign;
    if (count - 1 >= 15) return nullptr;  // also when there are no digits
    if (kForm == NumberForm::json && at[sign] == '0' && count > 1) return nullptr;
    const char* const end = at + size;
    const auto magnitude = static_cast<std::int64_t>(
        value_of_vector(_mm_and_si128(digits_of(end - 16), last_bytes(count))));
    const std::int64_t value = sign != 0 ? -magnitude : magnitude;
    if (!std::in_range<T>(value)) return nullptr;
    out = static_cast<T>(value);
    return end;
  }

  INFEED_NUMBER_VECTORS static const char* scan_fraction(const char* at, T& out) {
    const std::uint32_t sign = *at == '-' ? 1 : 0;
    const __m128i front = load_vector(at);
    const __m128i back = load_vector(at + 16);
    const std::uint32_t others =
        (others_of(digits_of(at)) | others_of(digits_of(at + 16)) << 16) & ~sign;
    const std::uint32_t points = places_of('.', front) | places_of('.', back) << 16;
    const std::uint32_t point_bit = _blsi_u32(others) & points;
    const std::size_t size = _tzcnt_u32(others ^ point_bit);
    const std::size_t has_point = point_bit != 0 ? 1 : 0;
    const std::size_t count = size - sign - has_point;
    if (count - 1 >= 19) return nullptr;  // also when there are no digits
    const std::size_t point = _tzcnt_u32(others) - sign;
    const std::size_t fraction = count - point;
    const char* const end = at + size;
    Decimal decimal;
    decimal.is_negative = sign != 0;
    decimal.has_point = has_point != 0;
    decimal.whole_digits = static_cast<std::ptrdiff_t>(point);
    decimal.fraction_digits = static_cast<std::ptrdiff_t>(fraction);
    decimal.exponent = -static_cast<int>(fraction);
    if (!has_form<kForm>(at, decimal)) return nullptr;
    // Takes the last sixteen digits: those before the point stand one byte further in front.
    const std::size_t behind_point = has_point != 0 ? std::min<std::size_t>(fraction, 16) : 16;
    const __m128i digits =
        _mm_blendv_epi8(digits_of(end - 17), digits_of(end - 16), last_bytes(behind_point));
    decimal.mantissa =
        value_of_vector(_mm_and_si128(digits, last_bytes(std::min<std::size_t>(count, 16))));
    if (count > 16) {
      constexpr std::uint64_t kSixteenDigits = 10'000'000'000'000'000U;
      decimal.mantissa += value_of_first(at + sign, point, count - 16) * kSixteenDigits;
    }
    return round_decimal(decimal, out) ? end : nullptr;
  }
};

#else

template <class T, NumberForm kForm>
using ByVectors = ByEights<T, kForm>;

#endif

template <template <class, NumberForm> class Method, NumberForm kForm>
ScanNumber scan_of(DType dtype) {
  if (dtype == DType::bytes) return nullptr;
  return with_dtype(dtype, []<class T>(T) -> ScanNumber {
    constexpr bool is_whole = std::is_integral_v<T> && !std::is_same_v<T, bool>;
    if constexpr (is_whole || std::is_same_v<T, float> || std::is_same_v<T, double>) {
      return Method<T, kForm>::scan;
    } else {
      return nullptr;
    }
  });
}

template <template <class, NumberForm> class Method>
ScanNumber scan_of(DType dtype, NumberForm form) {
  return form == NumberForm::table ? scan_of<Method, NumberForm::table>(dtype)
                                   : scan_of<Method, NumberForm::json>(dtype);
}

}  // namespace

NumberMethod number_method() {
#if defined(INFEED_NUMBER_VECTORS)
  static const bool has_vectors = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") &&
                                  __builtin_cpu_supports("bmi2");
  if (has_vectors) return NumberMethod::by_vectors;
#endif
  return NumberMethod::by_eights;
}

ScanNumber number_scan(DType dtype, NumberForm form, NumberMethod method) {
  return method == NumberMethod::by_vectors ? scan_of<ByVectors>(dtype, form)
                                            : scan_of<ByEights>(dtype, form);
}

}  // namespace infeed::detail
