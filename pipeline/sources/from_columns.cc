#include "infeed/pipeline/from_columns.h"

#include <algorithm>
#include <fmt/format.h>
#include <memory>
#include <utility>
#include <vector>

#include <infeed/pipeline/hand_over.h>
#include <infeed/records/detail/rows_to_join.h>

#include "engine/batch_count.h"
#include "sources/batch_rows.h"
#include "sources/from_chunks.h"

namespace infeed {
namespace {

/// Chunks with rows, and in which row each ends.
class Chunks {
 public:
  explicit Chunks(std::vector<ColumnBatch> chunks) {
    const ColumnBatch first = chunks.at(0).slice(0, 0);
    detail::RowsToJoin types;
    for (ColumnBatch& chunk : chunks) {
      types.append(chunk);  // refuses those that aren't alike
      if (chunk.rows() == 0) continue;
      ends_.push_back(rows() + chunk.rows());
      chunks_.push_back(std::move(chunk));
    }
    hash_ = chunks_.empty() ? first.hash() : chunks_[0].hash();
    if (chunks_.size() < 2) return;
    std::vector<std::uint64_t> hashes = {hash_};
    for (std::size_t i = 1; i < chunks_.size(); ++i) hashes.push_back(chunks_[i].hash());
    const auto count = static_cast<std::int64_t>(hashes.size());
    hash_ = Tensor::copy_of<std::uint64_t>({count}, std::span<const std::uint64_t>(hashes)).hash();
  }

  std::int64_t rows() const { return ends_.empty() ? 0 : ends_.back(); }
  std::uint64_t hash() const { return hash_; }

  ColumnBatch slice(std::int64_t first, std::int64_t count) const {
    auto chunk = static_cast<std::size_t>(std::upper_bound(ends_.begin(), ends_.end(), first) -
                                          ends_.begin());
    std::vector<ColumnBatch> parts;
    while (count > 0) {
      const std::int64_t begin = ends_[chunk] - chunks_[chunk].rows();
      const std::int64_t taken = std::min(count, ends_[chunk] - first);
      parts.push_back(chunks_[chunk++].slice(first - begin, taken));
      first += taken;
      count -= taken;
    }
    return join_rows(parts);
  }

 private:
  std::vector<ColumnBatch> chunks_;
  std::vector<std::int64_t> ends_;
  std::uint64_t hash_ = 0;
};

struct SlicedColumns {
  std::shared_ptr<const Chunks> chunks;
  std::uint64_t size;
  std::uint64_t batches;

  ColumnBatch batch(std::uint64_t i) const {
    const auto rows = static_cast<std::uint64_t>(chunks->rows());
    return chunks->slice(static_cast<std::int64_t>(i * size),
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
  FromColumnsNode(std::vector<ColumnBatch> chunks, std::uint64_t size, bool drop_remainder)
      : Node("from_columns", type_info<ColumnBatch>()),
        sliced_{std::make_shared<const Chunks>(std::move(chunks)), size, 0},
        signature_(fmt::format("from_columns(rows={}, hash={:016x}, size={}{})",
                               sliced_.chunks->rows(), sliced_.chunks->hash(), size,
                               drop_remainder ? ", drop_remainder" : "")) {
    sliced_.batches = detail::batch_count(static_cast<std::uint64_t>(sliced_.chunks->rows()), size,
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
  SlicedColumns sliced_;
  const std::string signature_;
};

}  // namespace

Dataset<ColumnBatch> from_columns(ColumnBatch columns, Count size, FromColumnsOptions options) {
  return detail::from_chunks({std::move(columns)}, size, std::move(options));
}

Dataset<ColumnBatch> detail::from_chunks(std::vector<ColumnBatch> chunks, Count size,
                                         FromColumnsOptions options) {
  const std::uint64_t rows = checked_rows("from_columns", size);
  return Dataset<ColumnBatch>(
      named(std::make_shared<FromColumnsNode>(std::move(chunks), rows, options.drop_remainder),
            options.name));
}

}  // namespace infeed
