#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "infeed/records/detail/text_value.h"
#include "infeed/records/dtype.h"

namespace infeed::detail {

/// Finds the type of column that keeps numbers as they are written.
class NumberGuess {
 public:
  /// Sees a number as it is written (without blanks around it).
  void see(const TextValue& value, std::string_view written);

  bool has_numbers() const { return has_numbers_; }
  /// Returns int64, uint64, or float64 where some numbers have a fraction or an exponent, or where
  /// there are gaps, which NaN is to fill. Returns nothing where no type keeps the numbers;
  /// first_lost() is then one of them.
  std::optional<DType> dtype(bool has_gaps) const;
  const std::string& first_lost() const { return first_rounded_; }

 private:
  bool has_numbers_ = false;
  bool has_fraction_ = false;
  bool has_negative_ = false;
  bool is_beyond_int64_ = false;
  bool is_beyond_uint64_ = false;
  std::string first_rounded_;  ///< first whole number that float64 rounds
};

}  // namespace infeed::detail
