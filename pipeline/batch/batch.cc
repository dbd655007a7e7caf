#include "infeed/pipeline/batch.h"

#include <algorithm>
#include <fmt/format.h>
#include <optional>

#include <infeed/pipeline/reservation.h>

#include "batch/batch_storage.h"
#include "engine/batch_count.h"
#include "engine/iterator_context.h"
#include "engine/recording/note_calls.h"

namespace infeed::detail {
namespace {

// A larger size is a mistake (INT64_MAX for "all"), and its bytes couldn't be counted.
constexpr std::uint64_t kBatchBytesMax = std::uint64_t{1} << 40;

class BatchStage final : public Stage, public Bookmarked {
 public:
  BatchStage(const StageContext& context, std::size_t size, const BatchOptions& options,
             const BatchLayout& layout, std::unique_ptr<Stage> input)
      : Stage(context),
        Bookmarked(context),
        size_(size),
        options_(options),
        layout_(layout),
        input_(std::move(input)),
        in_(*layout.row),
        pool_(std::make_shared<BatchPool>(layout, size, options.memory, free_memory_of(memory()))),
        memory_(memory(), "batch") {
    memory_.grow(pool_->block_bytes());
    if (run().keeps_places()) kept_.emplace(size);
  }

  ~BatchStage() override { pool_->close(); }

  TracedPlace do_trace(std::uint64_t position) const override {
    return kept_ ? trace_rows(run(), *kept_, position, *input_) : Stage::do_trace(position);
  }

  /// Once it has a batch, it only takes rows that are at hand.
  Pull do_pull(Chunk& out, std::size_t want) override {
    std::size_t produced_bytes = 0;
    while (true) {
      if (in_.empty()) {
        // A complete batch doesn't wait for the next one's rows.
        if (!out.empty()) return Pull::values;
        const Pull pulled = pull_rows(out);
        if (pulled != Pull::values) return out.empty() ? pulled : Pull::values;
        continue;
      }
      if (in_.size() == 0) {
        out.set_error(in_.take_error());
        ++taken_;
        return Pull::values;
      }
      append_rows();
      if (partial_.size() < size_) continue;
      produced_bytes += memory_.bytes();
      if (!hand_over(out)) return Pull::values;
      // Errors before have taken no row, so the number of batches doesn't tell it.
      if (passes_multiple(taken_)) note_bookmark(position() + out.size(), {taken_});
      if (out.size() >= want || produced_bytes >= kChunkBytesMax) return Pull::values;
    }
  }

 protected:
  std::uint64_t do_skip(std::uint64_t count, Known known) override {
    const bool started = !in_.empty() || partial_.size() > 0;
    if (started || known != Known::no_errors || count > UINT64_MAX / size_) {
      return Stage::do_skip(count, known);
    }
    const std::uint64_t rows = input_->skip(count * size_, known);
    taken_ += rows;
    passes_multiple(taken_);
    return batch_count(rows, size_, options_.drop_remainder);
  }

  bool go_to(const Bookmark& bookmark, Known known) override {
    if (bookmark.inputs.size() != 1 || !bookmark.state.empty()) throw bad_bookmark();
    if (!in_.empty() || partial_.size() > 0 || bookmark.inputs[0] < taken_) return false;
    if (!pass_over(*input_, bookmark.inputs[0] - taken_, known)) return false;
    taken_ = bookmark.inputs[0];
    passes_multiple(taken_);
    return true;
  }

 private:
  /// Pulls rows. At the end of the input hands over the short batch.
  Pull pull_rows(Chunk& out) {
    if (ended_) return Pull::end;
    const Pull pulled = input_->pull(in_, in_.capacity());
    if (pulled != Pull::end) return pulled;
    ended_ = true;
    if (partial_.size() == 0 || options_.drop_remainder) return Pull::end;
    hand_over(out);
    return Pull::end;
  }

  /// Hands over the filled batch, or the error in its place. Returns false after an error.
  bool hand_over(Chunk& out) {
    BatchReference filled = std::move(partial_);
    memory_.shrink(memory_.bytes() - pool_->block_bytes());
    ErrorPointer error = unequal_lengths(filled);
    if (error != nullptr) {
      if (kept_) kept_->drop_batch();
      out.set_error(std::move(error));
      return false;
    }
    if (kept_) kept_->end_batch(position() + out.size());
    out.append(std::move(filled));
    return true;
  }

  /// Returns null if all vectors of each column are equally long.
  ErrorPointer unequal_lengths(const BatchReference& batch) const {
    for (std::size_t i = 0; i < layout_.columns.size(); ++i) {
      const auto& [offset, type, length] = layout_.columns[i];
      if (length == nullptr) continue;
      const auto* const rows = static_cast<const std::byte*>(batch.column(i));
      for (std::size_t row = 1; row < batch.size(); ++row) {
        if (length(rows + row * type->size) == length(rows)) continue;
        return std::make_shared<const Error>(
            ErrorCode::invalid_argument,
            fmt::format("batch: row {} has {} values in column {}, row 0 has {}; the batch's {} "
                        "rows are lost; for vectors of different lengths use padded_batch, "
                        "ragged_batch or bucket_by_sequence_length",
                        row, length(rows + row * type->size), i, length(rows), batch.size()));
      }
    }
    return nullptr;
  }

  void append_rows() {
    if (partial_.get() == nullptr) partial_ = pool_->take();
    const std::size_t count = std::min(in_.size(), size_ - partial_.size());
    const TypeInfo& row = *layout_.row;
    const bool may_be_refused = memory().limit_bytes() != 0;  // looking at strings takes 1 ns each
    if (may_be_refused && row.payload_bytes_run != nullptr)
      memory_.grow(row.payload_bytes_run(in_.front(), count));
    partial_.get()->append(in_.front(), count);
    in_.drop_front(count);
    if (kept_) kept_->add_next(count, taken_);
    taken_ += count;
  }

  const std::size_t size_;
  const BatchOptions options_;
  const BatchLayout& layout_;
  const std::unique_ptr<Stage> input_;
  Chunk in_;
  std::optional<RowLog> kept_;  ///< if the iterator keeps places
  const std::shared_ptr<BatchPool> pool_;
  Reservation memory_;  ///< for the batch that is being filled
  BatchReference partial_;
  std::uint64_t taken_ = 0;  ///< elements of the input, errors included
  bool ended_ = false;
};

class BatchNode final : public Node {
 public:
  BatchNode(std::size_t size, const BatchOptions& options, const BatchLayout& layout,
            const TypeInfo& out_type, NodePointer input)
      : Node("batch", out_type, {std::move(input)}),
        size_(size),
        options_(options),
        layout_(layout) {}

  std::string signature() const override {
    return fmt::format("batch({}{})", size_, options_.drop_remainder ? ", drop_remainder" : "");
  }
  Cardinality cardinality() const override {
    return input().cardinality().transform(
        [this](std::uint64_t n) { return batch_count(n, size_, options_.drop_remainder); });
  }
  std::optional<std::uint64_t> input_taken(std::uint64_t given) const override {
    return elements_of_batches(given, size_);
  }
  bool needs_bookmark(Known known) const override { return known != Known::no_errors; }
  StreamPlace input_resumed(std::size_t input, const ResumedStage& stage) const override {
    const auto rows = elements_of_batches(stage.place.position, size_);
    if (stage.known != Known::no_errors || !rows) return Node::input_resumed(input, stage);
    return stage.place.at(*rows);
  }
  std::uint64_t buffer_bytes_min() const override { return size_ * layout_.row->size; }
  /// The last batch may have fewer rows, but it has the memory of a whole one.
  std::uint64_t element_bytes_min() const override { return type().size + buffer_bytes_min(); }

 protected:
  std::unique_ptr<Stage> make_stage(const StageContext& context) const override {
    return std::make_unique<BatchStage>(context, size_, options_, layout_, input().open(context));
  }

 private:
  const std::size_t size_;
  const BatchOptions options_;
  const BatchLayout& layout_;
};

}  // namespace

std::size_t checked_batch_size(std::string_view stage, std::int64_t size, std::size_t row_bytes) {
  if (size < 1) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("{}: size is {}; give at least 1", stage, size));
  }
  const std::uint64_t most = kBatchBytesMax / std::max<std::size_t>(1, row_bytes);
  if (static_cast<std::uint64_t>(size) > most) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("{}: size is {}; with rows of {} bytes give at most {}", stage, size,
                            row_bytes, most));
  }
  return static_cast<std::size_t>(size);
}

NodePointer make_batch(std::int64_t size, const BatchOptions& options, const BatchLayout& layout,
                       const TypeInfo& out_type, NodePointer input) {
  return std::make_shared<BatchNode>(checked_batch_size("batch", size, layout.row->size), options,
                                     layout, out_type, std::move(input));
}

}  // namespace infeed::detail
