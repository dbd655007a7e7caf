#include <fmt/format.h>
#include <string>

#include <infeed/pipeline/csv.h>
#include <infeed/pipeline/dataset.h>
#include <infeed/pipeline/records.h>
#include <infeed/records/record_writer.h>

#include "growth_row.h"
#include "temporary_folder.h"

// Files, their size, the size of their records, and columns.
namespace infeed::growth {
namespace {

void write_records(const std::string& file, std::uint64_t count, std::size_t bytes) {
  RecordWriter writer(file);
  const std::string record(bytes, 'r');
  for (std::uint64_t i = 0; i < count; ++i) writer.write(record);
  writer.close();
}

void read_files(std::uint64_t files, Meter& meter) {
  const TemporaryFolder folder;
  for (std::uint64_t i = 0; i < files; ++i) {
    write_records(folder.file(fmt::format("part-{:06}", i)), 16, 100);
  }
  meter.begin();
  records(folder.file("part-*")).count();
  meter.end();
}

void read_file(std::uint64_t count, Meter& meter) {
  const TemporaryFolder folder;
  write_records(folder.file("records"), count, 1000);
  meter.begin();
  records(folder.file("records")).count();
  meter.end();
}

/// Records up to and beyond the segments that threads share a file by.
void read_large_records(std::uint64_t bytes, Meter& meter) {
  const TemporaryFolder folder;
  write_records(folder.file("records"), 48, bytes);
  meter.begin();
  records(folder.file("records"), {.parallelism = 2}).count();
  meter.end();
}

void read_columns(std::uint64_t columns, Meter& meter) {
  const TemporaryFolder folder;
  std::string header;
  std::string row;
  for (std::uint64_t i = 0; i < columns; ++i) {
    header += fmt::format("{}column{}", i == 0 ? "" : ",", i);
    row += fmt::format("{}{}.5", i == 0 ? "" : ",", i);
  }
  std::string text = header + "\n";
  for (int i = 0; i < 6; ++i) text += row + "\n";
  const std::string file = folder.write("table.csv", text);
  meter.begin();
  csv(file, 2).count();
  meter.end();
}

}  // namespace

std::vector<Row> file_rows() {
  return {
      {"files", "records() of files of 16 records", 30, 10, read_files},
      {"file size", "records() of a file of records of 1 kB", 2000, 500, read_file},
      {"record size", "records(parallelism = 2) of 48 records", 30'000, 20'000, read_large_records},
      {"columns", "csv(): the schema and 3 batches of 2 rows", 500, 200, read_columns, 3, kLinear,
       "tables of so many columns leave the caches; runs differ by a factor of two"},
  };
}

}  // namespace infeed::growth
