#include "infeed/pipeline/from_columns.h"

#include <algorithm>
#include <fmt/format.h>
#include <utility>

#include <infeed/pipeline/hand_over.h>

#include "engine/batch_count.h"
#include "sources/batch_rows.h"

namespace infeed {
namespace {

struct SlicedColumns {
  ColumnBatch columns;
  std::uint64_t size;
  std::uint64_t batches;

  ColumnBatch batch(std::uint64_t i) const {
    const auto rows = static_cast<std::uint64_t>(columns.rows());
    return columns.slice(static_cast<std::int64_t>(i * size),
                         static_cast<std::int64_t>(std::min(size, rows - i * size)));
  }
};

class FromColumnsStage final : public Stage {
 public:
  FromColumnsStage(const StageContext& context, SlicedColumns sliced)
      : Stage(context), sliced_(std::move(sliced)) {}

 protected:
  Pull do_pull(Chunk& out, std::size_t want) override {
    if (position_ == sliced_.batches) return Pull::end;
    HandOver hand_over;
    do {
      out.append(sliced_.batch(position_++));
    } while (out.size() < want && position_ != sliced_.batches && !hand_over.is_due());
    return Pull::values;
  }
  std::uint64_t do_skip(std::uint64_t count, Known) override {
    count = std::min(count, sliced_.batches - position_);
    position_ += count;
    return count;
  }
  Pull do_pull_at(Chunk& out, std::span<const std::uint64_t> positions) override {
    for (const std::uint64_t position : positions) out.append(sliced_.batch(position));
    return Pull::values;
  }
  TracedPlace do_trace(std::uint64_t position) const override { return Stage::do_trace(position); }

 private:
  const SlicedColumns sliced_;
  std::uint64_t position_ = 0;
};

class FromColumnsNode final : public Node {
 public:
  FromColumnsNode(ColumnBatch columns, std::uint64_t size, bool drop_remainder)
      : Node("from_columns", type_info<ColumnBatch>()),
        signature_(fmt::format("from_columns(rows={}, hash={:016x}, size={}{})", columns.rows(),
                               columns.hash(), size, drop_remainder ? ", drop_remainder" : "")),
        sliced_{std::move(columns), size, 0} {
    sliced_.batches = detail::batch_count(static_cast<std::uint64_t>(sliced_.columns.rows()), size,
                                          drop_remainder);
  }

  std::string signature() const override { return signature_; }
  Cardinality cardinality() const override { return Cardinality::finite(sliced_.batches); }
  bool is_indexable() const override { return true; }

 protected:
  std::unique_ptr<Stage> make_stage(const StageContext& context) const override {
    return std::make_unique<FromColumnsStage>(context, sliced_);
  }

 private:
  const std::string signature_;
  SlicedColumns sliced_;
};

}  // namespace

Dataset<ColumnBatch> from_columns(ColumnBatch columns, Count size, FromColumnsOptions options) {
  const std::uint64_t rows = detail::checked_rows("from_columns", size);
  return Dataset<ColumnBatch>(detail::named(
      std::make_shared<FromColumnsNode>(std::move(columns), rows, options.drop_remainder),
      options.name));
}

}  // namespace infeed
