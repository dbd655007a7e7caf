#include <fmt/format.h>
#include <map>
#include <unordered_map>

#include <infeed/error.h>
#include <infeed/records/detail/json_depth.h>

#include "cli/printable.h"
#include "convert/inputs/column_choice.h"
#include "convert/inputs/json_features.h"
#include "convert/inputs/open_input.h"
#include "convert/inputs/row_input.h"

namespace infeed::tools {
namespace {

using ColumnChoices = std::map<std::string, ColumnChoice, std::less<>>;

/// Chooses the kind of a name that the sampled lines didn't have, by its own values.
ColumnChoice choice_of(const JsonFeature& feature) {
  KindGuess guess;
  for (const JsonValue& value : feature.values) guess.see(value.form, value.text, 0);
  return {.kind = guess.kind()};
}

class JsonLinesReader final : public FeatureReader {
 public:
  JsonLinesReader(const RowFiles& rows, const ColumnChoices& choices)
      : files_(rows), rows_(rows), choices_(choices) {}

  std::vector<ColumnCounts> take_counts() override {
    std::vector<ColumnCounts> counts;
    for (auto& [name, column] : counts_) counts.push_back(std::move(column));
    counts_.clear();
    names_bytes_ = 0;
    return counts;
  }

 private:
  void add_features(std::uint64_t index, ExampleBuilder& builder) override {
    const std::string_view row = rows_.read(index);
    line_counts_.clear();
    try {
      for (const JsonFeature& feature : parse_json_features(row)) add_feature(feature, builder);
    } catch (const Error& error) {
      throw Error(error.code(), error.message())
          .at_file(files_.file(files_.place_of(index).file).file());
    }
    for (const ColumnCounts& counts : line_counts_) add_counts(counts, index);
  }

  void add_feature(const JsonFeature& feature, ExampleBuilder& builder) {
    ColumnCounts counts{.name = feature.name};
    if (feature.is_null) {
      counts.empty = 1;
    } else {
      const auto known = choices_.find(feature.name);
      add_values(feature, known == choices_.end() ? choice_of(feature) : known->second, counts,
                 builder);
    }
    if (counts.empty + counts.booleans + counts.rounded > 0) {
      line_counts_.push_back(std::move(counts));
    }
  }

  void add_values(const JsonFeature& feature, const ColumnChoice& choice, ColumnCounts& counts,
                  ExampleBuilder& builder) {
    switch (choice.kind) {
      case FeatureKind::bytes:
        texts_.clear();
        for (const JsonValue& value : feature.values) texts_.emplace_back(value.text);
        builder.bytes(feature.name, texts_);
        return;
      case FeatureKind::integers:
        integers_.clear();
        for (const JsonValue& value : feature.values) {
          if (value.form == ValueForm::boolean) ++counts.booleans;
          integers_.push_back(as_integer(feature.name, value, choice));
        }
        builder.integers(feature.name, integers_);
        return;
      case FeatureKind::floats:
        floats_.clear();
        for (const JsonValue& value : feature.values) {
          if (value.form == ValueForm::boolean) ++counts.booleans;
          floats_.push_back(as_float(feature.name, value, choice, counts));
        }
        builder.floats(feature.name, floats_);
        return;
    }
  }

  static std::int64_t as_integer(const std::string& name, const JsonValue& value,
                                 const ColumnChoice& choice) {
    if (value.form == ValueForm::integer || value.form == ValueForm::boolean) return value.integer;
    refuse_value(name, value.text, value.form, choice);
  }

  static float as_float(const std::string& name, const JsonValue& value, const ColumnChoice& choice,
                        ColumnCounts& counts) {
    if (value.form == ValueForm::boolean) return static_cast<float>(value.number);
    if (value.form == ValueForm::text) refuse_value(name, value.text, value.form, choice);
    const auto number = to_float32(value.number, value.text);
    if (!number) refuse_value(name, value.text, value.form, choice);
    if (number->is_rounded && counts.rounded++ == 0) counts.first_rounded = value.text;
    return number->value;
  }

  void add_counts(const ColumnCounts& line, std::uint64_t index) {
    const auto [place, is_new] = counts_.try_emplace(line.name);
    if (is_new) count_name(line.name, index);
    ColumnCounts& counts = place->second;
    counts.name = line.name;
    counts.empty += line.empty;
    counts.booleans += line.booleans;
    if (counts.rounded == 0 && line.rounded > 0) {
      counts.first_rounded =
          fmt::format("'{}' in {}", printable(line.first_rounded, 40), files_.location_of(index));
    }
    counts.rounded += line.rounded;
  }

  /// Counts a name that may have only nulls: records don't show it, so no other check counts it.
  void count_name(const std::string& name, std::uint64_t index) {
    names_bytes_ += name.size();
    const std::string wrong = infeed::detail::too_many_json_columns(counts_.size(), names_bytes_);
    if (wrong.empty()) return;
    throw Error(ErrorCode::resource_exhausted, wrong).at_file(files_.location_of(index));
  }

  const RowFiles& files_;
  RowFilesReader rows_;
  const ColumnChoices& choices_;
  std::vector<std::string_view> texts_;
  std::vector<std::int64_t> integers_;
  std::vector<float> floats_;
  std::vector<ColumnCounts> line_counts_;  // counted when the whole line is good
  std::unordered_map<std::string, ColumnCounts> counts_;
  std::size_t names_bytes_ = 0;
};

class JsonLinesInput final : public ExampleInput {
 public:
  JsonLinesInput(const Files& files, const InputOptions& options)
      : rows_(files, Quotes::none, '\n', 0) {
    infer_kinds();
    for (const auto& [name, kind] : options.kinds) {
      choices_[name] = ColumnChoice::from_schema(kind);
    }
  }

  std::uint64_t size() const override { return rows_.size(); }
  std::unique_ptr<ExampleReader> open_reader() const override {
    return std::make_unique<JsonLinesReader>(rows_, choices_);
  }
  std::vector<std::string> columns() const override { return {}; }
  std::string describe() const override { return fmt::format("{} lines of JSON", size()); }
  std::string name_of(std::uint64_t index) const override { return rows_.name_of(index); }
  std::string location_of(std::uint64_t index) const override { return rows_.location_of(index); }
  std::vector<ColumnKind> kinds() const override {
    std::vector<ColumnKind> kinds;
    for (const auto& [name, choice] : choices_) kinds.push_back(choice.described(name));
    return kinds;
  }
  std::vector<InputFile> files() const override { return rows_.files(); }
  std::string settings() const override {
    std::string text;
    for (const auto& [name, choice] : choices_) {
      text += fmt::format("{}{}: {}", text.empty() ? "" : ", ", name, to_string(choice.kind));
    }
    return text;
  }

 private:
  void infer_kinds() {
    RowFilesReader reader(rows_);
    std::map<std::string, KindGuess> guesses;
    std::size_t names_bytes = 0;
    for (const std::uint64_t index : rows_.sample()) {
      try {
        for (const JsonFeature& feature : parse_json_features(reader.read(index))) {
          const auto [place, is_new] = guesses.try_emplace(feature.name);
          if (is_new) names_bytes += feature.name.size();
          KindGuess& guess = place->second;
          for (const JsonValue& value : feature.values) guess.see(value.form, value.text, index);
        }
      } catch (const Error&) {
        continue;  // read() reports it in its turn
      }
      // Before this check a line adds no more than its own limit.
      if (const std::string wrong =
              infeed::detail::too_many_json_columns(guesses.size(), names_bytes);
          !wrong.empty()) {
        throw Error(ErrorCode::resource_exhausted, wrong).at_file(rows_.location_of(index));
      }
    }
    const auto location_of = [this](std::uint64_t index) { return rows_.location_of(index); };
    for (const auto& [name, guess] : guesses) choices_.emplace(name, guess.choose(location_of));
  }

  const RowFiles rows_;
  ColumnChoices choices_;
};

}  // namespace

std::unique_ptr<ExampleInput> open_json_lines(const Files& files, const InputOptions& options) {
  return std::make_unique<JsonLinesInput>(files, options);
}

}  // namespace infeed::tools
