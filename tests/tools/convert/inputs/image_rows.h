#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <infeed/records/example_schema.h>
#include <infeed/records/record_reader.h>

namespace infeed::test {

/// A record that `infeed convert` makes of an IDX pair.
struct Row {
  std::string image;
  std::int64_t label;
};

inline std::vector<Row> read_rows(const std::vector<std::string>& files) {
  const auto schema =
      ExampleSchema<Row>().feature("image", &Row::image).feature("label", &Row::label);
  std::vector<Row> rows;
  for (const std::string& file : files) {
    RecordReader reader(file);
    Record record;
    while (reader.next(record)) rows.push_back(schema.parse(record));
  }
  return rows;
}

}  // namespace infeed::test
