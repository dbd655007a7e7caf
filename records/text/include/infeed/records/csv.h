#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "infeed/records/column_batch.h"
#include "infeed/records/column_schema.h"
#include "infeed/records/text_options.h"

/// Why: tables come as text, and a trainer wants their columns as numbers. This reads CSV (and TSV)
/// files into columns whose names and types are known when the program runs, at several hundred
/// megabytes a second and core. In a pipeline it is infeed::csv() (pipeline/csv.h).
///
///     infeed::ColumnSchema schema = infeed::infer_csv_schema("people.csv");
///     infeed::CsvReader reader({"people.csv"}, schema);
///     while (auto batch = reader.read(1000)) std::printf("%ld rows\n", long(batch->rows()));
///
/// | column                  | cell                                                               |
/// |-------------------------|--------------------------------------------------------------------|
/// | dense integers, shape [] | decimal, with a sign perhaps, in the range of the type             |
/// | dense floats, shape []  | decimal or with an exponent, rounded correctly; inf, nan            |
/// | bool, shape []          | true, True, TRUE, 1; false, False, FALSE, 0                         |
/// | bytes                   | its text, without quotes around it                                  |
///
/// (float16 and bfloat16 are made of the float32 that is nearest.) Spaces and tabs around a number
/// don't count. Rows end with LF or CRLF, the last one perhaps with neither; empty lines are no rows;
/// a byte order mark is passed over. Columns that the schema doesn't name are not looked into.
///
/// Errors: invalid_argument when the schema has other columns, or one that the header lacks and that
/// has no default; of a row as BadRows says, with file, line, column, what was found and what was
/// expected (data_loss); of a file as ByteStream's. Text that isn't UTF-8 is passed on in columns of
/// bytes as it is; UTF-16 is refused. A CR without LF outside quotes is an error: Python's csv, pandas
/// and pyarrow end a row there, which is nearly always what nobody meant when other lines end with LF,
/// and as a character it would make other rows than theirs. Within quotes it is a character.
namespace infeed {

/// Reads tables front to back. Thread-safety: one thread at a time.
class CsvReader {
 public:
  CsvReader(std::vector<std::string> files, ColumnSchema schema, CsvOptions options = {});
  CsvReader(CsvReader&&) noexcept;
  CsvReader& operator=(CsvReader&&) noexcept;
  ~CsvReader();

  /// The next `rows_max` rows (at least 1) as a batch; null at the end. Behind an Error it goes on
  /// with the next batch, or, where a file can't be read on, with the next file.
  std::unique_ptr<ColumnBatch> read(std::size_t rows_max);

 private:
  class State;
  std::unique_ptr<State> state_;
};

/// Column by column what the header and the first rows of a file suggest (up to `rows_max` of them,
/// in its first megabyte): int64, float64, bool or bytes. Where some of these rows have no value,
/// whole numbers become float64; the default of float64 is NaN. Digits with a zero in front
/// ("00501") are bytes. Without a header, columns are called column1, column2, ...
ColumnSchema infer_csv_schema(const std::string& file, const CsvOptions& options = {},
                              std::size_t rows_max = 1000);

}  // namespace infeed
