#pragma once

#include <initializer_list>
#include <string>
#include <vector>

#include <infeed/pipeline/dataset.h>
#include <infeed/pipeline/detail/column_batch_element.h>
#include <infeed/pipeline/options.h>
#include <infeed/records/npy.h>

namespace infeed {

struct NpySourceOptions {
  /// The name of npy()'s column.
  std::string column = "values";
  /// The arrays of a file that npz() takes, in this order; if empty, all.
  std::vector<std::string> arrays = {};
  ArrayMemory memory = ArrayMemory::mapped;
  /// If true, npz() checks the CRC-32s of stored members when it opens a file, which reads it once.
  bool verify = true;
  Compression compression = Compression::automatic;  ///< how the whole file is compressed
  /// Leaves out a last batch that has fewer rows than the others.
  bool drop_remainder = false;
  UrlOptions url = {};  ///< for files named by URLs
  StageName name = {};  ///< as in StageOptions
};

/// Reads the rows of arrays that NumPy saved as batches of `size` rows. The first axis numbers the
/// rows, and each array is a column. records/npy.h says what each type becomes.
///
///     auto tokens = infeed::npy("tokens-*.npy", 8, {.column = "tokens"});   // numpy.save
///     auto both = infeed::npz("data-*.npz", 32);                            // numpy.savez
///     auto pairs = infeed::npy_columns({{"x", "x.npy"}, {"y", "y.npy"}}, 32);
///     for (const infeed::ColumnBatch& batch : both.iterate()) {
///       std::span<const float> x = batch.column("x").values<float>();
///     }
///
/// Files that match a pattern are read one after the other and must have the same columns. Batch k
/// holds the rows k * size up to (k + 1) * size of all of them. A batch within one file shows the
/// file's mapped pages; only byte-swapped, text and misaligned (in an NPZ file) values, and batches
/// across two files, are copied. Mapped files must not become shorter meanwhile
/// (ArrayMemory::copied reads them instead). Compressed members, compressed files and URLs are
/// first copied to an unnamed file in TMPDIR, when their turn comes.
///
/// The headers give the number of rows, so the number of batches is known for local files that
/// aren't compressed. Skipping (a resume) reads only headers.
///
/// Errors are elements' errors. A file that is gone, isn't an array, is cut or damaged, or has
/// other columns than the first file costs its rows. Its error comes after a batch of the rows
/// before. A batch with an invalid bool is lost. Throws when the source is described if nothing
/// matches the pattern.
Dataset<ColumnBatch> npy(const std::string& pattern, Count size, NpySourceOptions options = {});
/// Reads a list of names, in its order. The files need not exist yet.
Dataset<ColumnBatch> npy(std::vector<std::string> files, Count size, NpySourceOptions options = {});
Dataset<ColumnBatch> npz(const std::string& pattern, Count size, NpySourceOptions options = {});
Dataset<ColumnBatch> npz(std::vector<std::string> files, Count size, NpySourceOptions options = {});

struct NpyColumn {
  std::string column;
  std::string file;
};
/// Reads arrays of several files side by side. They must have the same number of rows.
Dataset<ColumnBatch> npy_columns(std::vector<NpyColumn> columns, Count size,
                                 NpySourceOptions options = {});

}  // namespace infeed
