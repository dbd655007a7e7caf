#include <algorithm>
#include <fmt/format.h>
#include <optional>
#include <set>
#include <utility>

#include <infeed/error.h>
#include <infeed/records/detail/csv_row.h>

#include "cli/printable.h"
#include "convert/inputs/column_choice.h"
#include "convert/inputs/delimiter.h"
#include "convert/inputs/input_count.h"
#include "convert/inputs/open_input.h"
#include "convert/inputs/row_input.h"

namespace infeed::tools {
namespace {

struct TableColumn {
  std::string name;
  ColumnChoice choice = {};
};

/// The cells that hold no value.
class NullCells {
 public:
  explicit NullCells(std::vector<std::string> words) : words_(std::move(words)) {}

  /// A column of bytes has blanks as text, and all that stands in quotes, as in csv.h.
  bool has(const detail::CsvField& field, FeatureKind kind) const {
    const std::string_view text =
        kind == FeatureKind::bytes ? field.text : detail::trimmed_cell(field.text);
    if (text.empty()) return true;
    if (words_.empty() || (kind == FeatureKind::bytes && field.was_quoted)) return false;
    return std::find(words_.begin(), words_.end(), text) != words_.end();
  }
  std::string described() const {
    return words_.empty() ? "" : fmt::format("nulls: {}, ", fmt::join(words_, ", "));
  }

 private:
  std::vector<std::string> words_;
};

class TableInput;

class TableReader final : public FeatureReader {
 public:
  explicit TableReader(const TableInput& input);
  std::vector<ColumnCounts> take_counts() override;

 private:
  enum class Event : std::uint8_t { empty, boolean, rounded };
  struct ColumnEvent {
    std::size_t column;
    Event event;
  };
  void add_features(std::uint64_t index, ExampleBuilder& builder) override;
  void add_field(std::size_t column, const detail::CsvField& field, ExampleBuilder& builder);
  void add_number(std::size_t column, std::string_view text, ExampleBuilder& builder);
  std::optional<bool> take_boolean(std::size_t column, std::string_view text);
  void count_events(std::uint64_t index, const std::vector<detail::CsvField>& fields);

  const TableInput& input_;
  RowFilesReader rows_;
  detail::CsvRow cells_;
  std::vector<ColumnEvent> events_;  // events of one row, counted when all of it is good
  std::vector<ColumnCounts> counts_;
};

class TableInput final : public ExampleInput {
 public:
  TableInput(const Files& files, const TextFormat& format, const InputOptions& options)
      : nulls_(options.nulls),
        rows_(files, format, options.has_header ? 1 : 0),
        format_(rows_.file(0).format()) {
    read_names(options.has_header);
    if (columns_.size() == 1 && !options.delimiter) require_no_other_delimiter();
    choose_kinds(options.kinds);
    if (options.has_header) look_at_header();
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
    return fmt::format("{} of {}", input_count(size(), "row"),
                       input_count(columns_.size(), "column"));
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
    std::string text = nulls_.described();
    for (const TableColumn& column : columns_) {
      text += fmt::format("{}{}: {}", &column == columns_.data() ? "" : ", ", column.name,
                          to_string(column.choice.kind));
    }
    return text;
  }
  std::vector<std::string> notes() const override { return notes_; }

 private:
  friend class TableReader;

  void read_names(bool has_header);
  static void require_different_names(const std::vector<std::string>& names,
                                      const std::string& file);
  void require_no_other_delimiter() const;
  void choose_kinds(const ColumnKinds& given);
  void see_row(std::uint64_t index, RowFilesReader& reader, detail::CsvRow& cells,
               std::vector<KindGuess>& guesses, const std::vector<bool>* wanted) const;
  void see_rare_values(std::vector<KindGuess>& guesses, const std::vector<bool>& wanted) const;
  void look_at_header();
  void require_count(std::size_t found) const;

  const NullCells nulls_;
  const RowFiles rows_;
  const detail::RowFormat format_;
  std::vector<TableColumn> columns_;
  std::vector<std::string> notes_;
};

void TableInput::read_names(bool has_header) {
  detail::CsvRow cells(format_);
  for (std::size_t i = 0; i < rows_.file_count(); ++i) {
    const TextRows& file = rows_.file(i);
    if (file.format().delimiter != format_.delimiter) {
      throw Error(
          ErrorCode::invalid_argument,
          fmt::format("its first line says that {} stands between the columns, but in the "
                      "first file {} does; convert them one by one",
                      delimiter_name(file.format().delimiter), delimiter_name(format_.delimiter)))
          .at_file(file.file());
    }
    if (file.size() == 0) {
      throw Error(ErrorCode::data_loss, "the table is empty; not even a header is there")
          .at_file(file.file());
    }
    TextRowReader reader(file);
    std::vector<std::string> names;
    try {
      names = detail::column_names(cells.split(reader.read(0)));
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
    require_different_names(names, file.file());
    for (std::string& name : names) columns_.push_back({std::move(name)});
  }
}

void TableInput::require_no_other_delimiter() const {
  constexpr std::uint64_t kRowsMax = 100;
  const TextRows& file = rows_.file(0);
  TextRowReader reader(file);
  std::vector<std::string> rows;
  for (std::uint64_t i = 0; i < std::min(file.size(), kRowsMax); ++i) {
    rows.emplace_back(reader.read(i));
  }
  const auto other = detail::find_other_delimiter(rows, format_);
  if (!other) return;
  throw Error(ErrorCode::invalid_argument,
              fmt::format("with {} between the columns there is only one, '{}', but with {} there "
                          "are several, the same number in all rows looked at: say --delimiter {}, "
                          "or --delimiter {} for one column",
                          delimiter_name(format_.delimiter), printable(columns_[0].name, 40),
                          delimiter_name(*other), delimiter_name(*other),
                          delimiter_name(format_.delimiter)))
      .at_file(file.file());
}

void TableInput::require_count(std::size_t found) const {
  if (found == columns_.size()) return;
  std::string hint;
  if (columns_.size() == 1) {
    const auto other = find_possible_delimiter(columns_[0].name, format_);
    if (other) hint = fmt::format("; is --delimiter {} missing?", delimiter_name(*other));
  }
  throw Error(ErrorCode::data_loss,
              fmt::format("the row has {} field{}, but there {} {} column{}{}", found,
                          found == 1 ? "" : "s", columns_.size() == 1 ? "is" : "are",
                          columns_.size(), columns_.size() == 1 ? "" : "s", hint));
}

/// Throws for a name that comes twice. Rows of numbers have such names more often than headers.
void TableInput::require_different_names(const std::vector<std::string>& names,
                                         const std::string& file) {
  std::set<std::string> known;
  for (const std::string& name : names) {
    if (known.insert(name).second) continue;
    const bool is_number = detail::parse_float64(detail::trimmed_cell(name)).has_value();
    throw Error(
        ErrorCode::invalid_argument,
        fmt::format("a column's name comes twice in the header: '{}'{}", printable(name, 40),
                    is_number ? "; if the first row is an example, say --no-header" : ""))
        .at_file(file);
  }
}

/// Shows the guesses a row's values, or only those of the columns that are wanted.
void TableInput::see_row(std::uint64_t index, RowFilesReader& reader, detail::CsvRow& cells,
                         std::vector<KindGuess>& guesses, const std::vector<bool>* wanted) const {
  const auto see_all = [&] {
    const auto& fields = cells.split(reader.read(index));
    if (fields.size() != columns_.size()) return;
    for (std::size_t c = 0; c < fields.size(); ++c) {
      if (wanted != nullptr && !(*wanted)[c]) continue;
      const detail::CsvField& field = fields[c];
      if (nulls_.has(field, field.was_quoted ? FeatureKind::bytes : FeatureKind::integers))
        continue;
      guesses[c].see(detail::value_of_cell(field.text).form, field.text, index);
    }
  };
  try {
    see_all();
  } catch (const Error&) {
    return;  // read() reports it in its turn
  }
}

/// Looks for values of the wanted columns, through all rows if need be.
void TableInput::see_rare_values(std::vector<KindGuess>& guesses,
                                 const std::vector<bool>& wanted) const {
  constexpr std::uint64_t kRowsBehindFirst = 10'000;
  detail::CsvRow cells(format_);
  RowFilesReader reader(rows_);
  std::uint64_t end = size();
  for (std::uint64_t index = 0; index < end; ++index) {
    see_row(index, reader, cells, guesses, &wanted);
    bool has_all = end == size();
    for (std::size_t c = 0; c < guesses.size() && has_all; ++c) {
      has_all = !wanted[c] || guesses[c].has_seen_any();
    }
    // Once all have values, some more rows tell whether they are of one kind.
    if (has_all) end = std::min(end, index + kRowsBehindFirst);
  }
}

/// Notes a first row that seems to be none of names.
void TableInput::look_at_header() {
  std::vector<bool> has_numbers;
  for (const TableColumn& column : columns_) {
    has_numbers.push_back(column.choice.kind != FeatureKind::bytes);
  }
  const std::vector<std::string> names = columns();
  if (detail::guess_header(names, has_numbers) == detail::HeaderGuess::names) return;
  notes_.push_back(fmt::format(
      "the first row, {}, was taken for the columns' names, though it has numbers like the rows "
      "below it: if it is an example, too, say --no-header",
      printable(fmt::format("{}", fmt::join(names, ", ")), 60)));
}

void TableInput::choose_kinds(const ColumnKinds& given) {
  std::vector<KindGuess> guesses(columns_.size());
  detail::CsvRow cells(format_);
  RowFilesReader reader(rows_);
  for (const std::uint64_t index : rows_.sample()) see_row(index, reader, cells, guesses, nullptr);
  std::vector<bool> wanted;
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    wanted.push_back(!guesses[c].has_seen_any() && !given.contains(columns_[c].name));
  }
  if (std::find(wanted.begin(), wanted.end(), true) != wanted.end()) {
    see_rare_values(guesses, wanted);
  }
  const auto location_of = [this](std::uint64_t index) { return rows_.location_of(index); };
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    const auto kind = given.find(columns_[c].name);
    columns_[c].choice = kind == given.end() ? guesses[c].choose(location_of)
                                             : ColumnChoice::from_schema(kind->second);
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
    : input_(input), rows_(input.rows_), cells_(input.format_) {
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
    const auto& fields = cells_.split(row);
    input_.require_count(fields.size());
    for (std::size_t c = 0; c < fields.size(); ++c) add_field(c, fields[c], builder);
    count_events(index, fields);
  } catch (const Error& error) {
    const std::size_t file = input_.rows_.place_of(index).file;
    throw Error(error.code(), error.message()).at_file(input_.rows_.file(file).file());
  }
}

void TableReader::add_field(std::size_t column, const detail::CsvField& field,
                            ExampleBuilder& builder) {
  const auto& [name, choice] = input_.columns_[column];
  if (input_.nulls_.has(field, choice.kind)) {
    events_.push_back({column, Event::empty});
  } else if (choice.kind == FeatureKind::bytes) {
    builder.bytes(name, field.text);
  } else {
    add_number(column, field.text, builder);
  }
}

void TableReader::add_number(std::size_t column, std::string_view text, ExampleBuilder& builder) {
  const auto& [name, choice] = input_.columns_[column];
  if (choice.kind == FeatureKind::integers) {
    auto value = choice.is_boolean ? std::nullopt : parse_integer(text, choice.leading_zeros());
    if (!value) value = take_boolean(column, text);
    if (!value) refuse_value(name, text, detail::value_of_cell(text).form, choice);
    builder.integers(name, *value);
    return;
  }
  const auto number = parse_float(text, choice.leading_zeros());
  if (number) {
    if (number->is_rounded) events_.push_back({column, Event::rounded});
    builder.floats(name, number->value);
    return;
  }
  const auto boolean = take_boolean(column, text);
  if (!boolean) refuse_value(name, text, detail::value_of_cell(text).form, choice);
  builder.floats(name, *boolean ? 1.0F : 0.0F);
}

/// Returns true or false where the column takes them, as csv's bool columns do.
std::optional<bool> TableReader::take_boolean(std::size_t column, std::string_view text) {
  const ColumnChoice& choice = input_.columns_[column].choice;
  const detail::TextValue value = detail::value_of_cell(text);
  if (choice.takes_as_boolean(value)) {
    events_.push_back({column, Event::boolean});
    return value.integer != 0;
  }
  if (!choice.is_boolean) return std::nullopt;
  const std::string_view digit = detail::trimmed_cell(text);
  if (digit != "1" && digit != "0") return std::nullopt;
  return digit == "1";
}

void TableReader::count_events(std::uint64_t index, const std::vector<detail::CsvField>& fields) {
  for (const auto& [column, event] : events_) {
    ColumnCounts& counts = counts_[column];
    if (event == Event::empty) {
      ++counts.empty;
    } else if (event == Event::boolean) {
      ++counts.booleans;
    } else if (counts.rounded++ == 0) {
      counts.first_rounded = fmt::format("'{}' in {}", printable(fields[column].text, 40),
                                         input_.rows_.location_of(index));
    }
  }
}

}  // namespace

std::unique_ptr<ExampleInput> open_table(const Files& files, const TextFormat& format,
                                         const InputOptions& options) {
  return std::make_unique<TableInput>(files, format, options);
}

}  // namespace infeed::tools
