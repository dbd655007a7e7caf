#include <infeed/pipeline/csv.h>
#include <infeed/pipeline/json_lines.h>
#include <infeed/records/files.h>

#include "describe/stages/enums.h"
#include "describe/stages/rows.h"
#include "describe/stages/stages.h"
#include "describe/stages/url_option.h"
#include "infeed/error.h"

namespace infeed::describe {
namespace {

struct CsvStage : CsvOptions {
  Files files = {};
  std::optional<ColumnSchema> schema = std::nullopt;
  std::string delimiter_text = ",";
  StageName name = {};
};

struct JsonLinesStage : JsonLinesOptions {
  Files files = {};
  std::optional<ColumnSchema> schema = std::nullopt;
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
  if (stage.delimiter_text.size() != 1) {
    throw Error(ErrorCode::invalid_argument,
                "csv: the delimiter is '" + stage.delimiter_text + "'; it must be one character");
  }
  return stage.delimiter_text.front();
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
  Elements rows = rows_of_source(batches, schema);
  rows.parses_at_source = true;
  return rows;
}

/// Adds the options that all text has; `row_bytes_text` says of the longest row.
template <class Stage>
AddedStage<Stage> with_text_options(AddedStage<Stage> added, const char* row_bytes_text) {
  added
      .option(
          "bad_rows", &Stage::bad_rows,
          "Rows that can't be read: 'fail' makes an error of their batch, 'leave_out' drops and "
          "counts them.")
      .option("row_bytes_max", &Stage::row_bytes_max, row_bytes_text)
      .option("compression", &Stage::compression, kCompressionText)
      .option("url", &Stage::url, kUrlText);
  return added;
}

}  // namespace

void add_text_sources(StageTable& table) {
  constexpr const char* kSchema = "The columns; without it inferred from the first file.";
  with_text_options(
      table.add("csv", "Reads the rows of CSV files.", CsvStage{}, StageRole::source)
          .required("files", &CsvStage::files, kFilesText)
          .option("columns", &CsvStage::schema, kSchema)
          .option("delimiter", &CsvStage::delimiter_text, "The character between two fields.")
          .option("quotes", &CsvStage::quotes, "Whether quotes hold fields together.")
          .option("has_header", &CsvStage::has_header, "Whether the first row names the columns.")
          .option("nulls", &CsvStage::nulls, "Cells that hold no value."),
      "A longer row is damage.")
      .makes([](const CsvStage& stage, const Making&) {
        CsvSourceOptions options{.format = stage, .name = stage.name};
        options.format.delimiter = delimiter_of(stage);
        const ColumnSchema schema = stage.schema
                                        ? *stage.schema
                                        : infer_csv_schema(first_file(stage.files), options.format);
        return rows_of(
            stage.files, schema, options,
            [](const auto& files, const ColumnSchema& columns, Count size,
               const CsvSourceOptions& with) { return csv(files, columns, size, with); });
      });
  with_text_options(table
                        .add("json_lines", "Reads JSON-lines files, one object a line.",
                             JsonLinesStage{}, StageRole::source)
                        .required("files", &JsonLinesStage::files, kFilesText)
                        .option("columns", &JsonLinesStage::schema, kSchema),
                    "A longer line is damage.")
      .makes([](const JsonLinesStage& stage, const Making&) {
        const JsonLinesSourceOptions options{.format = stage, .name = stage.name};
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
