#include <array>
#include <google/protobuf/stubs/logging.h>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <infeed/error.h>
#include <infeed/records/column_parser.h>

#include "fuzz.h"
#include "records/columns/plain_rows.h"
#include "records/columns/reference_view.h"

/// A drawn schema, and any bytes as records. A record that libprotobuf takes becomes the rows that
/// its values make one by one, or is refused if they don't fit. The quick way of reading gives the
/// same batch, or the same error, as the general one.
namespace infeed::fuzz {
namespace {

using test::PlainRow;
using test::ReferenceRecord;

constexpr std::array<const char*, 6> kNames = {"a", "b", "image", "label", "text", ""};
constexpr std::array<const char*, 6> kPartitions = {"ca", "cb", "cimage", "clabel", "ctext", "c"};

/// One byte decides the kind, one the type and shape, one what is optional.
ColumnType take_type(Input& input, std::size_t number) {
  const std::uint8_t kind = input.byte();
  const std::uint8_t dtype = input.byte();
  const std::uint8_t more = input.byte();
  ColumnType type{.name = kNames.at(number), .kind = static_cast<Column::Kind>(kind % 5)};
  const bool is_bytes = type.kind == Column::Kind::bytes || type.kind == Column::Kind::ragged_bytes;
  const bool is_ragged =
      type.kind == Column::Kind::ragged || type.kind == Column::Kind::ragged_bytes;
  type.dtype = is_bytes ? DType::bytes : static_cast<DType>((dtype & 15) % 13);
  if (!is_bytes && (dtype & 0x80) != 0) type.shape = {1 + (dtype >> 4) % 4};
  if (type.kind == Column::Kind::padded) {
    if ((more & 1) != 0) type.width = more >> 4;
    type.padding = (more & 2) != 0 ? 1 : 0;
  }
  const bool can_be_of_steps = type.kind != Column::Kind::bytes &&
                               (type.kind != Column::Kind::dense || type.shape.rank() != 0);
  if (can_be_of_steps && (more & 8) != 0) {
    type.source = ColumnSource::feature_list;
    if (is_ragged && (more & 1) != 0) type.ragged_levels = 2;
    if (type.kind == Column::Kind::dense && (more & 1) != 0) type.shape = Shape(2, type.shape);
  } else if (is_ragged && (more & 1) != 0) {
    type.ragged_levels = 2;
    const std::string by = kPartitions.at(number);
    if ((more & 2) != 0) {
      type.partition = RowSplits{by};
    } else {
      type.partition = RowLengths{by};
    }
  }
  if ((more & 4) == 0) return type;
  const auto count = static_cast<std::size_t>(type.shape.items());
  if (is_bytes) {
    type.missing = std::vector<std::string>{"none"};
  } else if (is_float(type.dtype)) {
    type.missing = std::vector<double>(count, 0.5);
  } else {
    type.missing = std::vector<std::int64_t>(count, 1);
  }
  return type;
}

ColumnSchema take_schema(Input& input) {
  ColumnSchema schema;
  for (std::size_t i = 0, n = 1 + input.byte() % kNames.size(); i < n; ++i) {
    const ColumnType type = take_type(input, i);
    try {
      schema.add(type);
    } catch (const Error& error) {
      // A row of width 0 has no room for its default.
      require(type.width && error.code() == ErrorCode::invalid_argument, error.what());
    }
  }
  return schema;
}

/// Empty if the record became a row.
std::string parse(const ColumnParser& parser, std::string_view record, std::size_t row,
                  ColumnRows& rows) {
  try {
    parser.parse_row(record, nullptr, row, rows);
  } catch (const Error& error) {
    const bool is_of_record =
        error.code() == ErrorCode::data_loss || error.code() == ErrorCode::invalid_argument;
    require(is_of_record, error.what());
    return error.what();
  }
  return {};
}

}  // namespace

/// Columns, then records behind two bytes of length each.
void check(Input input) {
  static const google::protobuf::LogSilencer no_complaints_about_utf8;
  const ColumnSchema schema = take_schema(input);
  if (schema.size() == 0) return;
  const ColumnParser parser(schema);
  constexpr std::size_t kRowsMax = 4;
  ColumnRows quick = parser.begin(kRowsMax);
  ColumnRows general = parser.begin(kRowsMax);
  std::vector<std::optional<std::vector<PlainRow>>> expected;
  for (int i = 0; i < 6 && !input.is_empty() && expected.size() < kRowsMax; ++i) {
    const std::size_t size = input.two_bytes();
    const std::string record(input.bytes(size));
    // An unknown field is skipped, but the quick way, which expects the usual form, gives up.
    const std::string unusual = std::string("\x78\x00", 2) + record;
    const std::string error = parse(parser, record, expected.size(), quick);
    const std::string other_error = parse(parser, unusual, expected.size(), general);
    require(error == other_error, "errors are the same: '" + error + "', '" + other_error + "'");
    const ReferenceRecord reference(record, test::message_of_schema(schema));
    if (reference.is_valid()) {
      auto row = test::reference_row(schema, reference);
      require(row.has_value() == error.empty(), "a row is right or refused; " + error);
      if (row) expected.emplace_back(std::move(row));
    } else if (error.empty()) {
      expected.emplace_back();
    }
  }
  const ColumnBatch batch = parser.finish(std::move(quick), expected.size());
  require(batch == parser.finish(std::move(general), expected.size()), "batches are the same");
  for (std::size_t i = 0; i < schema.size(); ++i) {
    for (std::size_t row = 0; row < expected.size(); ++row) {
      if (!expected[row]) continue;
      const PlainRow found = test::row_of_column(schema.columns()[i], batch.columns()[i],
                                                 static_cast<std::int64_t>(row));
      require(found == (*expected[row])[i], "a row has the values of its record");
    }
  }
}

}  // namespace infeed::fuzz
