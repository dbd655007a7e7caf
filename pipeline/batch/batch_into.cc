#include "infeed/pipeline/batch_into.h"

#include <algorithm>
#include <fmt/format.h>

#include "batch/batch_storage.h"
#include "engine/iterator_context.h"

namespace infeed::detail {
namespace {

class UnfoldStage final : public Stage {
 public:
  UnfoldStage(const StageContext& context, const UnfoldSpec& spec, std::unique_ptr<Stage> input)
      : Stage(context), unfold_(spec.unfold), input_(std::move(input)), in_(*spec.filled_type) {}

  Pull do_pull(Chunk& out, std::size_t want) override {
    while (true) {
      if (in_.empty()) {
        const Pull pulled = input_->pull(in_, std::min(want, in_.capacity()));
        if (pulled != Pull::values) return out.empty() ? pulled : Pull::values;
      }
      while (in_.size() > 0) {
        if (out.size() == want) return Pull::values;
        if (!unfold(out)) return Pull::values;
      }
      if (in_.has_error() && out.size() < want) out.set_error(in_.take_error());
      if (!out.empty()) return Pull::values;
    }
  }

 protected:
  std::uint64_t do_skip(std::uint64_t count, Known known) override {
    return known == Known::no_errors && in_.empty() ? input_->skip(count, known)
                                                    : Stage::do_skip(count, known);
  }

 private:
  /// Takes the error, or else the batch, of the first; false behind an error.
  bool unfold(Chunk& out) {
    const Unfolded unfolded = unfold_(in_.front(), out);
    if (unfolded != Unfolded::error_before_batch) in_.drop_front(1);
    return unfolded == Unfolded::batch;
  }

  Unfolded (*const unfold_)(void* at, Chunk& out);
  const std::unique_ptr<Stage> input_;
  Chunk in_;
};

class UnfoldNode final : public Node {
 public:
  UnfoldNode(UnfoldSpec spec, NodePointer input)
      : Node("unfold", *spec.batch_type, {std::move(input)}), spec_(std::move(spec)) {}

  std::string signature() const override { return {}; }
  Cardinality cardinality() const override { return input().cardinality(); }

 protected:
  std::unique_ptr<Stage> make_stage(const StageContext& context) const override {
    return std::make_unique<UnfoldStage>(context, spec_, input().open(context));
  }

 private:
  const UnfoldSpec spec_;
};

}  // namespace

NodePointer make_unfold(UnfoldSpec spec, NodePointer input) {
  return std::make_shared<UnfoldNode>(std::move(spec), std::move(input));
}

BatchFiller::BatchFiller(const BatchLayout& layout, std::size_t rows_max)
    : pool_(std::make_shared<BatchPool>(layout, rows_max)) {}

BatchReference BatchFiller::take(std::size_t rows) const {
  BatchReference batch = pool_->take();
  batch.get()->set_size(rows);
  return batch;
}

void BatchFiller::shrink(const BatchReference& batch, std::size_t rows) {
  batch.get()->shrink(rows);
}

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
