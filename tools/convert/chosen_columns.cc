#include <algorithm>
#include <fmt/format.h>
#include <optional>
#include <set>
#include <utility>

#include <infeed/error.h>
#include <infeed/records/sequence_example.h>

#include "cli/printable.h"
#include "convert/inputs/open_input.h"

namespace infeed::tools {
namespace {

struct ChosenColumn {
  std::string from;
  std::string to;
};

void copy_feature(const FeatureView& view, const std::string& name, ExampleBuilder& builder) {
  switch (view.kind()) {
    case FeatureKind::bytes: {
      std::vector<std::string_view> values;
      view.append_bytes(values);
      builder.bytes(name, values);
      break;
    }
    case FeatureKind::integers: {
      std::vector<std::int64_t> values;
      view.append_integers(values);
      builder.integers(name, values);
      break;
    }
    case FeatureKind::floats: {
      std::vector<float> values;
      view.append_floats(values);
      builder.floats(name, values);
      break;
    }
  }
}

/// Throws for a SequenceExample that has lists: an Example, which is written, has no place for them.
void require_no_feature_lists(std::string_view example) {
  visit_feature_lists(example, [](const FeatureListView& list) {
    throw Error(
        ErrorCode::invalid_argument,
        fmt::format("the record has a feature list '{}', which --columns and --rename would "
                    "drop; without them records pass through as they are",
                    printable(list.name(), 60)));
  });
}

/// The columns of the output, by their names in the input.
struct ColumnChanges {
  std::vector<ChosenColumn> columns;
  /// True if columns that are not listed pass, too: those that no example looked at had.
  bool passes_others = false;
};

/// Returns the entries of `described` whose columns are chosen, under their new names.
template <class Described>
std::vector<Described> chosen(std::vector<Described> described, const ColumnChanges& changes) {
  std::vector<Described> result;
  for (Described& item : described) {
    const auto column =
        std::find_if(changes.columns.begin(), changes.columns.end(),
                     [&](const ChosenColumn& known) { return known.from == item.name; });
    if (column != changes.columns.end()) {
      item.name = column->to;
    } else if (!changes.passes_others) {
      continue;
    }
    result.push_back(std::move(item));
  }
  return result;
}

class ChosenColumnsReader final : public FeatureReader {
 public:
  ChosenColumnsReader(std::unique_ptr<ExampleReader> reader, const ColumnChanges& changes)
      : reader_(std::move(reader)), changes_(changes) {
    for (const ChosenColumn& column : changes.columns) parser_.want(column.from);
  }

  std::vector<ColumnCounts> take_counts() override {
    return chosen(reader_->take_counts(), changes_);
  }

 private:
  void add_features(std::uint64_t index, ExampleBuilder& builder) override {
    reader_->read(index, example_);
    require_no_feature_lists(example_);
    if (changes_.passes_others) parser_.want_features_of(example_);
    views_.resize(parser_.size());
    parser_.parse(std::string_view(example_), views_);
    const std::size_t listed = changes_.columns.size();
    for (std::size_t i = 0; i < views_.size(); ++i) {
      if (!views_[i].is_present()) continue;
      const std::string& from = parser_.names()[i];
      const std::string& to = i < listed ? changes_.columns[i].to : from;
      if (i >= listed) require_free(to);
      copy_feature(views_[i], to, builder);
    }
  }

  /// Throws if a rare column has the name that another one was given.
  void require_free(const std::string& name) const {
    for (const ChosenColumn& column : changes_.columns) {
      if (column.to != name) continue;
      throw Error(ErrorCode::invalid_argument,
                  fmt::format("the example has a column '{}', and --rename gives that name to '{}'",
                              name, column.from));
    }
  }

  const std::unique_ptr<ExampleReader> reader_;
  const ColumnChanges& changes_;
  ExampleParser parser_;
  std::vector<FeatureView> views_;
  std::string example_;
};

std::vector<std::string> sample_columns(const ExampleInput& input) {
  constexpr std::uint64_t kSampled = 1000;
  ExampleParser names;
  const auto reader = input.open_reader();
  std::string example;
  const std::uint64_t count = std::min(input.size(), kSampled);
  for (std::uint64_t i = 0; i < count; ++i) {
    try {
      reader->read(input.size() * i / count, example);
      names.want_features_of(example);
    } catch (const Error&) {
      continue;  // read() reports it in its turn
    }
  }
  return names.names();
}

/// Returns those of the names that some example has.
std::vector<std::string> names_in_examples(const ExampleInput& input,
                                           std::vector<std::string> names) {
  std::vector<std::string> found;
  std::optional<ExampleParser> parser(names);
  std::vector<FeatureView> views(names.size());
  const auto reader = input.open_reader();
  std::string example;
  for (std::uint64_t i = 0; i < input.size() && !names.empty(); ++i) {
    try {
      reader->read(i, example);
      parser->parse(std::string_view(example), views);
    } catch (const Error&) {
      continue;  // read() reports it in its turn
    }
    std::vector<std::string> left;
    for (std::size_t n = 0; n < names.size(); ++n) {
      (views[n].is_present() ? found : left).push_back(names[n]);
    }
    if (left.size() == names.size()) continue;
    names = std::move(left);
    parser.emplace(names);
    views.resize(names.size());
  }
  return found;
}

class ChosenColumns final : public ExampleInput {
 public:
  ChosenColumns(std::unique_ptr<ExampleInput> input, const InputOptions& options)
      : input_(std::move(input)) {
    std::vector<std::string> wanted = options.columns;
    for (const auto& [from, to] : options.renamed) wanted.push_back(from);
    const std::vector<std::string> known = known_columns(*input_, wanted);
    for (const std::string& name : wanted) require(name, known);
    for (const std::string& name : options.columns.empty() ? known : options.columns) {
      const auto renamed = options.renamed.find(name);
      changes_.columns.push_back({name, renamed == options.renamed.end() ? name : renamed->second});
    }
    changes_.passes_others = options.columns.empty() && input_->columns().empty();
    const std::vector<std::string> names = new_names();
    if (std::set<std::string>(names.begin(), names.end()).size() == names.size()) return;
    throw Error(ErrorCode::invalid_argument,
                fmt::format("two columns would have the same name: {}", fmt::join(names, ", ")));
  }

  std::uint64_t size() const override { return input_->size(); }
  std::unique_ptr<ExampleReader> open_reader() const override {
    return std::make_unique<ChosenColumnsReader>(input_->open_reader(), changes_);
  }
  std::vector<std::string> columns() const override {
    return changes_.passes_others ? std::vector<std::string>() : new_names();
  }
  std::string describe() const override { return input_->describe(); }
  std::string name_of(std::uint64_t index) const override { return input_->name_of(index); }
  std::string location_of(std::uint64_t index) const override { return input_->location_of(index); }
  std::vector<ColumnKind> kinds() const override { return chosen(input_->kinds(), changes_); }
  std::vector<InputFile> files() const override { return input_->files(); }
  std::string settings() const override {
    std::string text = input_->settings();
    for (const ChosenColumn& column : changes_.columns) {
      // Columns that pass anyway are told by the sample only, which says nothing of the output.
      if (changes_.passes_others && column.to == column.from) continue;
      text += fmt::format("{}{}={}", text.empty() ? "" : " ", column.to, column.from);
    }
    return text;
  }
  ColumnShapes shapes() const override {
    ColumnShapes shapes = input_->shapes();
    ColumnShapes chosen;
    for (const ChosenColumn& column : changes_.columns) {
      const auto shape = shapes.extract(column.from);
      if (!shape.empty()) chosen[column.to] = shape.mapped();
    }
    if (changes_.passes_others) chosen.merge(shapes);
    return chosen;
  }
  std::vector<std::string> classes() const override { return input_->classes(); }
  std::vector<std::string> notes() const override { return input_->notes(); }

 private:
  static void require(const std::string& name, const std::vector<std::string>& known) {
    if (std::find(known.begin(), known.end(), name) != known.end()) return;
    throw Error(ErrorCode::invalid_argument,
                fmt::format("there is no column '{}'; there are {}", name, fmt::join(known, ", ")));
  }
  std::vector<std::string> new_names() const {
    std::vector<std::string> names;
    for (const ChosenColumn& column : changes_.columns) names.push_back(column.to);
    return names;
  }

  const std::unique_ptr<ExampleInput> input_;
  ColumnChanges changes_;
};

}  // namespace

std::vector<std::string> known_columns(const ExampleInput& input,
                                       const std::vector<std::string>& wanted) {
  std::vector<std::string> known = input.columns();
  if (!known.empty()) return known;
  known = sample_columns(input);
  std::vector<std::string> rare;
  for (const std::string& name : std::set<std::string>(wanted.begin(), wanted.end())) {
    if (std::find(known.begin(), known.end(), name) == known.end()) rare.push_back(name);
  }
  for (std::string& name : names_in_examples(input, std::move(rare))) {
    known.push_back(std::move(name));
  }
  std::sort(known.begin(), known.end());
  return known;
}

std::unique_ptr<ExampleInput> choose_columns(std::unique_ptr<ExampleInput> input,
                                             const InputOptions& options) {
  return std::make_unique<ChosenColumns>(std::move(input), options);
}

}  // namespace infeed::tools
