#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "infeed/records/column_batch.h"
#include "infeed/records/column_schema.h"
#include "infeed/records/text_options.h"

/// Why: corpora come as JSON lines, an object a line. A JsonLinesReader reads them into columns
/// whose names and types are known when the program runs, without making objects of them. In a
/// pipeline it is infeed::json_lines() (pipeline/json_lines.h).
///
///     infeed::ColumnSchema schema = infeed::infer_json_lines_schema("corpus.jsonl");
///     infeed::JsonLinesReader reader({"corpus.jsonl"}, schema);
///     while (auto batch = reader.read(1000)) std::printf("%ld rows\n", long(batch->rows()));
///
/// | column                   | value                                                         |
/// |--------------------------|---------------------------------------------------------------|
/// | dense integers, shape [] | a number without point and exponent, in the range of the type |
/// | dense floats, shape []   | a number, rounded correctly                                   |
/// | bool                     | true, false                                                   |
/// | dense with a shape       | a flat array of as many values as the shape has items         |
/// | ragged, padded           | a flat array of any number of values, which the shape divides |
/// | bytes                    | a string, as UTF-8                                            |
/// | ragged_bytes             | an array of strings                                           |
///
/// A member "b" of an object "a" is the column "a.b". A member that is null or absent takes the
/// column's default (if_missing()). A ragged or padded column without a default gets an empty row;
/// every other column must have the member. Members that the schema doesn't name are checked and
/// passed over. Empty lines are no rows.
///
/// The grammar is strictly that of RFC 8259: no comments, no NaN, no commas at the end, no
/// duplicate of a column's member, no bytes that aren't UTF-8, no half of a surrogate pair. Objects
/// and arrays are nested 100 deep at most.
///
/// Errors: invalid_argument for a schema that lines can't fill. A bad row (BadRows) is data_loss
/// with file, line, column, what was found and what was expected. A file's errors are those of
/// ByteStream.
namespace infeed {

/// Reads files of JSON lines front to back. Thread-safety: one thread at a time.
class JsonLinesReader {
 public:
  JsonLinesReader(std::vector<std::string> files, ColumnSchema schema,
                  JsonLinesOptions options = {});
  JsonLinesReader(JsonLinesReader&&) noexcept;
  JsonLinesReader& operator=(JsonLinesReader&&) noexcept;
  ~JsonLinesReader();

  /// Reads the next `rows_max` rows (at least 1) as a batch; null at the end. After an Error it
  /// goes on with the next batch, or with the next file where a file can't be read on.
  std::unique_ptr<ColumnBatch> read(std::size_t rows_max);

 private:
  class State;
  std::unique_ptr<State> state_;
};

/// Guesses the columns from the first lines of a file (up to `rows_max` of them): int64, uint64,
/// float64 (where some aren't whole numbers), bool, bytes; for flat arrays the same types as ragged
/// columns. A member that some of these lines lack gets a default: NaN for numbers (which are then
/// float64), false for bools, the empty text for text. A member with values of several kinds, with
/// arrays of arrays or of objects, or with a whole number that its column would change (beyond 2^53
/// where lines lack the member or have fractions, beyond uint64 in any case) is an Error (invalid_argument) that names
/// it.
///
/// A later line with a value that its column's type can't hold, or would round, is a bad row, whose
/// error says that the type was guessed. A member that only later lines have is no column.
ColumnSchema infer_json_lines_schema(const std::string& file, const JsonLinesOptions& options = {},
                                     std::size_t rows_max = 1000);

}  // namespace infeed
