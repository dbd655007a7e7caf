#include <infeed/pipeline/csv.h>
#include <infeed/pipeline/json_lines.h>
#include <infeed/pipeline/unbatch.h>
#include <infeed/records/files.h>

#include "describe/stages/enums.h"
#include "describe/stages/stages.h"
#include "describe/stages/url_option.h"
#include "infeed/error.h"

namespace infeed::describe {
namespace {

struct CsvStage {
  Files files = {};
  std::optional<ColumnSchema> schema = std::nullopt;
  CsvOptions format = {};
  std::string delimiter = ",";
  StageName name = {};
};

struct JsonLinesStage {
  Files files = {};
  std::optional<ColumnSchema> schema = std::nullopt;
  JsonLinesOptions format = {};
  StageName name = {};
};

std::string first_file(const Files& files) {
  const std::vector<std::string> names = files.pattern ? match_files(*files.pattern) : files.names;
  if (names.empty()) {
    throw Error(ErrorCode::invalid_argument, "the list of files is empty: give a name");
  }
  return names.front();
}

char delimiter_of(const CsvStage& stage) {
  if (stage.delimiter.size() != 1) {
    throw Error(ErrorCode::invalid_argument,
                "csv: the delimiter is '" + stage.delimiter + "'; it must be one character");
  }
  return stage.delimiter.front();
}

/// Makes rows of a source that gives batches of any size. `read` makes the source from files,
/// schema, size and the options of batch().
template <class Options, class Read>
Elements rows_of(const Files& files, const ColumnSchema& schema, const Options& options,
                 const Read& read) {
  const auto batches = [=](const BatchRows& rows, const ColumnSchema* replaced) {
    Options with = options;
    with.parallelism = rows.parallelism;
    with.drop_remainder = rows.drop_remainder;
    if (rows.name) with.name = rows.name;
    return files.read([&](const auto& names) {
      return read(names, replaced == nullptr ? schema : *replaced, rows.size, with);
    });
  };
  return Elements{.dataset = batches({.size = kRowsAtOnce}, nullptr) | unbatch(),
                  .are_rows = true,
                  .batch_at_source = batches,
                  .parses_at_source = true,
                  .columns = schema};
}

}  // namespace

void add_text_sources(StageTable& table) {
  constexpr const char* kSchema = "The columns; without it inferred from the first file.";
  table.add("csv", "Reads the rows of CSV files.", CsvStage{}, StageRole::source)
      .required("files", &CsvStage::files, kFilesText)
      .option("columns", &CsvStage::schema, kSchema)
      .option("delimiter", &CsvStage::delimiter, "The character between two fields.")
      .reached<Quotes>(
          "quotes", "Whether quotes hold fields together.",
          [](auto& stage) -> auto& { return stage.format.quotes; })
      .reached<bool>(
          "has_header", "Whether the first row names the columns.",
          [](auto& stage) -> auto& { return stage.format.has_header; })
      .reached<std::vector<std::string>>(
          "nulls", "Cells that hold no value.",
          [](auto& stage) -> auto& { return stage.format.nulls; })
      .reached<BadRows>(
          "bad_rows", "What to do about rows that can't be read.",
          [](auto& stage) -> auto& { return stage.format.bad_rows; })
      .reached<Count>(
          "row_bytes_max", "A longer row is damage.",
          [](auto& stage) -> auto& { return stage.format.row_bytes_max; })
      .reached<Compression>(
          "compression", kCompressionText,
          [](auto& stage) -> auto& { return stage.format.compression; })
      .reached<UrlOptions>(
          "url", kUrlText, [](auto& stage) -> auto& { return stage.format.url; })
      .makes([](const CsvStage& stage, const Making&) {
        CsvSourceOptions options{.format = stage.format, .name = stage.name};
        options.format.delimiter = delimiter_of(stage);
        const ColumnSchema schema = stage.schema
                                        ? *stage.schema
                                        : infer_csv_schema(first_file(stage.files), options.format);
        return rows_of(
            stage.files, schema, options,
            [](const auto& files, const ColumnSchema& columns, Count size,
               const CsvSourceOptions& with) { return csv(files, columns, size, with); });
      });
  table
      .add("json_lines", "Reads JSON-lines files, one object a line.", JsonLinesStage{},
           StageRole::source)
      .required("files", &JsonLinesStage::files, kFilesText)
      .option("columns", &JsonLinesStage::schema, kSchema)
      .reached<BadRows>(
          "bad_rows", "What to do about rows that can't be read.",
          [](auto& stage) -> auto& { return stage.format.bad_rows; })
      .reached<Count>(
          "row_bytes_max", "A longer line is damage.",
          [](auto& stage) -> auto& { return stage.format.row_bytes_max; })
      .reached<Compression>(
          "compression", kCompressionText,
          [](auto& stage) -> auto& { return stage.format.compression; })
      .reached<UrlOptions>(
          "url", kUrlText, [](auto& stage) -> auto& { return stage.format.url; })
      .makes([](const JsonLinesStage& stage, const Making&) {
        const JsonLinesSourceOptions options{.format = stage.format, .name = stage.name};
        const ColumnSchema schema =
            stage.schema ? *stage.schema
                         : infer_json_lines_schema(first_file(stage.files), options.format);
        return rows_of(stage.files, schema, options,
                       [](const auto& files, const ColumnSchema& columns, Count size,
                          const JsonLinesSourceOptions& with) {
                         return json_lines(files, columns, size, with);
                       });
      });
}

}  // namespace infeed::describe
