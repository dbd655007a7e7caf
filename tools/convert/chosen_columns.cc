#include <algorithm>
#include <fmt/format.h>
#include <set>
#include <utility>

#include <infeed/error.h>

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

/// Returns the entries of `described` whose columns are chosen, under their new names.
template <class Described>
std::vector<Described> chosen(std::vector<Described> described,
                              const std::vector<ChosenColumn>& columns) {
  std::vector<Described> result;
  for (Described& item : described) {
    const auto column =
        std::find_if(columns.begin(), columns.end(),
                     [&](const ChosenColumn& known) { return known.from == item.name; });
    if (column == columns.end()) continue;
    item.name = column->to;
    result.push_back(std::move(item));
  }
  return result;
}

class ChosenColumnsReader final : public FeatureReader {
 public:
  ChosenColumnsReader(std::unique_ptr<ExampleReader> reader, const ExampleParser& parser,
                      const std::vector<ChosenColumn>& columns)
      : reader_(std::move(reader)), parser_(parser), columns_(columns), views_(columns.size()) {}

  std::vector<ColumnCounts> take_counts() override {
    return chosen(reader_->take_counts(), columns_);
  }

 private:
  void add_features(std::uint64_t index, ExampleBuilder& builder) override {
    reader_->read(index, example_);
    parser_.parse(std::string_view(example_), views_);
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      if (views_[i].is_present()) copy_feature(views_[i], columns_[i].to, builder);
    }
  }

  const std::unique_ptr<ExampleReader> reader_;
  const ExampleParser& parser_;
  const std::vector<ChosenColumn>& columns_;
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
  std::vector<std::string> sorted = names.names();
  std::sort(sorted.begin(), sorted.end());
  return sorted;
}

class ChosenColumns final : public ExampleInput {
 public:
  ChosenColumns(std::unique_ptr<ExampleInput> input, const InputOptions& options)
      : input_(std::move(input)) {
    const std::vector<std::string> known = known_columns(*input_);
    const auto require = [&](const std::string& name) {
      if (std::find(known.begin(), known.end(), name) != known.end()) return;
      throw Error(ErrorCode::invalid_argument, fmt::format("there is no column '{}'; there are {}",
                                                           name, fmt::join(known, ", ")));
    };
    for (const auto& [from, to] : options.renamed) require(from);
    for (const std::string& name : options.columns.empty() ? known : options.columns) {
      require(name);
      const auto renamed = options.renamed.find(name);
      columns_.push_back({name, renamed == options.renamed.end() ? name : renamed->second});
      parser_.want(name);
    }
    const std::vector<std::string> names = columns();
    if (std::set<std::string>(names.begin(), names.end()).size() == names.size()) return;
    throw Error(ErrorCode::invalid_argument,
                fmt::format("two columns would have the same name: {}", fmt::join(names, ", ")));
  }

  std::uint64_t size() const override { return input_->size(); }
  std::unique_ptr<ExampleReader> open_reader() const override {
    return std::make_unique<ChosenColumnsReader>(input_->open_reader(), parser_, columns_);
  }
  std::vector<std::string> columns() const override {
    std::vector<std::string> names;
    for (const ChosenColumn& column : columns_) names.push_back(column.to);
    return names;
  }
  std::string describe() const override { return input_->describe(); }
  std::string name_of(std::uint64_t index) const override { return input_->name_of(index); }
  std::string location_of(std::uint64_t index) const override { return input_->location_of(index); }
  std::vector<ColumnKind> kinds() const override { return chosen(input_->kinds(), columns_); }
  std::vector<InputFile> files() const override { return input_->files(); }
  std::string settings() const override {
    std::string text = input_->settings();
    for (const ChosenColumn& column : columns_) {
      text += fmt::format("{}{}={}", text.empty() ? "" : " ", column.to, column.from);
    }
    return text;
  }
  ColumnShapes shapes() const override {
    ColumnShapes chosen;
    const ColumnShapes all = input_->shapes();
    for (const ChosenColumn& column : columns_) {
      if (const auto shape = all.find(column.from); shape != all.end()) {
        chosen[column.to] = shape->second;
      }
    }
    return chosen;
  }
  std::vector<std::string> classes() const override { return input_->classes(); }
  std::vector<std::string> notes() const override { return input_->notes(); }

 private:
  const std::unique_ptr<ExampleInput> input_;
  ExampleParser parser_;
  std::vector<ChosenColumn> columns_;
};

}  // namespace

std::vector<std::string> known_columns(const ExampleInput& input) {
  const std::vector<std::string> known = input.columns();
  return known.empty() ? sample_columns(input) : known;
}

std::unique_ptr<ExampleInput> choose_columns(std::unique_ptr<ExampleInput> input,
                                             const InputOptions& options) {
  return std::make_unique<ChosenColumns>(std::move(input), options);
}

}  // namespace infeed::tools
