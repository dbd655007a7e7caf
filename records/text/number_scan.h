#pragma once

#include <cstddef>
#include <cstdint>

#include "infeed/records/dtype.h"

/// Why: numbers take most of the time of reading a table or a JSON line. Their lengths can't be
/// foretold, and each begins where the one before ends. Reading eight digits at a time takes a
/// branch and a load for each step to that place. With vectors of 16 bytes it takes a handful of
/// instructions, whatever the length. (Measured on two cores, with the division instead of the
/// product in rounding.h: csv from 885 to 1,060 MB/s, JSON lines from 1,280 to 1,510.)
namespace infeed::detail {

/// Reads the number at `at` into values[row] and returns its end, whatever stands there. The number
/// must be written in the usual way: no blanks, no exponent, at most 19 digits, 15 where the type
/// is whole. Returns null where it needs a closer look; values[row] then means nothing. Reads up to
/// 32 bytes before and behind the number.
using ScanNumber = const char* (*)(const char* at, std::byte* values, std::size_t row);

enum class NumberForm : std::uint8_t {
  table,  ///< ".5", "5." and "007" are numbers
  json,   ///< they are none (RFC 8259)
};
enum class NumberMethod : std::uint8_t { by_eights, by_vectors };

/// Returns the quickest method on this machine.
NumberMethod number_method();

/// Returns null for types without a quick way: bool, float16, bfloat16 and bytes.
ScanNumber number_scan(DType dtype, NumberForm form, NumberMethod method = number_method());

}  // namespace infeed::detail
