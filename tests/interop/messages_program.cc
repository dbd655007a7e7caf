#include <cstdio>
#include <exception>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include <infeed/protobuf/message_parser.h>
#include <infeed/records/record_reader.h>

// Prints columns of protobuf messages as JSON, for tests/interop/test_messages.py.
//
//   infeed_messages FILE DESCRIPTOR_SET TYPE FIELD...
//
// One object by field: {"values": [...], "splits": [[...], ...]}; values are hexadecimal where they
// are bytes.
namespace {

using namespace infeed;
using Json = nlohmann::json;

std::string as_hexadecimal(std::string_view bytes) {
  std::string text;
  for (const char byte : bytes) {
    constexpr std::string_view kDigits = "0123456789abcdef";
    const auto value = static_cast<unsigned char>(byte);
    text += kDigits[value >> 4];
    text += kDigits[value & 15];
  }
  return text;
}

template <class T>
Json numbers_of(const Column& column) {
  const auto values = column.values<T>();
  return std::vector<T>(values.begin(), values.end());
}

Json values_of(const Column& column) {
  switch (column.dtype()) {
    case DType::boolean:
      return numbers_of<bool>(column);
    case DType::int32:
      return numbers_of<std::int32_t>(column);
    case DType::int64:
      return numbers_of<std::int64_t>(column);
    case DType::uint32:
      return numbers_of<std::uint32_t>(column);
    case DType::uint64:
      return numbers_of<std::uint64_t>(column);
    case DType::float32:
      return numbers_of<float>(column);
    case DType::float64:
      return numbers_of<double>(column);
    default:
      break;
  }
  Json values = Json::array();
  for (std::size_t i = 0; i + 1 < column.offsets().size(); ++i) {
    values.push_back(as_hexadecimal(column.bytes(static_cast<std::int64_t>(i))));
  }
  return values;
}

void print_columns(const std::string& file, const MessageParser& parser) {
  std::vector<Record> records;
  RecordReader reader(file);
  for (Record record; reader.next(record);) records.push_back(record);
  ColumnRows rows = parser.begin(records.size());
  for (std::size_t i = 0; i < records.size(); ++i) {
    parser.parse_row(records[i].bytes(), &records[i], i, rows);
  }
  const ColumnBatch batch = parser.finish(std::move(rows), records.size());
  Json columns = Json::object();
  for (const std::string& name : batch.names()) {
    const Column& column = batch.column(name);
    Json splits = Json::array();
    for (std::size_t level = 0; level < column.levels(); ++level) {
      const auto of_level = column.row_splits(level);
      splits.push_back(std::vector<std::int64_t>(of_level.begin(), of_level.end()));
    }
    columns[name] = {{"values", values_of(column)}, {"splits", splits}};
  }
  std::cout << columns.dump() << '\n';
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  if (arguments.size() < 4) {
    std::fputs("usage: infeed_messages FILE DESCRIPTOR_SET TYPE FIELD...\n", stderr);
    return 2;
  }
  try {
    const std::vector<std::string> fields(arguments.begin() + 3, arguments.end());
    print_columns(arguments[0], MessageParser(MessageType(arguments[1], arguments[2]), fields));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "infeed_messages: %s\n", error.what());
    return 1;
  }
  return 0;
}
