#include <fmt/format.h>
#include <fstream>
#include <string>

#include <infeed/infeed.h>
#include <infeed/records/example.h>
#include <infeed/records/record_writer.h>

#include "resume_row.h"

namespace infeed::resume {
namespace {

ColumnSchema one_number() { return ColumnSchema().column("x", DType::int64); }

struct Files {
  std::string records;
  std::string lines;
  std::string csv;
  std::string json;
  std::string examples;
};

Files write_files(std::uint64_t count, const std::string& folder) {
  Files files{folder + "/numbers.tfrecord", folder + "/numbers.txt", folder + "/numbers.csv",
              folder + "/numbers.jsonl", folder + "/examples.tfrecord"};
  RecordWriter records(files.records);
  RecordWriter examples(files.examples);
  std::ofstream lines(files.lines);
  std::ofstream csv(files.csv);
  std::ofstream json(files.json);
  csv << "x\n";
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::string number = fmt::format("{:08}", 10'000'000 + i);
    records.write(number);
    for (const std::uint64_t x : {2 * i, 2 * i + 1}) {  // batches have two
      examples.write(ExampleBuilder().integers("x", static_cast<std::int64_t>(x)).encode());
    }
    lines << number << '\n';
    csv << number << '\n';
    json << "{\"x\": " << number << "}\n";
  }
  records.close();
  examples.close();
  return files;
}

}  // namespace

std::vector<ResumeRow> file_rows(std::uint64_t element, const std::string& folder) {
  const Files files = write_files(element + 10, folder);
  std::vector<ResumeRow> rows;
  rows.push_back(row("records", "records", [files] { return records(files.records); }));
  rows.push_back(row("indexed_records", "indexed_records", [files] {
    return indexed_records(files.records, {.without_index = WithoutIndex::scan});
  }));
  rows.push_back(row("lines", "lines", [files] { return lines(files.lines); }));
  rows.push_back(row("fixed_length_records", "of 9 bytes",
                     [files] { return fixed_length_records(files.lines, 9); }));
  rows.push_back(row("csv", "csv(1 row)", [files] { return csv(files.csv, one_number(), 1); }));
  rows.push_back(row("json_lines", "json_lines(1 row)",
                     [files] { return json_lines(files.json, one_number(), 1); }));
  rows.push_back(row("parse_columns", "filter of records | parse_columns(2)", [files] {
    return records(files.examples) |
           filter([](const Record& record) { return record.number() != 7; }) |
           parse_columns(one_number(), 2);
  }));
  rows.push_back(row("cache(path)", "range | cache(path)", [folder, element] {
    return range(static_cast<std::int64_t>(element + 10)) |
           filter([](std::int64_t) { return true; }) | cache({.path = folder + "/cache"});
  }));
  rows.push_back(row("snapshot", "range | snapshot", [folder, element] {
    return range(static_cast<std::int64_t>(element + 10)) |
           filter([](std::int64_t) { return true; }) | snapshot({.path = folder + "/snapshot"});
  }));
  return rows;
}

}  // namespace infeed::resume
