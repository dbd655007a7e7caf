#include "convert/column_report.h"

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/printable.h"

namespace infeed::tools {
namespace {

constexpr int kNameWidthMax = 32;
constexpr std::size_t kColumnsShownMax = 100;

/// A column of the output with the input's facts about it.
struct ReportedColumn {
  Column column;
  ColumnKind kind;
  std::uint64_t missing = 0;  ///< without the feature, besides those with an empty one
};

/// Returns the columns in the input's order, if it has one.
std::vector<ReportedColumn> reported_columns(const ExampleInput& input,
                                             const ColumnStatistics& statistics) {
  std::map<std::string, ColumnKind> kinds;
  for (ColumnKind& kind : input.kinds()) kinds.emplace(kind.name, std::move(kind));
  std::map<std::string, std::size_t> places;
  for (const std::string& name : input.columns()) places.emplace(name, places.size());
  std::vector<ReportedColumn> reported;
  for (const Column& column : statistics.columns()) {
    const std::uint64_t accounted = column.examples + column.other_kinds + column.source.empty;
    reported.push_back({column, kinds[column.name],
                        statistics.examples() - std::min(accounted, statistics.examples())});
  }
  const auto place = [&](const ReportedColumn& column) {
    const auto known = places.find(column.column.name);
    return known == places.end() ? places.size() : known->second;
  };
  std::stable_sort(
      reported.begin(), reported.end(),
      [&](const ReportedColumn& a, const ReportedColumn& b) { return place(a) < place(b); });
  return reported;
}

struct Fact {
  std::string text;
  bool is_warning = false;
};

std::vector<Fact> facts_of(const ReportedColumn& reported) {
  const Column& column = reported.column;
  const ColumnCounts& source = column.source;
  std::vector<Fact> facts;
  const auto add = [&](std::uint64_t count, std::string_view what, bool is_warning = false) {
    if (count > 0) facts.push_back({fmt::format("{} {}", with_commas(count), what), is_warning});
  };
  add(source.empty, "empty");
  add(reported.missing, "missing");
  add(source.booleans, "booleans as 1 and 0");
  if (column.kind == FeatureKind::floats) add(column.not_finite, "NaN or infinite");
  add(source.rounded,
      fmt::format("rounded to float32 (first {})", printable(source.first_rounded, 120)), true);
  add(column.other_kinds,
      column.other_kinds == 1 ? "example has another kind: --schema gives them one"
                              : "examples have another kind: --schema gives them one",
      true);
  if (!reported.kind.note.empty()) {
    facts.push_back({reported.kind.note, reported.kind.is_warning});
  }
  if (column.examples + column.other_kinds == 0) {
    facts.push_back({"no example has it", true});
  }
  return facts;
}

}  // namespace

void print_columns(Terminal& terminal, const ExampleInput& input,
                   const ColumnStatistics& statistics) {
  const std::vector<ReportedColumn> columns = reported_columns(input, statistics);
  int width = 8;
  for (const ReportedColumn& reported : columns) {
    width = std::max(width, static_cast<int>(reported.column.name.size()));
  }
  width = std::min(width, kNameWidthMax);
  std::size_t left_out = 0;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    const Column& column = columns[i].column;
    const std::vector<Fact> facts = facts_of(columns[i]);
    const bool is_warned_of =
        std::any_of(facts.begin(), facts.end(), [](const Fact& fact) { return fact.is_warning; });
    if (i >= kColumnsShownMax && !is_warned_of) {
      ++left_out;
      continue;
    }
    std::string text;
    for (const Fact& fact : facts) {
      text += text.empty() ? "  " : ", ";
      text += fact.is_warning ? terminal.paint(Paint::warning, fact.text) : fact.text;
    }
    const std::string name =
        column.name.empty() ? std::string("''") : printable(column.name, kNameWidthMax);
    const std::string kind(to_string(column.kind));
    terminal.line(text.empty() ? fmt::format("  {:<{}}  {}", name, width, kind)
                               : fmt::format("  {:<{}}  {:<8}{}", name, width, kind, text));
  }
  if (left_out == 0) return;
  terminal.line(fmt::format("  and {} more columns, of which --json tells", with_commas(left_out)));
}

nlohmann::json describe_columns(const ExampleInput& input, const ColumnStatistics& statistics) {
  nlohmann::json list = nlohmann::json::array();
  for (const ReportedColumn& reported : reported_columns(input, statistics)) {
    const Column& column = reported.column;
    nlohmann::json json{{"name", column.name},
                        {"kind", to_string(column.kind)},
                        {"examples", column.examples},
                        {"values", column.values},
                        {"empty", column.source.empty},
                        {"missing", reported.missing},
                        {"booleans", column.source.booleans},
                        {"rounded", column.source.rounded},
                        {"other_kinds", column.other_kinds},
                        {"note", reported.kind.note}};
    if (column.source.rounded > 0) json["first_rounded"] = column.source.first_rounded;
    list.push_back(std::move(json));
  }
  return list;
}

}  // namespace infeed::tools
