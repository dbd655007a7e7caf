#include "infeed/pipeline/detail/row_filling.h"

#include <algorithm>
#include <fmt/format.h>

#include "batch/batch_storage.h"
#include "batch/fill/row_filler.h"
#include "engine/batch_count.h"
#include "engine/iterator_context.h"
#include "engine/seeds/signature.h"
#include "engine/work/keeps_ready.h"

namespace infeed::detail {
namespace {

class RowFillingStage final : public Stage, public Bookmarked, public KeepsReady {
 public:
  RowFillingStage(const StageContext& context, const RowFillSpec& spec, const TypeInfo& in_type,
                  std::unique_ptr<Stage> input)
      : Stage(context),
        Bookmarked(context),
        spec_(spec_for_run(spec, memory())),
        input_(std::move(input)),
        filler_(run(), counters(), spec_, *input_, in_type,
                {0, epoch(), {context.seeds.seed, context.in_this_run(spec.key.positions)}, &run()},
                [this](auto given, auto taken) { note_bookmark_if_due(given, taken); }),
        waker_(run(), [this] { filler_.stop(); }) {}

  Pull do_pull(Chunk& out, std::size_t want) override {
    return filler_.take(out, want, position());
  }
  TracedPlace do_trace(std::uint64_t position) const override { return filler_.trace(position); }
  bool runs_ahead() const override { return filler_.has_threads(); }
  bool return_after(std::chrono::nanoseconds wait_max) override {
    filler_.return_after(wait_max);
    return filler_.has_threads();
  }

 protected:
  std::uint64_t do_skip(std::uint64_t count, Known known) override {
    if (filler_.has_begun() || known != Known::no_errors || count > UINT64_MAX / spec_.size) {
      return Stage::do_skip(count, known);
    }
    const std::uint64_t rows = input_->skip(count * spec_.size, known);
    note_skipped(rows);
    return batch_count(rows, spec_.size, spec_.drop_remainder);
  }

  bool go_to(const Bookmark& bookmark, Known known) override {
    if (bookmark.inputs.size() != 1 || !bookmark.state.empty()) throw bad_bookmark();
    if (filler_.has_begun() || bookmark.inputs[0] < skipped_) return false;
    const std::uint64_t rows = bookmark.inputs[0] - skipped_;
    if (!pass_over(*input_, rows, known)) return false;
    note_skipped(rows);
    return true;
  }

 private:
  void note_skipped(std::uint64_t rows) {
    filler_.note_skipped(rows);
    skipped_ += rows;
    passes_multiple(skipped_);
  }

  /// Notes that the next batch begins with the next element of the input. Errors before have taken
  /// places, so that doesn't follow from the number of batches.
  void note_bookmark_if_due(std::uint64_t given, std::uint64_t taken) {
    if (passes_multiple(skipped_ + taken)) note_bookmark(given, {skipped_ + taken});
  }

  /// Returns the spec with pools for this run alone.
  static RowFillSpec spec_for_run(RowFillSpec spec, MemoryAccount& memory) {
    if (spec.for_run != nullptr) spec.fill = spec.for_run(spec.fill.get(), memory);
    return spec;
  }

  const RowFillSpec spec_;
  const std::unique_ptr<Stage> input_;
  RowFiller filler_;
  CancellationWaker waker_;
  std::uint64_t skipped_ = 0;  ///< elements of the input before the filler's
};

class RowFillingNode final : public Node {
 public:
  RowFillingNode(RowFillSpec spec, NodePointer input)
      : Node(spec.name, *spec.batch_type, {std::move(input)}), spec_(std::move(spec)) {}

  std::string signature() const override {
    return spec_.seeds ? signature_with(*spec_.seeds) : plain_signature();
  }
  std::optional<Seeds> seeds() const override { return spec_.seeds; }
  std::string signature_with(const Seeds& seeds) const override {
    return with_seed(plain_signature(), seeds.seed);
  }
  StageTraits traits() const override { return {.has_parallelism = true}; }
  Cardinality cardinality() const override {
    return input().cardinality().transform(
        [this](std::uint64_t n) { return batch_count(n, spec_.size, spec_.drop_remainder); });
  }
  std::optional<std::uint64_t> input_taken(std::uint64_t given) const override {
    return elements_of_batches(given, spec_.size);
  }
  bool needs_bookmark(Known known) const override { return known != Known::no_errors; }
  StreamPlace input_resumed(std::size_t input, const ResumedStage& stage) const override {
    const auto rows = elements_of_batches(stage.place.position, spec_.size);
    if (stage.known != Known::no_errors || !rows) return Node::input_resumed(input, stage);
    return stage.place.at(*rows);
  }
  std::uint64_t buffer_bytes_min() const override { return spec_.batch_bytes_min; }
  std::uint64_t element_bytes_min() const override { return type().size + spec_.batch_bytes_min; }

 protected:
  std::unique_ptr<Stage> make_stage(const StageContext& context) const override {
    return std::make_unique<RowFillingStage>(context, spec_, input().type(), input().open(context));
  }

 private:
  std::string plain_signature() const {
    return fmt::format("{}({}{}{})", name(), spec_.size, spec_.rows_signature,
                       spec_.drop_remainder ? ", drop_remainder" : "");
  }

  const RowFillSpec spec_;
};

}  // namespace

NodePointer make_row_filling(RowFillSpec spec, NodePointer input) {
  checked_parallelism(spec.name, spec.parallelism);
  if (spec.seeds) spec.key = {spec.seeds->seed, input->unsharded_positions()};
  return std::make_shared<RowFillingNode>(std::move(spec), std::move(input));
}

BatchFiller::BatchFiller(const BatchLayout& layout, std::size_t rows_max, BatchMemory memory)
    : pool_(std::make_shared<BatchPool>(layout, rows_max, std::move(memory))) {}

BatchFiller BatchFiller::for_run(MemoryAccount& memory) const {
  BatchFiller filler = *this;
  filler.pool_ = pool_->for_run(free_memory_of(memory));
  filler.closes_pool_ =
      std::shared_ptr<void>(nullptr, [pool = filler.pool_](void*) { pool->close(); });
  return filler;
}

BatchReference BatchFiller::take(std::size_t rows) const {
  BatchReference batch = pool_->take();
  batch.get()->set_size(rows);
  return batch;
}

void BatchFiller::close_gaps(const BatchReference& batch, std::size_t rows,
                             std::span<const std::size_t> gaps) {
  batch.get()->shrink(rows);
  if (!gaps.empty()) batch.get()->close_gaps(gaps);
}

std::uint64_t BatchFiller::batch_bytes() const { return pool_->block_bytes(); }

ErrorPointer rows_failed(const ErrorPointer& first, std::size_t failed, std::size_t rows) {
  if (failed == 1) return first;
  return std::make_shared<const Error>(first->reworded(
      first->code(), fmt::format("{} of {} rows of a batch failed, the first with: {}", failed,
                                 rows, first->message())));
}

std::vector<std::size_t> columns_of_features(std::string_view stage, const BatchLayout& layout,
                                             const std::vector<std::size_t>& feature_offsets) {
  std::vector<std::size_t> columns;
  for (const std::size_t offset : feature_offsets) {
    const auto column = std::find_if(layout.columns.begin(), layout.columns.end(),
                                     [offset](const auto& c) { return c.offset == offset; });
    columns.push_back(static_cast<std::size_t>(column - layout.columns.begin()));
  }
  for (std::size_t i = 0; i < layout.columns.size(); ++i) {
    if (std::count(columns.begin(), columns.end(), i) == 1) continue;
    throw Error(ErrorCode::invalid_argument,
                fmt::format("{}: member {} of {} ({}) has {} features in the schema; it needs "
                            "exactly one",
                            stage, i, layout.row->name, layout.columns[i].type->name,
                            std::count(columns.begin(), columns.end(), i)));
  }
  return columns;
}

}  // namespace infeed::detail
