#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <infeed/keep_rows.h>
#include <infeed/pipeline/dataset.h>
#include <infeed/pipeline/detail/column_batch_element.h>
#include <infeed/pipeline/folder.h>
#include <infeed/pipeline/options.h>
#include <infeed/pipeline/tar.h>
#include <infeed/records/column_batch.h>
#include <infeed/records/column_schema.h>
#include <infeed/records/record.h>

namespace infeed::describe {

/// A dataset whose type is known only when the program runs.
using AnyDataset = std::variant<Dataset<Record>, Dataset<ColumnBatch>, Dataset<std::int64_t>,
                                Dataset<std::string>, Dataset<TarSample>, Dataset<LabeledFile>>;

enum class ElementKind : std::uint8_t {
  record,        ///< bytes: a record, a line
  batch,         ///< rows as columns
  integer,       ///< int64
  text,          ///< the name of a file
  sample,        ///< a sample of a tar file
  labeled_file,  ///< a file and its class
  row,           ///< one row as columns: batch() joins them
  unparsed_row,  ///< a record that batch() parses
};

/// Returns "record", "batch", ...
std::string_view to_string(ElementKind kind);

/// The options of batch().
struct BatchRows {
  Count size = 1;
  bool drop_remainder = false;
  Count parallelism = autotune;
  StageName name = {};
};

/// Makes batches at the source itself. The schema, if given, replaces the source's, which must parse.
using BatchAtSource =
    std::function<Dataset<ColumnBatch>(const BatchRows& options, const ColumnSchema* schema)>;

/// Why: `parse(schema) | batch(n)` should be parse_columns(schema, n), which fills batches at once,
/// though other stages (a shuffle) may stand between the two. So the elements between two stages
/// remember what batch() has to do with them.
///
/// Ownership: a value, cheap to copy. Thread-safety: as Dataset.
struct Elements {
  AnyDataset dataset;
  /// The columns that batch() parses records into.
  std::optional<ColumnSchema> to_parse = std::nullopt;
  /// Keeps the rows of records that batch() can't parse; null: they are left out.
  std::shared_ptr<KeptRows> kept = nullptr;
  /// True if each ColumnBatch is one row.
  bool are_rows = false;
  /// Set directly behind a source of rows.
  BatchAtSource batch_at_source = {};
  /// True if batch_at_source parses text, so that another schema makes other columns.
  bool parses_at_source = false;
  /// The files that records come from, for parse() to infer columns from.
  std::vector<std::string> files = {};
  /// The columns of batches and rows, if they are known before the run.
  std::optional<ColumnSchema> columns = std::nullopt;

  ElementKind kind() const;
  const NodePointer& node() const;

  /// Applies a stage that keeps the type of the elements.
  template <class Stage>
  Elements then(const Stage& stage) const {
    Elements after = *this;
    after.batch_at_source = {};
    after.dataset =
        std::visit([&](const auto& input) -> AnyDataset { return input | stage; }, dataset);
    return after;
  }
  /// Returns the batches that this is a dataset of. Throws invalid_argument that names the stage
  /// which needs them.
  const Dataset<ColumnBatch>& batches(std::string_view stage) const;
};

/// Returns the types that a batch's columns have.
ColumnSchema columns_of(const ColumnBatch& batch);
/// Returns a batch without rows that has these columns.
ColumnBatch batch_without_rows(const ColumnSchema& columns);

/// Makes the elements of a dataset of batches.
Elements batches_of(Dataset<ColumnBatch> batches, std::optional<ColumnSchema> columns = {});

}  // namespace infeed::describe
