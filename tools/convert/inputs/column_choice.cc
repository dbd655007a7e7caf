#include "convert/inputs/column_choice.h"

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
}

FeatureKind KindGuess::kind() const {
  if (total_ == 0 || count(ValueForm::code) > 0 || has_too_much_text()) return FeatureKind::bytes;
  const bool has_integers = count(ValueForm::integer) + count(ValueForm::boolean) > 0;
  if (count(ValueForm::decimal) > 0) return FeatureKind::floats;
  if (count(ValueForm::wide_integer) > 0) return FeatureKind::bytes;
  return has_integers ? FeatureKind::integers : FeatureKind::floats;
}

ColumnChoice KindGuess::choose(const LocationOf& location_of) const {
  ColumnChoice choice{.kind = kind()};
  const auto first = [&](ValueForm form) {
    return fmt::format("'{}' in {}", seen(form).first_written,
                       location_of(seen(form).first_example));
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
      choice.note = "text, for leading zeros: " + first(ValueForm::code);
    } else if (count(ValueForm::text) > 0 && has_too_much_text()) {
      warn(fmt::format("text, though most values are numbers: {} of {} aren't, first {}",
                       with_commas(count(ValueForm::text)), with_commas(total_),
                       first(ValueForm::text)));
    } else {
      warn("text, for a number beyond int64: " + first(ValueForm::wide_integer));
    }
  } else {
    const std::uint64_t refused = count(ValueForm::text) + count(ValueForm::excessive);
    if (refused == 0) return choice;
    const bool is_text = count(ValueForm::text) > 0;
    warn(fmt::format("{} of {} values looked at can't be {} and are refused, first {}",
                     with_commas(refused), with_commas(total_), to_string(choice.kind),
                     first(is_text ? ValueForm::text : ValueForm::excessive)));
  }
  return choice;
}

void refuse_value(std::string_view column, std::string_view written, ValueForm form,
                  const ColumnChoice& choice) {
  const std::string_view kind = to_string(choice.kind);
  const std::string why =
      choice.is_from_schema
          ? fmt::format("but --schema says {}; correct it, or change the schema", kind)
          : fmt::format(
                "but takes {} as other rows have them; correct it, or give the column "
                "another kind: {}",
                kind, kept_as_text(column));
  throw Error(ErrorCode::invalid_argument,
              fmt::format("column '{}' has '{}'{}, {}", printable(column, kShownWidth),
                          printable(written, kShownWidth), trouble(form, choice.kind), why));
}

}  // namespace infeed::tools
