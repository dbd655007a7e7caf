#include "infeed/pipeline/csv.h"

#include <fmt/format.h>
#include <utility>

#include <infeed/pipeline/files.h>
#include <infeed/records/crc32c.h>
#include <infeed/records/whole_set.h>

#include "sources/text_stage.h"

namespace infeed {
namespace {

std::string csv_signature(const ColumnSchema& schema, const CsvOptions& format) {
  std::string nulls;
  for (const std::string& null : format.nulls) nulls += null + '\n';
  return fmt::format("csv(schema={:08x}, delimiter={}{}{}, nulls={:08x}{})",
                     crc32c(schema.to_json()), static_cast<int>(format.delimiter),
                     format.quotes == Quotes::none ? ", no quotes" : "",
                     format.has_header ? "" : ", no header", crc32c(nulls),
                     format.bad_rows == BadRows::leave_out ? ", leave_out" : "");
}

}  // namespace

Dataset<ColumnBatch> csv(std::vector<std::string> files, ColumnSchema schema, Count size,
                         CsvSourceOptions options) {
  std::string signature = csv_signature(schema, options.format);
  const bool leaves_out = options.format.bad_rows == BadRows::leave_out;
  return detail::make_text_source(
      {.name = "csv",
       .signature = std::move(signature),
       .files = std::move(files),
       .parser = detail::make_csv_parser(std::move(schema), std::move(options.format),
                                         std::move(options.memory)),
       .size = size,
       .parallelism = options.parallelism,
       .drop_remainder = options.drop_remainder,
       .drops_rows = leaves_out,
       .given_name = options.name});
}

Dataset<ColumnBatch> csv(std::initializer_list<std::string> files, ColumnSchema schema, Count size,
                         CsvSourceOptions options) {
  return csv(std::vector(files), std::move(schema), size, std::move(options));
}

Dataset<ColumnBatch> csv(const std::string& pattern, ColumnSchema schema, Count size,
                         CsvSourceOptions options) {
  return csv(match_whole_sets(pattern), std::move(schema), size, std::move(options));
}

Dataset<ColumnBatch> csv(const std::string& pattern, Count size, CsvSourceOptions options) {
  std::vector<std::string> files = match_whole_sets(pattern);
  ColumnSchema schema = infer_csv_schema(files.front(), options.format);
  return csv(std::move(files), std::move(schema), size, std::move(options));
}

}  // namespace infeed
