#include "infeed/pipeline/json_lines.h"

#include <fmt/format.h>
#include <utility>

#include <infeed/pipeline/files.h>
#include <infeed/records/crc32c.h>
#include <infeed/records/whole_set.h>

#include "sources/text_stage.h"

namespace infeed {

Dataset<ColumnBatch> json_lines(std::vector<std::string> files, ColumnSchema schema, Count size,
                                JsonLinesSourceOptions options) {
  const bool leaves_out = options.format.bad_rows == BadRows::leave_out;
  std::string signature = fmt::format("json_lines(schema={:08x}{})", crc32c(schema.to_json()),
                                      leaves_out ? ", leave_out" : "");
  return detail::make_text_source(
      {.name = "json_lines",
       .signature = std::move(signature),
       .files = std::move(files),
       .parser = detail::make_json_lines_parser(std::move(schema), std::move(options.format),
                                                std::move(options.memory)),
       .size = size,
       .parallelism = options.parallelism,
       .drop_remainder = options.drop_remainder,
       .drops_rows = leaves_out,
       .given_name = options.name});
}

Dataset<ColumnBatch> json_lines(std::initializer_list<std::string> files, ColumnSchema schema,
                                Count size, JsonLinesSourceOptions options) {
  return json_lines(std::vector(files), std::move(schema), size, std::move(options));
}

Dataset<ColumnBatch> json_lines(const std::string& pattern, ColumnSchema schema, Count size,
                                JsonLinesSourceOptions options) {
  return json_lines(match_whole_sets(pattern), std::move(schema), size, std::move(options));
}

Dataset<ColumnBatch> json_lines(const std::string& pattern, Count size,
                                JsonLinesSourceOptions options) {
  std::vector<std::string> files = match_whole_sets(pattern);
  ColumnSchema schema = infer_json_lines_schema(files.front(), options.format);
  return json_lines(std::move(files), std::move(schema), size, std::move(options));
}

}  // namespace infeed
