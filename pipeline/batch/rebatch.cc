#include "infeed/pipeline/rebatch.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <infeed/pipeline/errors_in_flight.h>
#include <infeed/pipeline/reservation.h>

#include "batch/batch_storage.h"
#include "engine/iterator_context.h"

namespace infeed::detail {
namespace {

/// For Batch<T>: rows are copied straight into the next block.
class CopyRowsStage final : public Stage {
 public:
  CopyRowsStage(const StageContext& context, const std::vector<std::int64_t>& sizes,
                const RebatchOptions& options, const BatchLayout& layout,
                std::unique_ptr<Stage> input)
      : Stage(context),
        sizes_(sizes),
        options_(options),
        layout_(layout),
        input_(std::move(input)),
        in_(type()),
        pool_(std::make_shared<BatchPool>(
            layout, static_cast<std::size_t>(*std::max_element(sizes.begin(), sizes.end())))),
        memory_(run().memory(), "rebatch") {
    memory_.grow(pool_->block_bytes());
  }

  ~CopyRowsStage() override { pool_->close(); }

  Pull do_pull(Chunk& out, std::size_t want) override {
    while (out.size() < want) {
      if (ended_) return out.empty() ? Pull::end : Pull::values;
      const std::size_t missing = size_at_hand() - partial_.size();
      if (missing == 0) {
        hand_over(out);
        continue;
      }
      if (in_.empty()) {
        if (!out.empty()) return Pull::values;
        const Pull pulled = input_->pull(in_, 1);
        if (pulled == Pull::cancelled) return pulled;
        if (pulled == Pull::end) {
          ended_ = true;
          if (partial_.size() > 0 && !options_.drop_remainder) hand_over(out);
          continue;
        }
      }
      ErrorPointer error = in_.take_error();
      if (error == nullptr) take_rows(missing, out, error);
      if (error != nullptr) {
        out.set_error(std::move(error));
        return Pull::values;
      }
    }
    return Pull::values;
  }

 private:
  std::size_t size_at_hand() const { return static_cast<std::size_t>(sizes_[turn_]); }

  void hand_over(Chunk& out) {
    if (partial_.get() == nullptr) partial_ = pool_->take();
    out.append(std::move(partial_));
    turn_ = (turn_ + 1) % sizes_.size();
  }

  /// Goes on with the batch in front of in_.
  void take_rows(std::size_t missing, Chunk& out, ErrorPointer& error) {
    auto& batch = *static_cast<BatchReference*>(in_.front());
    if (row_ == 0 && partial_.size() == 0 && batch.size() == missing) {
      out.append(std::move(batch));
      turn_ = (turn_ + 1) % sizes_.size();
      row_ = missing;
    } else {
      const std::size_t count = std::min(missing, batch.size() - row_);
      if (partial_.get() == nullptr) partial_ = pool_->take();
      if (!copy_rows(batch, row_, count)) {
        // Rare: only the row that can't be copied is lost.
        if (count == 1 || !copy_rows(batch, row_, 1)) error = last_error_;
        ++row_;
      } else {
        row_ += count;
      }
    }
    if (row_ < batch.size()) return;
    type().destroy(in_.front(), 1);
    in_.drop_front(1);
    row_ = 0;
  }

  /// Copies rows behind those of partial_; all or none.
  bool copy_rows(const BatchReference& from, std::size_t first, std::size_t count) {
    BatchStorage& to = *partial_.get();
    const std::size_t size = to.size();
    std::size_t done = 0;
    try {
      for (; done < layout_.columns.size(); ++done) {
        const TypeInfo& column = *layout_.columns[done].type;
        const auto* const source = static_cast<const std::byte*>(from.column(done));
        column.copy_run(to.column(done) + size * column.size, source + first * column.size, count);
      }
      to.set_size(size + count);
      return true;
    } catch (...) {
      last_error_ = current_error();
      while (done-- > 0) {
        const TypeInfo& column = *layout_.columns[done].type;
        column.destroy(to.column(done) + size * column.size, count);
      }
      return false;
    }
  }

  const std::vector<std::int64_t> sizes_;
  const RebatchOptions options_;
  const BatchLayout& layout_;
  const std::unique_ptr<Stage> input_;
  Chunk in_;
  const std::shared_ptr<BatchPool> pool_;
  Reservation memory_;  ///< of the batch that is being filled
  BatchReference partial_;
  std::size_t turn_ = 0;
  std::size_t row_ = 0;  ///< of the batch in front of in_: the next one
  ErrorPointer last_error_;
  bool ended_ = false;
};

/// For batches that have no layout of their own.
class JoinRowsStage final : public Stage {
 public:
  JoinRowsStage(const StageContext& context, const std::vector<std::int64_t>& sizes,
                const RebatchOptions& options, const RowJoin& join, std::unique_ptr<Stage> input)
      : Stage(context),
        sizes_(sizes),
        options_(options),
        join_(join),
        input_(std::move(input)),
        in_(type()),
        rows_(join.begin(), join.drop) {}

  Pull do_pull(Chunk& out, std::size_t want) override {
    while (out.size() < want) {
      if (ended_) return out.empty() ? Pull::end : Pull::values;
      if (count_ == size_at_hand()) {
        hand_over(out);
        continue;
      }
      if (in_.empty()) {
        if (!out.empty()) return Pull::values;
        const Pull pulled = input_->pull(in_, 1);
        if (pulled == Pull::cancelled) return pulled;
        if (pulled == Pull::end) {
          ended_ = true;
          if (count_ > 0 && !options_.drop_remainder) hand_over(out);
          continue;
        }
      }
      ErrorPointer error = in_.take_error();
      if (error == nullptr) take_rows(out, error);
      if (error != nullptr) {
        out.set_error(std::move(error));
        return Pull::values;
      }
    }
    return Pull::values;
  }

 private:
  std::size_t size_at_hand() const { return static_cast<std::size_t>(sizes_[turn_]); }

  void next_turn() { turn_ = (turn_ + 1) % sizes_.size(); }

  void hand_over(Chunk& out) {
    join_.finish(rows_.get(), out);
    memory_.shrink(memory_.bytes());
    count_ = 0;
    next_turn();
  }

  /// Goes on with the batch in front of in_.
  void take_rows(Chunk& out, ErrorPointer& error) {
    const std::size_t size = join_.count(in_.front());
    if (row_ == 0 && count_ == 0 && size == size_at_hand()) {
      out.append_from(in_, 1);
      next_turn();
      return;
    }
    const std::size_t taken = std::min(size_at_hand() - count_, size - row_);
    try {
      join_.append(rows_.get(), in_.front(), row_, taken);
      count_ += taken;
    } catch (...) {
      error = current_error();  // what doesn't fit is lost
    }
    const std::uint64_t bytes = join_.bytes(rows_.get());
    if (bytes > memory_.bytes()) memory_.grow(bytes - memory_.bytes());
    row_ += taken;
    if (row_ < size) return;
    type().destroy(in_.front(), 1);
    in_.drop_front(1);
    row_ = 0;
  }

  const std::vector<std::int64_t> sizes_;
  const RebatchOptions options_;
  const RowJoin join_;
  const std::unique_ptr<Stage> input_;
  Chunk in_;
  const std::unique_ptr<void, void (*)(void*) noexcept> rows_;
  Reservation memory_{memory(), "rebatch"};  ///< of rows_
  std::size_t count_ = 0;                    ///< of rows_
  std::size_t turn_ = 0;
  std::size_t row_ = 0;  ///< of the batch in front of in_: the next one
  bool ended_ = false;
};

/// What all kinds of batches have in common.
class RebatchNode : public Node {
 public:
  RebatchNode(std::vector<std::int64_t> sizes, const RebatchOptions& options, const TypeInfo& type,
              NodePointer input)
      : Node("rebatch", type, {std::move(input)}), sizes_(std::move(sizes)), options_(options) {
    const auto is_negative = [](std::int64_t size) { return size < 0; };
    const auto is_positive = [](std::int64_t size) { return size > 0; };
    if (std::any_of(sizes_.begin(), sizes_.end(), is_negative) ||
        std::none_of(sizes_.begin(), sizes_.end(), is_positive)) {
      throw Error(
          ErrorCode::invalid_argument,
          fmt::format("rebatch: sizes are [{}]; none may be negative, and at least one must "
                      "be more than 0",
                      fmt::join(sizes_, ", ")));
    }
  }

  std::string signature() const override {
    return fmt::format("rebatch({}{})", fmt::join(sizes_, " "),
                       options_.drop_remainder ? ", drop_remainder" : "");
  }

 protected:
  const std::vector<std::int64_t>& sizes() const { return sizes_; }
  const RebatchOptions& options() const { return options_; }

 private:
  const std::vector<std::int64_t> sizes_;
  const RebatchOptions options_;
};

class CopyRowsNode final : public RebatchNode {
 public:
  CopyRowsNode(std::vector<std::int64_t> sizes, const RebatchOptions& options,
               const BatchLayout& layout, const TypeInfo& type, NodePointer input)
      : RebatchNode(std::move(sizes), options, type, std::move(input)), layout_(layout) {}

  std::uint64_t buffer_bytes_min() const override {
    return rows_bytes(*std::max_element(sizes().begin(), sizes().end()));
  }
  std::uint64_t element_bytes_min() const override {
    return type().size + rows_bytes(*std::min_element(sizes().begin(), sizes().end()));
  }

 protected:
  std::unique_ptr<Stage> make_stage(const StageContext& context) const override {
    return std::make_unique<CopyRowsStage>(context, sizes(), options(), layout_,
                                           input().open(context));
  }

 private:
  std::uint64_t rows_bytes(std::int64_t rows) const {
    return static_cast<std::uint64_t>(rows) * layout_.row->size;
  }

  const BatchLayout& layout_;
};

class JoinRowsNode final : public RebatchNode {
 public:
  JoinRowsNode(std::vector<std::int64_t> sizes, const RebatchOptions& options, const RowJoin& join,
               const TypeInfo& type, NodePointer input)
      : RebatchNode(std::move(sizes), options, type, std::move(input)), join_(join) {}

 protected:
  std::unique_ptr<Stage> make_stage(const StageContext& context) const override {
    return std::make_unique<JoinRowsStage>(context, sizes(), options(), join_,
                                           input().open(context));
  }

 private:
  const RowJoin join_;
};

}  // namespace

void ColumnRowsToJoin::append(const ColumnBatch& batch, std::size_t first, std::size_t row_count) {
  ColumnBatch part =
      batch.slice(static_cast<std::int64_t>(first), static_cast<std::int64_t>(row_count));
  if (!parts.empty()) join_rows(std::array{parts.front().slice(0, 0), part.slice(0, 0)});
  parts.push_back(std::move(part));
}

std::uint64_t ColumnRowsToJoin::bytes() const {
  std::uint64_t total = 0;
  for (const ColumnBatch& part : parts) total += part.bytes();
  return total;
}

ColumnBatch ColumnRowsToJoin::finish() { return join_rows(parts); }

NodePointer make_rebatch(std::vector<std::int64_t> sizes, const RebatchOptions& options,
                         const BatchLayout& layout, const TypeInfo& type, NodePointer input) {
  return std::make_shared<CopyRowsNode>(std::move(sizes), options, layout, type, std::move(input));
}

NodePointer make_rebatch(std::vector<std::int64_t> sizes, const RebatchOptions& options,
                         const RowJoin& join, const TypeInfo& type, NodePointer input) {
  return std::make_shared<JoinRowsNode>(std::move(sizes), options, join, type, std::move(input));
}

}  // namespace infeed::detail
