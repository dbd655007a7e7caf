#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include <infeed/records/example.h>

/// How text becomes numbers, the same for all inputs made of text.
namespace infeed::tools {

/// Whole and decimal. Spaces around it and a plus are allowed; leading zeros are not (a postcode is
/// no number).
std::optional<std::int64_t> parse_integer(std::string_view text);
/// Also "1e-3", "nan", "inf".
std::optional<float> parse_float(std::string_view text);

/// The narrowest kind that takes all values seen: integers, then floats, then bytes.
class KindGuess {
 public:
  void see(std::string_view text);
  FeatureKind kind() const;

 private:
  bool seen_ = false;
  bool all_integers_ = true;
  bool all_floats_ = true;
};

/// Which column has which kind, where the user says so.
using ColumnKinds = std::map<std::string, FeatureKind, std::less<>>;

/// A schema file: JSON {"columns": {"age": "integers", "price": "floats", "note": "bytes"}}; those
/// it doesn't name are inferred. Error invalid_argument: what is wrong, and what may stand there.
ColumnKinds read_schema(const std::string& file);

}  // namespace infeed::tools
