#include <algorithm>
#include <fmt/format.h>
#include <set>

#include <infeed/error.h>

#include "convert/inputs/open_input.h"
#include "convert/inputs/row_input.h"

namespace infeed::tools {
namespace {

/// Cuts a row into fields. Those with quotes are copied into `unquoted`, the rest are views of it.
class FieldSplitter {
 public:
  FieldSplitter(char separator, Quotes quotes) : separator_(separator), quotes_(quotes) {}

  const std::vector<std::string_view>& split(std::string_view row) {
    fields_.clear();
    unquoted_.clear();
    unquoted_.reserve(row.size());  // views into it stay valid
    for (std::size_t at = 0; at <= row.size();) {
      if (quotes_ == Quotes::csv && at < row.size() && row[at] == '"') {
        at = take_quoted(row, at);
      } else {
        const std::size_t end = std::min(row.find(separator_, at), row.size());
        fields_.push_back(row.substr(at, end - at));
        at = end + 1;
      }
    }
    return fields_;
  }

 private:
  /// Returns where the next field begins.
  std::size_t take_quoted(std::string_view row, std::size_t at) {
    const std::size_t begin = unquoted_.size();
    while (true) {
      const std::size_t quote = row.find('"', at + 1);
      if (quote == std::string_view::npos) {
        throw Error(ErrorCode::data_loss,
                    "a quote that opens a field is not closed before the file ends");
      }
      unquoted_.append(row, at + 1, quote - at - 1);
      at = quote + 1;
      if (at >= row.size() || row[at] != '"') break;
      unquoted_.push_back('"');
    }
    if (at < row.size() && row[at] != separator_) {
      throw Error(ErrorCode::data_loss,
                  fmt::format("behind a field's closing quote stands '{}' instead of the separator",
                              row[at]));
    }
    fields_.push_back(std::string_view(unquoted_).substr(begin));
    return at + 1;
  }

  const char separator_;
  const Quotes quotes_;
  std::vector<std::string_view> fields_;
  std::string unquoted_;
};

struct TableColumn {
  std::string name;
  FeatureKind kind = FeatureKind::bytes;
};

class TableInput;

class TableReader final : public FeatureReader {
 public:
  explicit TableReader(const TableInput& input);

 private:
  void add_features(std::uint64_t index, ExampleBuilder& builder) override;

  const TableInput& input_;
  RowFilesReader rows_;
  FieldSplitter splitter_;
};

class TableInput final : public ExampleInput {
 public:
  TableInput(const Files& files, char separator, const InputOptions& options)
      : separator_(separator),
        quotes_(separator == '\t' ? Quotes::none : Quotes::csv),
        rows_(files, quotes_, separator, options.has_header ? 1 : 0) {
    read_names(options.has_header);
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
  std::vector<InputFile> files() const override { return rows_.files(); }
  std::string settings() const override {
    std::string text;
    for (const TableColumn& column : columns_) {
      text +=
          fmt::format("{}{}: {}", text.empty() ? "" : ", ", column.name, to_string(column.kind));
    }
    return text;
  }

 private:
  friend class TableReader;

  void read_names(bool has_header);
  void choose_kinds(const ColumnKinds& given);
  /// The error with file and row.
  [[noreturn]] void fail(std::uint64_t index, const Error& error) const {
    const RowFiles::Place place = rows_.place_of(index);
    throw Error(error.code(), error.message())
        .at_file(rows_.file(place.file).file())
        .at_record(place.row);
  }
  void require_count(std::size_t found) const {
    if (found == columns_.size()) return;
    throw Error(ErrorCode::data_loss,
                fmt::format("the row has {} field{}, but there are {} columns", found,
                            found == 1 ? "" : "s", columns_.size()));
  }

  const char separator_;
  const Quotes quotes_;
  const RowFiles rows_;
  std::vector<TableColumn> columns_;
};

void TableInput::read_names(bool has_header) {
  FieldSplitter splitter(separator_, quotes_);
  for (std::size_t i = 0; i < rows_.file_count(); ++i) {
    const TextRows& file = rows_.file(i);
    if (file.size() == 0) {
      throw Error(ErrorCode::data_loss, "the table is empty; not even a header is there")
          .at_file(file.file());
    }
    TextRowReader reader(file);
    std::vector<std::string> names;
    for (const std::string_view name : splitter.split(reader.read(0))) names.emplace_back(name);
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

void TableInput::choose_kinds(const ColumnKinds& given) {
  std::vector<KindGuess> guesses(columns_.size());
  FieldSplitter splitter(separator_, quotes_);
  RowFilesReader reader(rows_);
  for (const std::uint64_t index : rows_.sample()) {
    try {
      const auto& fields = splitter.split(reader.read(index));
      for (std::size_t c = 0; c < std::min(fields.size(), guesses.size()); ++c) {
        if (!fields[c].empty()) guesses[c].see(fields[c]);
      }
    } catch (const Error&) {
      continue;  // reading it says what is wrong, when it is its turn
    }
  }
  for (std::size_t c = 0; c < columns_.size(); ++c) columns_[c].kind = guesses[c].kind();
  for (const auto& wanted : given) {
    const std::string& name = wanted.first;
    const auto column = std::find_if(columns_.begin(), columns_.end(),
                                     [&](const TableColumn& known) { return known.name == name; });
    if (column == columns_.end()) {
      throw Error(ErrorCode::invalid_argument,
                  fmt::format("the schema names a column '{}', but there are {}", name,
                              fmt::join(columns(), ", ")));
    }
    column->kind = wanted.second;
  }
}

template <class T>
T require_value(std::optional<T> value, const TableColumn& column, std::string_view text) {
  if (value) return *value;
  throw Error(ErrorCode::invalid_argument,
              fmt::format("column '{}' has '{}', but takes {} as other rows have them; correct it, "
                          "or give the column another kind with --schema",
                          column.name, text.substr(0, 40), to_string(column.kind)));
}

void add_field(const TableColumn& column, std::string_view text, ExampleBuilder& builder) {
  if (text.empty()) return;
  switch (column.kind) {
    case FeatureKind::bytes:
      builder.bytes(column.name, text);
      break;
    case FeatureKind::integers:
      builder.integers(column.name, require_value(parse_integer(text), column, text));
      break;
    case FeatureKind::floats:
      builder.floats(column.name, require_value(parse_float(text), column, text));
      break;
  }
}

TableReader::TableReader(const TableInput& input)
    : input_(input), rows_(input.rows_), splitter_(input.separator_, input.quotes_) {}

void TableReader::add_features(std::uint64_t index, ExampleBuilder& builder) {
  const std::string_view row = rows_.read(index);
  try {
    const auto& fields = splitter_.split(row);
    input_.require_count(fields.size());
    for (std::size_t c = 0; c < fields.size(); ++c) {
      add_field(input_.columns_[c], fields[c], builder);
    }
  } catch (const Error& error) {
    input_.fail(index, error);
  }
}

}  // namespace

std::unique_ptr<ExampleInput> open_table(const Files& files, char separator,
                                         const InputOptions& options) {
  return std::make_unique<TableInput>(files, separator, options);
}

}  // namespace infeed::tools
