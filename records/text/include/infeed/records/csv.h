#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "infeed/records/column_batch.h"
#include "infeed/records/column_schema.h"
#include "infeed/records/text_options.h"

/// Why: tables come as text, and a trainer wants their columns as numbers. A CsvReader reads CSV
/// (and TSV) files into columns whose names and types are known when the program runs, at several
/// hundred megabytes a second and core. In a pipeline it is infeed::csv() (pipeline/csv.h).
///
///     infeed::ColumnSchema schema = infeed::infer_csv_schema("people.csv");
///     infeed::CsvReader reader({"people.csv"}, schema);
///     while (auto batch = reader.read(1000)) std::printf("%ld rows\n", long(batch->rows()));
///
/// | column                   | cell                                                     |
/// |--------------------------|----------------------------------------------------------|
/// | dense integers, shape [] | decimal, with a sign perhaps, in the range of the type   |
/// | dense floats, shape []   | decimal or with an exponent, rounded correctly; inf, nan |
/// | bool, shape []           | true, True, TRUE, 1; false, False, FALSE, 0              |
/// | bytes                    | its text, without quotes around it                       |
///
/// Spaces and tabs around a number don't count. Rows end with LF or CRLF, the last one perhaps with
/// neither. Empty lines are no rows. A byte order mark is passed over, and so is a first line "sep=;",
/// by which spreadsheets name the delimiter; it must be the delimiter that is given. Columns that the
/// schema doesn't name are not looked into.
///
/// Errors: invalid_argument when the schema has other kinds of columns, or a column that the header
/// lacks and that has no default. A bad row (BadRows) is data_loss with file, line, column, what
/// was found and what was expected. A file's errors are those of ByteStream. Text that isn't UTF-8
/// is passed on as it is in columns of bytes; UTF-16 is refused. A CR without LF is a character
/// within quotes and an error outside them. Python's csv, pandas and pyarrow end a row there, which
/// is nearly always a mistake when other lines end with LF; as a character it would make other rows
/// than theirs.
namespace infeed {

/// Reads tables front to back. Thread-safety: one thread at a time.
class CsvReader {
 public:
  CsvReader(std::vector<std::string> files, ColumnSchema schema, CsvOptions options = {});
  CsvReader(CsvReader&&) noexcept;
  CsvReader& operator=(CsvReader&&) noexcept;
  ~CsvReader();

  /// Reads the next `rows_max` rows (at least 1) as a batch; null at the end. After an Error it
  /// goes on with the next batch, or with the next file where a file can't be read on.
  std::unique_ptr<ColumnBatch> read(std::size_t rows_max);

 private:
  class State;
  std::unique_ptr<State> state_;
};

/// Guesses the columns from the header and the first rows of a file (up to `rows_max` of them):
/// int64, uint64, float64, bool or bytes, such that none of them changes. Where some rows have no
/// value, numbers become float64, whose default is NaN, unless it rounds one: whole numbers beyond
/// 2^53 are bytes then, as are those beyond uint64. Digits with a zero in front ("00501") are bytes.
/// Without a header, columns are called column1, column2, ...
///
/// A later row with a value that its column's type can't hold, or would change, is a bad row, whose
/// error says that the type was guessed.
///
/// Throws invalid_argument when the header has numbers over columns of numbers (other than whole
/// ones in ascending order, as years are): it seems to be a row, which would be lost.
ColumnSchema infer_csv_schema(const std::string& file, const CsvOptions& options = {},
                              std::size_t rows_max = 1000);

}  // namespace infeed
