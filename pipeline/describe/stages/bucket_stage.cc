#include <algorithm>
#include <fmt/format.h>

#include <infeed/pipeline/bucket_by_sequence_length.h>

#include "describe/stages/padding.h"
#include "describe/stages/rows.h"
#include "describe/stages/stages.h"
#include "infeed/error.h"

namespace infeed::describe {
namespace {

struct BucketStage : BucketOptions {
  std::string column = {};
  bool padded = true;
};

/// Returns the items of a row's sequence, or the bytes of its text.
std::int64_t length_of(const Column& column, const std::string& name) {
  if (column.kind() == Column::Kind::bytes) return column.offsets().back();
  if (column.kind() == Column::Kind::padded) return column.lengths().front();
  if (column.is_ragged()) return column.row_splits().back();
  throw Error(ErrorCode::invalid_argument,
              fmt::format("bucket_by_sequence_length: the column '{}' is {}; its rows must be "
                          "sequences or texts",
                          name, to_string(column.kind())));
}

/// Groups single rows by the length of one of their columns.
struct RowBuckets {
  static const BucketStage& stage_of(const void* context) {
    return *static_cast<const BucketStage*>(context);
  }
  static std::int64_t key(const void* context, const void* row) {
    const BucketStage& stage = stage_of(context);
    const Column& column = static_cast<const ColumnBatch*>(row)->column(stage.column);
    return detail::bucket_of(stage, length_of(column, stage.column));
  }
  static std::int64_t size(const void* context, std::int64_t key) {
    return stage_of(context).batch_sizes[static_cast<std::size_t>(key)];
  }
  static void check(const void* context, std::int64_t key, const void* row) {
    const std::int64_t width = detail::bucket_width(stage_of(context), key);
    for (const Column& column : static_cast<const ColumnBatch*>(row)->columns()) {
      if (!is_sequence(column)) continue;
      check_sequence(column, width, stage_of(context).padding, "bucket_by_sequence_length");
    }
  }
  static void assemble(const void* context, std::int64_t key, void* rows, std::size_t count,
                       void* out) {
    const BucketStage& stage = stage_of(context);
    ColumnBatch batch = join_rows(std::span(static_cast<const ColumnBatch*>(rows), count));
    if (stage.padded) {
      batch = filled_up(std::move(batch), detail::bucket_width(stage, key), stage.padding);
    }
    ::new (out) ColumnBatch(std::move(batch));
  }
  /// Returns the bytes of a padded batch: each row of a column takes those of its longest one.
  static std::uint64_t assembled_bytes(const void* context, std::int64_t key, const void* rows,
                                       std::size_t count) {
    const std::int64_t width = detail::bucket_width(stage_of(context), key);
    const std::span all(static_cast<const ColumnBatch*>(rows), count);
    std::uint64_t row_bytes = 0;
    for (std::size_t i = 0; i < all.front().columns().size(); ++i) {
      std::uint64_t column_bytes = 0;
      for (const ColumnBatch& row : all) {
        if (i >= row.columns().size()) continue;  // rows that aren't alike: assemble() refuses them
        const Column& column = row.columns()[i];
        column_bytes = std::max<std::uint64_t>(column_bytes, column.memory_bytes());
        if (!is_sequence(column) || width < 0) continue;
        column_bytes =
            std::max(column_bytes, static_cast<std::uint64_t>(width) * item_bytes_of(column) +
                                       sizeof(std::int64_t));
      }
      row_bytes += column_bytes;
    }
    return count * row_bytes;
  }
};

Elements bucketed(const BucketStage& stage, const Making& making) {
  detail::check_buckets(stage, stage.padded);
  const Elements rows = rows_of(making.input(), "bucket_by_sequence_length");
  require_widths(rows.columns, "bucket_by_sequence_length");
  detail::GroupingSpec spec{
      .name = "bucket_by_sequence_length",
      .signature = fmt::format("{} of column '{}'{}", detail::buckets_signature(stage),
                               stage.column, stage.padded ? ", padded" : "")};
  spec.out_type = &type_info<ColumnBatch>();
  spec.context = std::make_shared<const BucketStage>(stage);
  spec.key = &RowBuckets::key;
  spec.size = &RowBuckets::size;
  if (stage.padded) spec.check = &RowBuckets::check;
  spec.assemble = &RowBuckets::assemble;
  if (stage.padded) spec.assembled_bytes = &RowBuckets::assembled_bytes;
  spec.drop_remainder = stage.drop_remainder;
  const Dataset<ColumnBatch> batches(
      make_grouping(std::move(spec), rows.batches("bucket_by_sequence_length").node()));
  std::optional<ColumnSchema> columns = rows.columns;
  if (columns && stage.padded) columns = padded_rows(*columns, std::nullopt, stage.padding);
  return batches_of(Dataset<ColumnBatch>(detail::named(batches.node(), stage.name)),
                    std::move(columns));
}

}  // namespace

void add_bucket_stage(StageTable& table) {
  table
      .add("bucket_by_sequence_length",
           "Batches each row with others of about the same length, so that little is padding.",
           BucketStage{})
      .required("column", &BucketStage::column,
                "The column whose length counts: items of sequences, or bytes of texts.")
      .required("boundaries", &BucketStage::boundaries,
                "Ascending. Bucket i has the lengths from boundary i - 1 up to below boundary i.")
      .required("batch_sizes", &BucketStage::batch_sizes,
                "One for each bucket, so one more than boundaries.")
      .option("padded", &BucketStage::padded,
              "Whether ragged columns become padded ones of the batch's longest row.")
      .option("pad_to_boundary", &BucketStage::pad_to_boundary,
              "Pad to the longest sequence that the bucket can hold, so that few shapes occur.")
      .option("padding", &BucketStage::padding, "The value that fills rows up.")
      .option("drop_remainder", &BucketStage::drop_remainder,
              "Leave out the batches that aren't full at the end.")
      .makes(bucketed);
}

}  // namespace infeed::describe
