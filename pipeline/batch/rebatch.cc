#include "infeed/pipeline/rebatch.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <infeed/pipeline/errors_in_flight.h>
#include <infeed/pipeline/reservation.h>

#include "batch/batch_storage.h"
#include "engine/iterator_context.h"
#include "engine/work/passing_error.h"

namespace infeed::detail {
namespace {

/// The shared part of both ways to join rows: the next size, and the next row.
class RebatchStage : public Stage, public Bookmarked {
 public:
  RebatchStage(const StageContext& context, const std::vector<std::int64_t>& sizes,
               const RebatchOptions& options, std::unique_ptr<Stage> input)
      : Stage(context),
        Bookmarked(context),
        sizes_(sizes),
        options_(options),
        input_(std::move(input)),
        in_(type()) {}

  Pull do_pull(Chunk& out, std::size_t want) final {
    while (out.size() < want) {
      if (ended_) return out.empty() ? Pull::end : Pull::values;
      if (rows_taken() == size_at_hand() && (seen_ > 0 || size_at_hand() > 0)) {
        hand_over(out);
        next_turn(out);
        continue;
      }
      if (in_.empty()) {
        if (!out.empty()) return Pull::values;
        const Pull pulled = input_->pull(in_, elements_wanted());
        if (pulled == Pull::cancelled) return pulled;
        if (pulled == Pull::end) {
          ended_ = true;
          if (rows_taken() > 0 && !options_.drop_remainder) hand_over(out);
          continue;
        }
      }
      ErrorPointer error;
      if (in_.size() == 0) {
        error = in_.take_error();
        ++element_;
      } else {
        take_from_front(out, error);
      }
      if (error != nullptr) {
        out.set_error(std::move(error));
        return Pull::values;
      }
    }
    return Pull::values;
  }

 protected:
  /// Returns the rows of the batch in the making.
  virtual std::size_t rows_taken() const = 0;
  virtual std::size_t rows_of(const void* batch) const = 0;
  /// Takes `count` rows of the batch. Returns how many rows to go on by, and the error if any of
  /// them is lost.
  virtual std::size_t take_rows(const void* batch, std::size_t first, std::size_t count,
                                ErrorPointer& error) = 0;
  /// Hands over the batch in the making.
  virtual void hand_over(Chunk& out) = 0;
  /// Shows the next batch of the input: batches without rows are to be of the kind of the last one.
  virtual void see(const void*) {}

  /// The state: the next row of the element, whose turn it is of the sizes, and the rows so far.
  bool go_to(const Bookmark& bookmark, Known known) final {
    if (bookmark.inputs.size() != 1 || bookmark.state.size() != 3) throw bad_bookmark();
    const std::uint64_t read = element_ + in_.slots();
    if (bookmark.inputs[0] < read || rows_taken() != 0) return false;
    if (!pass_over(*input_, bookmark.inputs[0] - read, known)) return false;
    drop_slots(in_, in_.slots(), known);
    element_ = bookmark.inputs[0];
    row_ = static_cast<std::size_t>(bookmark.state[0]);
    turn_ = static_cast<std::size_t>(bookmark.state[1] % sizes_.size());
    rows_given_ = bookmark.state[2];
    passes_multiple(rows_given_);
    if (row_ == 0) return true;
    const Pull pulled = input_->pull(in_, 1);  // as do_pull() does, which looks for an error first
    if (pulled == Pull::cancelled) return false;
    if (in_.size() == 0) drop_slots(in_, 1, Known::nothing);
    if (pulled == Pull::end || in_.size() == 0 || row_ >= rows_of(in_.front()))
      throw bad_bookmark();
    return true;
  }
  TracedPlace do_trace(std::uint64_t position) const final { return Stage::do_trace(position); }

 private:
  std::size_t size_at_hand() const { return static_cast<std::size_t>(sizes_[turn_]); }
  /// Returns how many elements the batch in the making still needs, if they have as many rows as the
  /// last one: a pull for each single row would cost more than to take it.
  std::size_t elements_wanted() const {
    const std::size_t rows = size_at_hand() - rows_taken();
    return std::clamp<std::size_t>(rows / std::max<std::size_t>(1, front_rows_), 1, in_.capacity());
  }
  /// Ends a batch, which was handed over. No bookmark is noted before a batch without rows: a resume
  /// has to see another one before it.
  void next_turn(const Chunk& out) {
    turn_ = (turn_ + 1) % sizes_.size();
    if (size_at_hand() > 0 && passes_multiple(rows_given_))
      note_bookmark(position() + out.size(), {element_}, {row_, turn_, rows_given_});
  }

  void take_from_front(Chunk& out, ErrorPointer& error) {
    if (seen_ <= element_) {
      if (gives_empty_) see(in_.front());
      seen_ = element_ + 1;
      if (size_at_hand() == 0) return;
    }
    front_rows_ = rows_of(in_.front());
    if (row_ == 0 && rows_taken() == 0 && front_rows_ == size_at_hand()) {
      out.append_from(in_, 1);
      ++element_;
      rows_given_ += front_rows_;
      next_turn(out);
      return;
    }
    const std::size_t count = std::min(size_at_hand() - rows_taken(), front_rows_ - row_);
    const std::size_t taken = take_rows(in_.front(), row_, count, error);
    row_ += taken;
    rows_given_ += taken;
    if (row_ < front_rows_) return;
    type().destroy(in_.front(), 1);
    in_.drop_front(1);
    ++element_;
    row_ = 0;
  }

  const std::vector<std::int64_t> sizes_;
  const bool gives_empty_ = std::ranges::count(sizes_, 0) > 0;
  const RebatchOptions options_;
  const std::unique_ptr<Stage> input_;
  Chunk in_;
  std::size_t turn_ = 0;
  std::size_t row_ = 0;           ///< next row of the batch in front of in_
  std::size_t front_rows_ = 1;    ///< rows of that batch, or of the last one
  std::uint64_t element_ = 0;     ///< number in the input of that batch
  std::uint64_t rows_given_ = 0;  ///< rows taken from the input, so far
  std::uint64_t seen_ = 0;        ///< number of the last batch that was seen, plus 1; 0: none was
  bool ended_ = false;
};

/// Rebatches Batch<T>: rows are copied straight into the next block.
class CopyRowsStage final : public RebatchStage {
 public:
  CopyRowsStage(const StageContext& context, const std::vector<std::int64_t>& sizes,
                const RebatchOptions& options, const BatchLayout& layout,
                std::unique_ptr<Stage> input)
      : RebatchStage(context, sizes, options, std::move(input)),
        layout_(layout),
        pool_(std::make_shared<BatchPool>(
            layout, static_cast<std::size_t>(*std::max_element(sizes.begin(), sizes.end())),
            options.memory, free_memory_of(memory()))),
        memory_(memory(), "rebatch") {
    memory_.grow(pool_->block_bytes());
  }

  ~CopyRowsStage() override { pool_->close(); }

 private:
  std::size_t rows_taken() const override { return partial_.size(); }

  std::size_t rows_of(const void* batch) const override {
    return static_cast<const BatchReference*>(batch)->size();
  }

  void hand_over(Chunk& out) override {
    if (partial_.get() == nullptr) partial_ = pool_->take();
    memory_.shrink(memory_.bytes() - pool_->block_bytes());
    out.append(std::move(partial_));
  }

  std::size_t take_rows(const void* batch, std::size_t first, std::size_t count,
                        ErrorPointer& error) override {
    const auto& from = *static_cast<const BatchReference*>(batch);
    if (partial_.get() == nullptr) partial_ = pool_->take();
    const std::size_t before = partial_.size();
    const bool are_copied = copy_rows(from, first, count, error);
    // Rare: only the row that can't be copied is lost, so rows are taken one by one.
    if (!are_copied && count > 1 && copy_rows(from, first, 1, error)) error = nullptr;
    memory_.grow(payload_bytes(before, partial_.size() - before));
    return are_copied ? count : 1;
  }

  /// Copies rows to the end of partial_; all or none.
  bool copy_rows(const BatchReference& from, std::size_t first, std::size_t count,
                 ErrorPointer& error) {
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
      error = current_error();
      while (done-- > 0) {
        const TypeInfo& column = *layout_.columns[done].type;
        column.destroy(to.column(done) + size * column.size, count);
      }
      return false;
    }
  }

  /// Returns the bytes that some rows of partial_ own.
  std::uint64_t payload_bytes(std::size_t first, std::size_t count) const {
    std::uint64_t bytes = 0;
    for (std::size_t i = 0; i < layout_.columns.size(); ++i) {
      const TypeInfo& column = *layout_.columns[i].type;
      if (column.payload_bytes_run == nullptr) continue;
      bytes += column.payload_bytes_run(partial_.get()->column(i) + first * column.size, count);
    }
    return bytes;
  }

  const BatchLayout& layout_;
  const std::shared_ptr<BatchPool> pool_;
  Reservation memory_;  ///< for the batch that is being filled
  BatchReference partial_;
};

/// Rebatches batches without a layout.
class JoinRowsStage final : public RebatchStage {
 public:
  JoinRowsStage(const StageContext& context, const std::vector<std::int64_t>& sizes,
                const RebatchOptions& options, const RowJoin& join, std::unique_ptr<Stage> input)
      : RebatchStage(context, sizes, options, std::move(input)),
        join_(join),
        rows_(join.begin(options.memory, memory()), join.drop) {}

 private:
  std::size_t rows_taken() const override { return count_; }

  std::size_t rows_of(const void* batch) const override { return join_.count(batch); }

  void see(const void* batch) override { join_.see(rows_.get(), batch); }

  void hand_over(Chunk& out) override {
    join_.finish(rows_.get(), out);
    memory_.shrink(memory_.bytes());
    count_ = 0;
  }

  /// Rows that can't be joined are all lost.
  std::size_t take_rows(const void* batch, std::size_t first, std::size_t count,
                        ErrorPointer& error) override {
    try {
      join_.append(rows_.get(), batch, first, count);
      count_ += count;
    } catch (...) {
      error = current_error();
    }
    const std::uint64_t bytes = join_.bytes(rows_.get());
    if (bytes > memory_.bytes()) memory_.grow(bytes - memory_.bytes());
    return count;
  }

  const RowJoin join_;
  const std::unique_ptr<void, void (*)(void*) noexcept> rows_;
  Reservation memory_{memory(), "rebatch"};  ///< bytes that rows_ holds
  std::size_t count_ = 0;                    ///< rows in rows_
};

/// The shared part of all kinds of batches.
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
  StageTraits traits() const override { return {.begins = Begins::at_bookmarks}; }

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
      : RebatchNode(std::move(sizes), options, type, std::move(input)), layout_(layout) {
    checked_batch_size("rebatch", *std::ranges::max_element(this->sizes()), layout_.row->size);
  }

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
  rows.append(batch.slice(static_cast<std::int64_t>(first), static_cast<std::int64_t>(row_count)));
}

void ColumnRowsToJoin::see(const ColumnBatch& batch) {
  const ColumnBatch none = batch.slice(0, 0);
  no_rows = join_rows(std::array{none, none});  // copies, since a slice holds the batch's memory
}

ColumnBatch ColumnRowsToJoin::finish() { return rows.empty() ? no_rows : rows.join(&pool); }

NodePointer make_rebatch(std::vector<std::int64_t> sizes, const RebatchOptions& options,
                         const BatchLayout& layout, const TypeInfo& type, NodePointer input) {
  return std::make_shared<CopyRowsNode>(std::move(sizes), options, layout, type, std::move(input));
}

NodePointer make_rebatch(std::vector<std::int64_t> sizes, const RebatchOptions& options,
                         const RowJoin& join, const TypeInfo& type, NodePointer input) {
  return std::make_shared<JoinRowsNode>(std::move(sizes), options, join, type, std::move(input));
}

}  // namespace infeed::detail
