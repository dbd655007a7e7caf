#include "infeed/pipeline/choose_from_datasets.h"

#include <fmt/format.h>

#include "combine/select_stage.h"

namespace infeed::detail {
namespace {

class Choices final : public Selector {
 public:
  Choices(std::unique_ptr<Stage> choices, std::size_t inputs)
      : choices_(std::move(choices)), in_(type_info<std::int64_t>()), inputs_(inputs) {}

  Next next(std::size_t& index, ErrorPointer& error, bool may_wait) override {
    if (in_.empty()) {
      if (!may_wait) return Next::would_wait;
      const Pull pulled = choices_->pull(in_, in_.capacity());
      if (pulled == Pull::end) return Next::end;
      if (pulled == Pull::cancelled) return Next::cancelled;
    }
    ++made_;
    if (in_.size() == 0) {
      error = in_.take_error();
      return Next::error;
    }
    const std::int64_t choice = *static_cast<const std::int64_t*>(in_.front());
    in_.drop_front(1);
    if (choice >= 0 && static_cast<std::uint64_t>(choice) < inputs_) {
      index = static_cast<std::size_t>(choice);
      return Next::input;
    }
    error = std::make_shared<const Error>(
        ErrorCode::invalid_argument,
        fmt::format("choose_from_datasets: dataset {} was chosen, but there are {} (0 to {})",
                    choice, inputs_, inputs_ - 1));
    return Next::error;
  }

  std::uint64_t made() const override { return made_; }
  bool go_behind(std::uint64_t made, std::span<const std::uint64_t> state) override {
    made_ = made;
    return state.empty();
  }
  Stage* choices() override { return choices_.get(); }

 private:
  const std::unique_ptr<Stage> choices_;
  Chunk in_;
  std::uint64_t made_ = 0;
  const std::size_t inputs_;
};

/// The inputs are the datasets and, last, the choices.
class ChooseNode final : public Node {
 public:
  ChooseNode(const ChooseOptions& options, const TypeInfo& type, std::vector<NodePointer> inputs)
      : Node("choose_from_datasets", type, std::move(inputs)), options_(options) {}

  std::string signature() const override {
    return fmt::format("choose_from_datasets({}{})", inputs().size() - 1,
                       options_.stop_on_empty_dataset ? ", stop_on_empty_dataset" : "");
  }
  Cardinality cardinality() const override {
    return inputs().back()->cardinality().unknown_unless_empty();
  }

 protected:
  std::unique_ptr<Stage> make_stage(const StageContext& context) const override {
    const std::size_t count = inputs().size() - 1;
    StageContext below = context;
    below.input_ordinal = count;
    auto selector = std::make_unique<Choices>(inputs().back()->open(below), count);
    return make_select_stage(context, std::move(selector), open_inputs(context, inputs(), count),
                             options_.stop_on_empty_dataset);
  }

 private:
  const ChooseOptions options_;
};

}  // namespace

NodePointer make_choose_from_datasets(const ChooseOptions& options, const TypeInfo& type,
                                      std::vector<NodePointer> datasets, NodePointer choices) {
  if (datasets.empty()) {
    throw Error(ErrorCode::invalid_argument,
                "choose_from_datasets: there are no datasets; give at least one");
  }
  datasets.push_back(std::move(choices));
  return std::make_shared<ChooseNode>(options, type, std::move(datasets));
}

}  // namespace infeed::detail
