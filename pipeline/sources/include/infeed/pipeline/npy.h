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
  /// What npy() calls its column.
  std::string column = "values";
  /// Which arrays of a file npz() takes, in this order; none: all.
  std::vector<std::string> arrays = {};
  ArrayMemory memory = ArrayMemory::mapped;
  /// Whether npz() compares the CRC-32s of stored members when it opens a file, which reads it once.
  bool verify = true;
  Compression compression = Compression::automatic;  ///< of a file as a whole
  /// Leaves out a last batch that has fewer rows than the others.
  bool drop_remainder = false;
  UrlOptions url = {};  ///< where files are named by URLs
  StageName name = {};  ///< as in StageOptions
};

/// Why: gives the rows of arrays that NumPy saved as batches of `size` rows: the first axis numbers
/// the rows, each array is a column. What types become: records/npy.h.
///
///     auto tokens = infeed::npy("tokens-*.npy", 8, {.column = "tokens"});   // numpy.save
///     auto both = infeed::npz("data-*.npz", 32);                            // numpy.savez
///     auto pairs = infeed::npy_columns({{"x", "x.npy"}, {"y", "y.npy"}}, 32);
///     for (const infeed::ColumnBatch& batch : both.iterate()) {
///       std::span<const float> x = batch.column("x").values<float>();
///     }
///
/// Files that a pattern matches are read one after the other, and batch k holds the rows k * size up
/// to (k + 1) * size of all of them; they have the same columns. Where a batch lies in one file it
/// shows the file's mapped pages: nothing is copied but what is swapped, text, misaligned (in an NPZ
/// file), or across two files. Mapped files must not become shorter meanwhile (ArrayMemory::copied
/// reads them instead). Compressed members, compressed files and URLs are first copied to a file
/// without a name in TMPDIR, when their turn comes.
///
/// Headers say how many rows there are: the number of batches is known for local files that aren't
/// gzipped, and skipping (a resume) reads nothing but headers.
///
/// Errors are an element's: a file that is gone, no array, cut, damaged, or has other columns than
/// the first one costs its rows, and stands behind a batch of the rows before; a batch with a bool
/// that is none costs that batch. A pattern that nothing matches is thrown when the source is
/// described.
Dataset<ColumnBatch> npy(const std::string& pattern, Count size, NpySourceOptions options = {});
/// A list of names, in its order; none of them needs to exist yet.
Dataset<ColumnBatch> npy(std::vector<std::string> files, Count size, NpySourceOptions options = {});
Dataset<ColumnBatch> npz(const std::string& pattern, Count size, NpySourceOptions options = {});
Dataset<ColumnBatch> npz(std::vector<std::string> files, Count size, NpySourceOptions options = {});

struct NpyColumn {
  std::string column;
  std::string file;
};
/// Arrays of several files side by side; they have the same number of rows.
Dataset<ColumnBatch> npy_columns(std::vector<NpyColumn> columns, Count size,
                                 NpySourceOptions options = {});

}  // namespace infeed
