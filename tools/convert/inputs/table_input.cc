#include <algorithm>
#include <fmt/format.h>
#include <set>

#include <infeed/error.h>

#include "cli/printable.h"
#include "convert/inputs/column_choice.h"
#include "convert/inputs/field_splitter.h"
#include "convert/inputs/open_input.h"
#include "convert/inputs/row_input.h"

namespace infeed::tools {
namespace {

struct TableColumn {
  std::string name;
  ColumnChoice choice = {};
};

class TableInput;

class TableReader final : public FeatureReader {
 public:
  explicit TableReader(const TableInput& input);
  std::vector<ColumnCounts> take_counts() override;

 private:
  enum class Event : std::uint8_t { empty, rounded };
  struct ColumnEvent {
    std::size_t column;
    Event event;
  };
  void add_features(std::uint64_t index, ExampleBuilder& builder) override;
  void add_field(std::size_t column, std::string_view text, ExampleBuilder& builder);
  void count_events(std::uint64_t index, const std::vector<std::string_view>& fields);

  const TableInput& input_;
  RowFilesReader rows_;
  FieldSplitter splitter_;
  std::vector<ColumnEvent> events_;  // events of one row, counted when all of it is good
  std::vector<ColumnCounts> counts_;
};

class TableInput final : public ExampleInput {
 public:
  TableInput(const Files& files, TableFormat format, const InputOptions& options)
      : format_(format), rows_(files, format.quotes, format.separator, options.has_header ? 1 : 0) {
    read_names(options.has_header);
    if (columns_.size() == 1 && !options.delimiter) require_no_other_separator();
    choose_kinds(options.kinds);
  }

  std::uint64_t size() const override { return rows_.size(); }
  std::unique_ptr<ExampleReader> open_reader() const override {
    return std::make_unique<TableReader>(*this);
  }
  std::vector<std::string> columns() const override {
    std::vector<std::string> names;
    for (const TableColumn& column : columns_) names.push_back(column.name);
    return names;
  }
  std::string describe() const override {
    return fmt::format("{} rows of {} columns", size(), columns_.size());
  }
  std::string name_of(std::uint64_t index) const override { return rows_.name_of(index); }
  std::string location_of(std::uint64_t index) const override { return rows_.location_of(index); }
  std::vector<ColumnKind> kinds() const override {
    std::vector<ColumnKind> kinds;
    for (const TableColumn& column : columns_)
      kinds.push_back(column.choice.described(column.name));
    return kinds;
  }
  std::vector<InputFile> files() const override { return rows_.files(); }
  std::string settings() const override {
    std::string text;
    for (const TableColumn& column : columns_) {
      text += fmt::format("{}{}: {}", text.empty() ? "" : ", ", column.name,
                          to_string(column.choice.kind));
    }
    return text;
  }

 private:
  friend class TableReader;

  void read_names(bool has_header);
  void require_no_other_separator() const;
  void choose_kinds(const ColumnKinds& given);
  void require_count(std::size_t found) const;

  const TableFormat format_;
  const RowFiles rows_;
  std::vector<TableColumn> columns_;
};

void TableInput::read_names(bool has_header) {
  FieldSplitter splitter(format_);
  for (std::size_t i = 0; i < rows_.file_count(); ++i) {
    const TextRows& file = rows_.file(i);
    if (file.size() == 0) {
      throw Error(ErrorCode::data_loss, "the table is empty; not even a header is there")
          .at_file(file.file());
    }
    TextRowReader reader(file);
    std::vector<std::string> names;
    try {
      for (const std::string_view name : splitter.split(reader.read(0))) names.emplace_back(name);
    } catch (Error& error) {
      throw error.at_file(file.file());
    }
    for (std::size_t c = 0; c < names.size() && !has_header; ++c) {
      names[c] = fmt::format("column{}", c + 1);
    }
    if (i > 0 && names != columns()) {
      throw Error(ErrorCode::invalid_argument,
                  fmt::format("its columns are {}, but the first file's are {}; convert them one "
                              "by one",
                              fmt::join(names, ", "), fmt::join(columns(), ", ")))
          .at_file(file.file());
    }
    if (i > 0) continue;
    if (std::set<std::string>(names.begin(), names.end()).size() != names.size()) {
      throw Error(
          ErrorCode::invalid_argument,
          fmt::format("a column's name comes twice in the header: {}", fmt::join(names, ", ")))
          .at_file(file.file());
    }
    for (std::string& name : names) columns_.push_back({std::move(name)});
  }
}

void TableInput::require_no_other_separator() const {
  constexpr std::uint64_t kRowsMax = 100;
  const TextRows& file = rows_.file(0);
  TextRowReader reader(file);
  std::vector<std::string> rows;
  for (std::uint64_t i = 0; i < std::min(file.size(), kRowsMax); ++i) {
    rows.emplace_back(reader.read(i));
  }
  const auto other = find_other_separator(rows, format_);
  if (!other) return;
  throw Error(ErrorCode::invalid_argument,
              fmt::format("with {} between the columns there is only one, '{}', but with {} there "
                          "are several, the same number in all rows looked at: say --delimiter {}, "
                          "or --delimiter {} for one column",
                          delimiter_name(format_.separator), printable(columns_[0].name, 40),
                          delimiter_name(*other), delimiter_name(*other),
                          delimiter_name(format_.separator)))
      .at_file(file.file());
}

void TableInput::require_count(std::size_t found) const {
  if (found == columns_.size()) return;
  std::string hint;
  if (columns_.size() == 1) {
    const auto other = find_possible_separator(columns_[0].name, format_);
    if (other) hint = fmt::format("; is --delimiter {} missing?", delimiter_name(*other));
  }
  throw Error(ErrorCode::data_loss,
              fmt::format("the row has {} field{}, but there {} {} column{}{}", found,
                          found == 1 ? "" : "s", columns_.size() == 1 ? "is" : "are",
                          columns_.size(), columns_.size() == 1 ? "" : "s", hint));
}

void TableInput::choose_kinds(const ColumnKinds& given) {
  std::vector<KindGuess> guesses(columns_.size());
  FieldSplitter splitter(format_);
  RowFilesReader reader(rows_);
  for (const std::uint64_t index : rows_.sample()) {
    try {
      const auto& fields = splitter.split(reader.read(index));
      if (fields.size() != columns_.size()) continue;
      for (std::size_t c = 0; c < fields.size(); ++c) {
        if (!fields[c].empty()) guesses[c].see(fields[c], index);
      }
    } catch (const Error&) {
      continue;  // read() reports it in its turn
    }
  }
  const auto location_of = [this](std::uint64_t index) { return rows_.location_of(index); };
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    const auto wanted = given.find(columns_[c].name);
    columns_[c].choice = wanted == given.end() ? guesses[c].choose(location_of)
                                               : ColumnChoice::from_schema(wanted->second);
  }
  const std::vector<std::string> names = columns();
  for (const auto& [name, kind] : given) {
    if (std::find(names.begin(), names.end(), name) != names.end()) continue;
    throw Error(ErrorCode::invalid_argument,
                fmt::format("the schema names a column '{}', but there are {}", name,
                            fmt::join(names, ", ")));
  }
}

TableReader::TableReader(const TableInput& input)
    : input_(input), rows_(input.rows_), splitter_(input.format_) {
  take_counts();
}

std::vector<ColumnCounts> TableReader::take_counts() {
  std::vector<ColumnCounts> counts(input_.columns_.size());
  for (std::size_t c = 0; c < counts.size(); ++c) counts[c].name = input_.columns_[c].name;
  counts.swap(counts_);
  return counts;
}

void TableReader::add_features(std::uint64_t index, ExampleBuilder& builder) {
  const std::string_view row = rows_.read(index);
  events_.clear();
  try {
    const auto& fields = splitter_.split(row);
    input_.require_count(fields.size());
    for (std::size_t c = 0; c < fields.size(); ++c) add_field(c, fields[c], builder);
    count_events(index, fields);
  } catch (const Error& error) {
    const std::size_t file = input_.rows_.place_of(index).file;
    throw Error(error.code(), error.message()).at_file(input_.rows_.file(file).file());
  }
}

void TableReader::add_field(std::size_t column, std::string_view text, ExampleBuilder& builder) {
  const auto& [name, choice] = input_.columns_[column];
  if (text.empty()) {
    events_.push_back({column, Event::empty});
  } else if (choice.kind == FeatureKind::bytes) {
    builder.bytes(name, text);
  } else if (choice.kind == FeatureKind::integers) {
    const auto value = parse_integer(text, choice.leading_zeros());
    if (!value) refuse_value(name, text, value_form(text), choice);
    builder.integers(name, *value);
  } else {
    const auto number = parse_float(text, choice.leading_zeros());
    if (!number) refuse_value(name, text, value_form(text), choice);
    if (number->is_rounded) events_.push_back({column, Event::rounded});
    builder.floats(name, number->value);
  }
}

void TableReader::count_events(std::uint64_t index, const std::vector<std::string_view>& fields) {
  for (const auto& [column, event] : events_) {
    ColumnCounts& counts = counts_[column];
    if (event == Event::empty) {
      ++counts.empty;
      continue;
    }
    if (counts.rounded++ > 0) continue;
    counts.first_rounded =
        fmt::format("'{}' in {}", printable(fields[column], 40), input_.rows_.location_of(index));
  }
}

}  // namespace

std::unique_ptr<ExampleInput> open_table(const Files& files, TableFormat format,
                                         const InputOptions& options) {
  return std::make_unique<TableInput>(files, format, options);
}

}  // namespace infeed::tools
