#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include <infeed/convert/example_input.h>

#include "convert/inputs/text_value.h"

/// Why: text doesn't tell its kind. So the kind of a column comes from a schema, or is guessed from
/// some of its rows. The user is told of a guess that isn't obvious. A value that the kind can't
/// hold is an error; none is changed or dropped in silence.
namespace infeed::tools {

/// The kind chosen for a column.
struct ColumnChoice {
  FeatureKind kind = FeatureKind::bytes;
  bool is_from_schema = false;
  bool is_boolean = false;  ///< integers that are 1 and 0, of true and false alone
  std::string note = {};
  bool is_warning = false;

  static ColumnChoice from_schema(FeatureKind kind);
  LeadingZeros leading_zeros() const {
    return is_from_schema ? LeadingZeros::dropped : LeadingZeros::refused;
  }
  /// True if `value` is true or false and the column takes it as 1 or 0.
  bool takes_as_boolean(const TextValue& value) const {
    return value.form == ValueForm::boolean && (is_boolean || is_from_schema);
  }
  ColumnKind described(std::string name) const;
};

/// Chooses by the values that it has seen:
///   numbers and at most a tenth of something else   integers, or floats when one has a fraction;
///                                                   the rest is refused, row by row
///   true, false and at most a tenth of text         integers: 1 and 0; the rest is refused
///   leading zeros, or whole numbers beyond int64 without any fraction   bytes: the text is kept
///   anything else, or no value at all                                   bytes
class KindGuess {
 public:
  /// `example`: the number of the example that has the value.
  void see(ValueForm form, std::string_view written, std::uint64_t example);
  bool has_seen_any() const { return total_ > 0; }

  /// `location_of` returns the place of an example, for the note.
  using LocationOf = std::function<std::string(std::uint64_t example)>;
  ColumnChoice choose(const LocationOf& location_of) const;
  /// Returns the choice without its note.
  ColumnChoice choice() const { return {.kind = kind(), .is_boolean = is_boolean()}; }

 private:
  FeatureKind kind() const;
  struct Seen {
    std::uint64_t count = 0;
    std::uint64_t first_example = 0;
    std::string first_written;
  };
  const Seen& seen(ValueForm form) const { return seen_[static_cast<std::size_t>(form)]; }
  std::uint64_t count(ValueForm form) const { return seen(form).count; }
  bool is_boolean() const { return has_booleans_only() && !has_too_much_text(); }
  bool has_booleans_only() const {
    return count(ValueForm::boolean) > 0 &&
           count(ValueForm::boolean) + count(ValueForm::text) == total_;
  }
  /// Values that numbers, or true and false, have no place for.
  std::uint64_t texts() const {
    return count(ValueForm::text) + (has_booleans_only() ? 0 : count(ValueForm::boolean));
  }
  const Seen& first_text() const;
  /// Words count, and true and false beside numbers don't: that these become text is worth a note.
  bool is_mostly_text() const {
    return 2 * (count(ValueForm::text) - null_words_) >= total_ - null_words_;
  }
  bool has_too_much_text() const { return 10 * texts() > total_; }

  std::uint64_t total_ = 0;
  std::uint64_t null_words_ = 0;  ///< texts that often stand for no value
  std::array<Seen, detail::kValueForms> seen_;
};

/// Throws invalid_argument: the column doesn't take this value, with the reason and advice.
[[noreturn]] void refuse_value(std::string_view column, std::string_view written, ValueForm form,
                               const ColumnChoice& choice);

}  // namespace infeed::tools
