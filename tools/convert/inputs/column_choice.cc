#include "convert/inputs/column_choice.h"

#include <algorithm>
#include <fmt/format.h>
#include <utility>

#include <infeed/error.h>

#include "cli/printable.h"
#include "cli/terminal.h"

namespace infeed::tools {
namespace {

constexpr int kShownWidth = 40;

std::string_view trouble(ValueForm form, FeatureKind kind) {
  switch (form) {
    case ValueForm::code:
      return ", whose leading zeros a number would lose";
    case ValueForm::wide_integer:
      return kind == FeatureKind::integers ? ", which is beyond int64" : "";
    case ValueForm::excessive:
      return ", which is beyond float32 (3.4e38)";
    case ValueForm::text:
    case ValueForm::boolean:
    case ValueForm::integer:
    case ValueForm::decimal:
      break;
  }
  return "";
}

/// True for words that often stand for no value.
bool is_null_word(std::string_view text) {
  constexpr std::array<std::string_view, 12> kWords{"NA",   "N/A",  "n/a",  "#N/A", "null", "NULL",
                                                    "Null", "None", "none", "-",    "?",    "\\N"};
  return std::find(kWords.begin(), kWords.end(), text) != kWords.end();
}

/// Returns the advice to name a null word; empty for any other text.
std::string as_null_word(std::string_view written) {
  return is_null_word(written) ? fmt::format("; --nulls '{}' takes it as no value", written) : "";
}

std::string_view taken_by(const ColumnChoice& choice) {
  return choice.is_boolean ? "true and false" : to_string(choice.kind);
}

std::string kept_as_text(std::string_view column) {
  return fmt::format(R"(--schema with {{"columns": {{"{}": "bytes"}}}} keeps it as text)",
                     printable(column, kShownWidth));
}

}  // namespace

ColumnChoice ColumnChoice::from_schema(FeatureKind kind) {
  return {.kind = kind, .is_from_schema = true, .note = "by --schema"};
}

ColumnKind ColumnChoice::described(std::string name) const {
  return {.name = std::move(name), .kind = kind, .note = note, .is_warning = is_warning};
}

void KindGuess::see(ValueForm form, std::string_view written, std::uint64_t example) {
  Seen& seen = seen_[static_cast<std::size_t>(form)];
  if (seen.count == 0) {
    seen.first_example = example;
    seen.first_written = printable(written, kShownWidth);
  }
  ++seen.count;
  ++total_;
  if (form == ValueForm::text && is_null_word(written)) ++null_words_;
}

const KindGuess::Seen& KindGuess::first_text() const {
  const Seen& text = seen(ValueForm::text);
  const Seen& boolean = seen(ValueForm::boolean);
  if (has_booleans_only() || boolean.count == 0) return text;
  return text.count == 0 || boolean.first_example < text.first_example ? boolean : text;
}

FeatureKind KindGuess::kind() const {
  if (total_ == 0 || count(ValueForm::code) > 0 || has_too_much_text()) return FeatureKind::bytes;
  const bool has_integers = count(ValueForm::integer) > 0 || is_boolean();
  if (count(ValueForm::decimal) > 0) return FeatureKind::floats;
  if (count(ValueForm::wide_integer) > 0) return FeatureKind::bytes;
  return has_integers ? FeatureKind::integers : FeatureKind::floats;
}

ColumnChoice KindGuess::choose(const LocationOf& location_of) const {
  ColumnChoice choice = this->choice();
  const auto first = [&](const Seen& seen) {
    return fmt::format("'{}' in {}", seen.first_written, location_of(seen.first_example));
  };
  const auto warn = [&](std::string note) {
    choice.note = std::move(note);
    choice.is_warning = true;
  };
  if (total_ == 0) {
    warn("no value was seen");
  } else if (choice.kind == FeatureKind::bytes) {
    if (is_mostly_text()) return choice;
    if (count(ValueForm::code) > 0) {
      choice.note = "text, for leading zeros: " + first(seen(ValueForm::code));
    } else if (has_too_much_text()) {
      warn(fmt::format("text, though {} values are {}: {} of {} aren't, first {}{}",
                       2 * texts() < total_ ? "most" : "some",
                       has_booleans_only() ? "true or false" : "numbers", with_commas(texts()),
                       with_commas(total_), first(first_text()),
                       as_null_word(first_text().first_written)));
    } else {
      warn("text, for a number beyond int64: " + first(seen(ValueForm::wide_integer)));
    }
  } else {
    const std::uint64_t refused = texts() + count(ValueForm::excessive);
    if (refused == 0) return choice;
    const Seen& shown = texts() > 0 ? first_text() : seen(ValueForm::excessive);
    warn(fmt::format("{} of {} values looked at can't be {} and are refused, first {}{}",
                     with_commas(refused), with_commas(total_), taken_by(choice), first(shown),
                     as_null_word(shown.first_written)));
  }
  return choice;
}

void refuse_value(std::string_view column, std::string_view written, ValueForm form,
                  const ColumnChoice& choice) {
  const std::string_view kind = taken_by(choice);
  const std::string why =
      choice.is_from_schema
          ? fmt::format("but --schema says {}; correct it, or change the schema", kind)
          : fmt::format(
                "but takes {} as other rows have them; correct it, or give the column "
                "another kind: {}{}",
                kind, kept_as_text(column), as_null_word(written));
  throw Error(ErrorCode::invalid_argument,
              fmt::format("column '{}' has '{}'{}, {}", printable(column, kShownWidth),
                          printable(written, kShownWidth), trouble(form, choice.kind), why));
}

}  // namespace infeed::tools
