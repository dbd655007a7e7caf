#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <map>
#include <span>
#include <unordered_map>

#include <infeed/error.h>
#include <infeed/records/detail/json_depth.h>
#include <infeed/records/detail/json_members.h>

#include "cli/printable.h"
#include "convert/inputs/column_choice.h"
#include "convert/inputs/input_count.h"
#include "convert/inputs/open_input.h"
#include "convert/inputs/row_input.h"

namespace infeed::tools {
namespace {

using Items = std::span<const detail::JsonItem>;

/// A column's kind and, if its values are lists of lists, their shape.
struct JsonColumn {
  ColumnChoice choice;
  std::vector<std::uint64_t> shape = {};
};
using JsonColumns = std::map<std::string, JsonColumn, std::less<>>;

void see(KindGuess& guess, Items items, std::uint64_t example) {
  for (const detail::JsonItem& item : items) guess.see(item.value.form, item.written, example);
}

/// Chooses the kind of a name that the sampled lines didn't have, by its own values.
JsonColumn column_of(Items items) {
  KindGuess guess;
  see(guess, items, 0);
  return {guess.choice()};
}

constexpr std::string_view kNotFlat =
    "a feature is one flat list, so lists of lists must have the same shape in every row: write a "
    "flat list, with the lengths of the inner ones in a column of their own";

[[noreturn]] void refuse_member(const detail::JsonMember& member, const std::string& what) {
  throw Error(ErrorCode::invalid_argument,
              fmt::format("column '{}' {}", printable(member.name, 60), what));
}

/// Throws for values that no feature holds.
void require_member_that_fits(const detail::JsonMember& member, Items items) {
  if (member.has_null_items) {
    refuse_member(member, "is a list with null in it, which no feature can hold");
  }
  if (member.has_objects) {
    refuse_member(member, "is a list with an object in it, which no feature can hold");
  }
  if (member.is_uneven) {
    refuse_member(member,
                  fmt::format("is a list of lists of different lengths here; {}", kNotFlat));
  }
  for (const detail::JsonItem& item : items) {
    if (!std::isinf(item.value.number)) continue;
    refuse_member(member, fmt::format("has '{}', which is beyond float64; correct it, or write it "
                                      "as a text, in quotes",
                                      printable(item.written, 60)));
  }
}

/// Throws unless the lists have the shape of those in the rows looked at.
void require_shape(const detail::JsonMember& member, const std::vector<std::uint64_t>& shape) {
  if (member.shape == shape) return;
  const auto described = [](const std::vector<std::uint64_t>& lengths) {
    return lengths.empty() ? std::string("no list of lists")
                           : fmt::format("a list of lists of shape [{}]", fmt::join(lengths, ", "));
  };
  refuse_member(member, fmt::format("is {} here, but {} in the rows looked at; {}",
                                    described(member.shape), described(shape), kNotFlat));
}

/// Takes a line apart. Throws for a line that can't be an example, whatever its columns are.
std::span<const detail::JsonMember> read_line(detail::JsonMembers& parsed, std::string_view line) {
  const auto members = parsed.read(line);
  std::vector<std::string_view> names;
  for (const detail::JsonMember& member : members) {
    names.emplace_back(member.name);
    require_member_that_fits(member, parsed.values(member));
  }
  std::sort(names.begin(), names.end());
  const auto twice = std::adjacent_find(names.begin(), names.end());
  if (twice == names.end()) return members;
  throw Error(ErrorCode::invalid_argument,
              fmt::format("column '{}' comes twice in the line", printable(*twice, 60)));
}

class JsonLinesReader final : public FeatureReader {
 public:
  JsonLinesReader(const RowFiles& rows, const JsonColumns& columns)
      : files_(rows), rows_(rows), columns_(columns) {}

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
      for (const auto& member : read_line(parsed_, row)) add_member(member, builder);
    } catch (const Error& error) {
      // A line with too many columns is as bad as any other.
      const bool is_too_large = error.code() == ErrorCode::resource_exhausted;
      throw Error(is_too_large ? ErrorCode::data_loss : error.code(), error.message())
          .at_file(files_.file(files_.place_of(index).file).file());
    }
    for (const ColumnCounts& counts : line_counts_) add_counts(counts, index);
  }

  void add_member(const detail::JsonMember& member, ExampleBuilder& builder) {
    ColumnCounts counts{.name = member.name};
    if (member.is_null) {
      counts.empty = 1;
    } else {
      const Items items = parsed_.values(member);
      const auto known = columns_.find(member.name);
      const JsonColumn own = known == columns_.end() ? column_of(items) : JsonColumn();
      const JsonColumn& column = known == columns_.end() ? own : known->second;
      require_shape(member, column.shape);
      add_values(member.name, items, column.choice, counts, builder);
    }
    if (counts.empty + counts.booleans + counts.rounded > 0) {
      line_counts_.push_back(std::move(counts));
    }
  }

  void add_values(const std::string& name, Items items, const ColumnChoice& choice,
                  ColumnCounts& counts, ExampleBuilder& builder) {
    switch (choice.kind) {
      case FeatureKind::bytes:
        texts_.clear();
        for (const detail::JsonItem& item : items) texts_.emplace_back(item.written);
        builder.bytes(name, texts_);
        return;
      case FeatureKind::integers:
        integers_.clear();
        for (const detail::JsonItem& item : items) {
          integers_.push_back(as_integer(name, item, choice, counts));
        }
        builder.integers(name, integers_);
        return;
      case FeatureKind::floats:
        floats_.clear();
        for (const detail::JsonItem& item : items) {
          floats_.push_back(as_float(name, item, choice, counts));
        }
        builder.floats(name, floats_);
        return;
    }
  }

  static std::int64_t as_integer(const std::string& name, const detail::JsonItem& item,
                                 const ColumnChoice& choice, ColumnCounts& counts) {
    if (choice.takes_as_boolean(item.value)) {
      ++counts.booleans;
      return item.value.integer;
    }
    if (item.value.form == ValueForm::integer && !choice.is_boolean) return item.value.integer;
    refuse_value(name, item.written, item.value.form, choice);
  }

  static float as_float(const std::string& name, const detail::JsonItem& item,
                        const ColumnChoice& choice, ColumnCounts& counts) {
    if (choice.takes_as_boolean(item.value)) {
      ++counts.booleans;
      return static_cast<float>(item.value.integer);
    }
    const bool is_number =
        item.value.form != ValueForm::text && item.value.form != ValueForm::boolean;
    const auto number = is_number ? to_float32(item.value.number, item.written) : std::nullopt;
    if (!number) refuse_value(name, item.written, item.value.form, choice);
    if (number->is_rounded && counts.rounded++ == 0) counts.first_rounded = item.written;
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
    const std::string wrong = detail::too_many_json_columns(counts_.size(), names_bytes_);
    if (wrong.empty()) return;
    throw Error(ErrorCode::resource_exhausted, wrong).at_file(files_.location_of(index));
  }

  const RowFiles& files_;
  RowFilesReader rows_;
  const JsonColumns& columns_;
  detail::JsonMembers parsed_;
  std::vector<std::string_view> texts_;
  std::vector<std::int64_t> integers_;
  std::vector<float> floats_;
  std::vector<ColumnCounts> line_counts_;  // counted when the whole line is good
  std::unordered_map<std::string, ColumnCounts> counts_;
  std::size_t names_bytes_ = 0;
};

class JsonLinesInput final : public ExampleInput {
 public:
  JsonLinesInput(const Files& files, const InputOptions& options) : rows_(files, {}, 0) {
    infer_columns();
    for (const auto& [name, kind] : options.kinds) {
      columns_[name].choice = ColumnChoice::from_schema(kind);
    }
  }

  std::uint64_t size() const override { return rows_.size(); }
  std::unique_ptr<ExampleReader> open_reader() const override {
    return std::make_unique<JsonLinesReader>(rows_, columns_);
  }
  std::vector<std::string> columns() const override { return {}; }
  std::string describe() const override { return input_count(size(), "line") + " of JSON"; }
  std::string name_of(std::uint64_t index) const override { return rows_.name_of(index); }
  std::string location_of(std::uint64_t index) const override { return rows_.location_of(index); }
  std::vector<ColumnKind> kinds() const override {
    std::vector<ColumnKind> kinds;
    for (const auto& [name, column] : columns_) kinds.push_back(column.choice.described(name));
    return kinds;
  }
  std::vector<InputFile> files() const override { return rows_.files(); }
  ColumnShapes shapes() const override {
    ColumnShapes shapes;
    for (const auto& [name, column] : columns_) {
      if (!column.shape.empty()) shapes[name] = column.shape;
    }
    return shapes;
  }
  std::string settings() const override {
    std::string text;
    for (const auto& [name, column] : columns_) {
      text +=
          fmt::format("{}{}: {}", text.empty() ? "" : ", ", name, to_string(column.choice.kind));
    }
    return text;
  }

 private:
  struct Guess {
    KindGuess kind;
    std::vector<std::uint64_t> shape = {};  ///< shape of its first values; empty: no lists of lists
    bool has_shape = false;
  };
  using Guesses = std::map<std::string, Guess, std::less<>>;

  void infer_columns() {
    Guesses guesses;
    std::size_t names_bytes = 0;
    RowFilesReader reader(rows_);
    detail::JsonMembers parsed;
    for (const std::uint64_t index : rows_.sample()) {
      std::span<const detail::JsonMember> members;
      try {
        members = read_line(parsed, reader.read(index));
      } catch (const Error&) {
        continue;  // read() reports it in its turn
      }
      for (const detail::JsonMember& member : members) {
        const auto [place, is_new] = guesses.try_emplace(member.name);
        if (is_new) names_bytes += member.name.size();
        see_member(place->second, member, parsed.values(member), index);
      }
      // Before this check a line adds no more than its own limit.
      if (const std::string wrong = detail::too_many_json_columns(guesses.size(), names_bytes);
          !wrong.empty()) {
        throw Error(ErrorCode::resource_exhausted, wrong).at_file(rows_.location_of(index));
      }
    }
    see_rare_values(guesses);
    const auto location_of = [this](std::uint64_t index) { return rows_.location_of(index); };
    for (auto& [name, guess] : guesses) {
      columns_.emplace(name, JsonColumn{guess.kind.choose(location_of), std::move(guess.shape)});
    }
  }

  static void see_member(Guess& guess, const detail::JsonMember& member, Items items,
                         std::uint64_t index) {
    see(guess.kind, items, index);
    if (guess.has_shape || member.count == 0) return;
    guess.has_shape = true;
    guess.shape = member.shape;
  }

  /// Looks for values of the names that had none in the sample, through all lines if need be.
  void see_rare_values(Guesses& guesses) const {
    constexpr int kLinesEach = 1000;
    std::map<std::string, int, std::less<>> wanted;  // and how often it was seen
    for (const auto& [name, guess] : guesses) {
      if (!guess.kind.has_seen_any()) wanted.emplace(name, 0);
    }
    RowFilesReader reader(rows_);
    detail::JsonMembers parsed;
    for (std::uint64_t index = 0; index < size() && !wanted.empty(); ++index) {
      std::span<const detail::JsonMember> members;
      try {
        members = read_line(parsed, reader.read(index));
      } catch (const Error&) {
        continue;
      }
      for (const detail::JsonMember& member : members) {
        const auto found = wanted.find(member.name);
        if (found == wanted.end() || member.count == 0) continue;
        see_member(guesses.find(member.name)->second, member, parsed.values(member), index);
        if (++found->second == kLinesEach) wanted.erase(found);
      }
    }
  }

  const RowFiles rows_;
  JsonColumns columns_;
};

}  // namespace

std::unique_ptr<ExampleInput> open_json_lines(const Files& files, const InputOptions& options) {
  return std::make_unique<JsonLinesInput>(files, options);
}

}  // namespace infeed::tools
