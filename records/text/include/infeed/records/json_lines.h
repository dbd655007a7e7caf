#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "infeed/records/column_batch.h"
#include "infeed/records/column_schema.h"
#include "infeed/records/text_options.h"

/// Why: corpora come as JSON lines, an object a line. This reads them into columns whose names and
/// types are known when the program runs, without making objects of them. In a pipeline it is
/// infeed::json_lines() (pipeline/json_lines.h).
///
///     infeed::ColumnSchema schema = infeed::infer_json_lines_schema("corpus.jsonl");
///     infeed::JsonLinesReader reader({"corpus.jsonl"}, schema);
///     while (auto batch = reader.read(1000)) std::printf("%ld rows\n", long(batch->rows()));
///
/// | column                  | value                                                              |
/// |-------------------------|--------------------------------------------------------------------|
/// | dense integers, shape [] | a number without point and exponent, in the range of the type      |
/// | dense floats, shape []  | a number, rounded correctly                                         |
/// | bool                    | true, false                                                         |
/// | dense with a shape      | a flat array of as many values as the shape has items               |
/// | ragged, padded          | a flat array of any number of values, which the shape divides       |
/// | bytes                   | a string, as UTF-8                                                  |
/// | ragged_bytes            | an array of strings                                                 |
///
/// (float16 and bfloat16 are made of the float32 that is nearest.) A member "b" of an object "a" is
/// the column "a.b". A member that is null or absent takes the column's default (if_missing()), a
/// ragged or padded column without one an empty row; any other column must have it. Members that the
/// schema doesn't name are checked and passed over. Empty lines are no rows.
///
/// The grammar is that of RFC 8259, and nothing is let through: no comments, no NaN, no commas at
/// the end, no duplicate of a column's member, no bytes that aren't UTF-8, no half of a surrogate
/// pair; objects and arrays lie in each other 100 deep at most.
///
/// Errors: invalid_argument for a schema that lines can't fill; of a row as BadRows says, with file,
/// line, column, what was found and what was expected (data_loss); of a file as ByteStream's.
namespace infeed {

/// Reads files of JSON lines front to back. Thread-safety: one thread at a time.
class JsonLinesReader {
 public:
  JsonLinesReader(std::vector<std::string> files, ColumnSchema schema,
                  JsonLinesOptions options = {});
  JsonLinesReader(JsonLinesReader&&) noexcept;
  JsonLinesReader& operator=(JsonLinesReader&&) noexcept;
  ~JsonLinesReader();

  /// The next `rows_max` rows (at least 1) as a batch; null at the end. Behind an Error it goes on
  /// with the next batch, or, where a file can't be read on, with the next file.
  std::unique_ptr<ColumnBatch> read(std::size_t rows_max);

 private:
  class State;
  std::unique_ptr<State> state_;
};

/// Column by column what the first lines of a file suggest (up to `rows_max` of them): int64,
/// float64 (where some are no whole numbers), bool, bytes; for flat arrays the same as ragged
/// columns. What some of these lines lack gets a default: NaN, and float64 for whole numbers; text
/// the empty one. Of a member with values of several kinds, or with arrays of arrays or of objects,
/// it is an Error (invalid_argument) that names it.
ColumnSchema infer_json_lines_schema(const std::string& file, const JsonLinesOptions& options = {},
                                     std::size_t rows_max = 1000);

}  // namespace infeed
