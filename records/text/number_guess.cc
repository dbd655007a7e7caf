#include "text/number_guess.h"

namespace infeed::detail {

void NumberGuess::see(const TextValue& value, std::string_view written) {
  has_numbers_ = true;
  const bool is_wide = value.form == ValueForm::wide_integer;
  if (!is_wide && value.form != ValueForm::integer) {
    has_fraction_ = true;
    return;
  }
  has_negative_ |= written.starts_with('-');
  is_beyond_int64_ |= is_wide;
  is_beyond_uint64_ |= is_wide && !parse_uint64(written);
  if (first_rounded_.empty() && float64_rounds(written)) first_rounded_ = written;
}

std::optional<DType> NumberGuess::dtype(bool has_gaps) const {
  if (!has_fraction_ && !has_gaps) {
    if (!is_beyond_int64_) return DType::int64;
    if (!is_beyond_uint64_ && !has_negative_) return DType::uint64;
  }
  return first_rounded_.empty() ? std::optional(DType::float64) : std::nullopt;
}

}  // namespace infeed::detail
