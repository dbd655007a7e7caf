#include "text/number_guess.h"

namespace infeed::detail {

void NumberGuess::see(const TextValue& value, std::string_view written) {
  constexpr std::int64_t kExactMax = std::int64_t{1} << 53;
  has_numbers_ = true;
  const bool is_wide = value.form == ValueForm::wide_integer;
  if (!is_wide && value.form != ValueForm::integer) {
    has_fraction_ = true;
    return;
  }
  has_negative_ |= written.starts_with('-');
  is_beyond_int64_ |= is_wide;
  is_beyond_uint64_ |= is_wide && !parse_uint64(written);
  const bool is_exact = !is_wide && -kExactMax <= value.integer && value.integer <= kExactMax;
  if (!is_exact && first_wide_.empty()) first_wide_ = written;
}

std::optional<DType> NumberGuess::dtype(bool has_gaps) const {
  if (has_fraction_) return DType::float64;
  if (has_gaps) return first_wide_.empty() ? std::optional(DType::float64) : std::nullopt;
  if (!is_beyond_int64_) return DType::int64;
  if (is_beyond_uint64_ || has_negative_) return std::nullopt;
  return DType::uint64;
}

}  // namespace infeed::detail
