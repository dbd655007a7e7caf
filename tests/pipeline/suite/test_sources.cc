#include "pipeline/suite/test_sources.h"

#include <algorithm>
#include <random>

namespace infeed::test {

void Gate::release(std::uint64_t count) {
  const std::lock_guard lock(mutex_);
  released_ += count;
  asked_ = false;
  changed_.notify_all();
}

void Gate::wait_until_asked() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return asked_ || consumer_is_done_; });
}

void Gate::consumer_is_done() {
  const std::lock_guard lock(mutex_);
  consumer_is_done_ = true;
  changed_.notify_all();
}

int Gate::stages() const {
  const std::lock_guard lock(mutex_);
  return stages_;
}

bool Gate::wait_for(std::uint64_t position, const IteratorContext& run) {
  std::unique_lock lock(mutex_);
  while (position >= released_) {
    if (run.cancelled()) return false;
    asked_ = true;
    changed_.notify_all();
    changed_.wait(lock);
  }
  return true;
}

std::uint64_t Gate::released() const {
  const std::lock_guard lock(mutex_);
  return released_;
}

void Gate::wake() {
  const std::lock_guard lock(mutex_);
  changed_.notify_all();
}

void Gate::count_stage(int change) {
  const std::lock_guard lock(mutex_);
  stages_ += change;
}

namespace internal {
namespace {

/// Gives listed elements and errors, in chunks that are cut as they are told to be.
class ListedStage final : public Stage {
 public:
  ListedStage(const StageContext& context, AppendElement append, std::shared_ptr<const Slots> slots,
              const Cut& cut, Gate* gate);
  ~ListedStage() override;

 protected:
  Pull do_pull(Chunk& out, std::size_t want) override;
  std::uint64_t do_skip(std::uint64_t count, Known known) override;
  TracedPlace do_trace(std::uint64_t position) const override { return Stage::do_trace(position); }

 private:
  std::size_t slots_to_give(std::size_t want);

  const AppendElement append_;
  const std::shared_ptr<const Slots> slots_;
  const Cut cut_;
  Gate* const gate_;
  std::unique_ptr<CancellationWaker> waker_;
  std::minstd_rand random_;  // seeded for each run, for which a larger state takes a while
  std::size_t position_ = 0;
};

ListedStage::ListedStage(const StageContext& context, AppendElement append,
                         std::shared_ptr<const Slots> slots, const Cut& cut, Gate* gate)
    : Stage(context),
      append_(append),
      slots_(std::move(slots)),
      cut_(cut),
      gate_(gate),
      random_(cut.seed) {
  if (gate_ == nullptr) return;
  gate_->count_stage(1);
  waker_ = std::make_unique<CancellationWaker>(run(), [this] { gate_->wake(); });
}

ListedStage::~ListedStage() {
  waker_ = nullptr;
  if (gate_ != nullptr) gate_->count_stage(-1);
}

std::size_t ListedStage::slots_to_give(std::size_t want) {
  std::size_t count = std::min(want, slots_->size() - position_);
  if (gate_ != nullptr) {
    count = std::min(count, static_cast<std::size_t>(gate_->released()) - position_);
  }
  if (cut_.kind == Cut::Kind::single) count = std::min<std::size_t>(count, 1);
  if (cut_.kind == Cut::Kind::random && count > 1) count = 1 + random_() % count;
  return count;
}

Pull ListedStage::do_pull(Chunk& out, std::size_t want) {
  EXPECT_TRUE(out.empty()) << "a chunk that was pulled into was not empty";
  EXPECT_GE(want, 1);
  EXPECT_LE(want, out.room());
  if (position_ == slots_->size()) return Pull::end;
  if (gate_ != nullptr && !gate_->wait_for(position_, run())) return Pull::cancelled;
  for (std::size_t left = slots_to_give(want); left > 0; --left) {
    const Slot& slot = (*slots_)[position_++];
    if (slot.fails) {
      out.set_error(
          std::make_shared<const Error>(ErrorCode::data_loss, message_of_broken(slot.value)));
      break;
    }
    append_(out, slot.value);
  }
  return Pull::values;
}

std::uint64_t ListedStage::do_skip(std::uint64_t count, Known known) {
  if (gate_ != nullptr) return Stage::do_skip(count, known);
  count = std::min<std::uint64_t>(count, slots_->size() - position_);
  position_ += static_cast<std::size_t>(count);
  return count;
}

class ListedNode final : public Node {
 public:
  ListedNode(const TypeInfo& type, AppendElement append, Slots slots, const Cut& cut, Gate* gate)
      : Node("listed", type),
        append_(append),
        slots_(std::make_shared<const Slots>(std::move(slots))),
        cut_(cut),
        gate_(gate) {}

  std::string signature() const override {
    return "listed(" + std::to_string(slots_->size()) + ")";
  }
  Cardinality cardinality() const override { return Cardinality::finite(slots_->size()); }

 protected:
  std::unique_ptr<Stage> make_stage(const StageContext& context) const override {
    return std::make_unique<ListedStage>(context, append_, slots_, cut_, gate_);
  }

 private:
  const AppendElement append_;
  const std::shared_ptr<const Slots> slots_;
  const Cut cut_;
  Gate* const gate_;
};

class RecutStage final : public PassThroughStage {
 public:
  RecutStage(const StageContext& context, std::uint64_t seed, std::unique_ptr<Stage> input)
      : PassThroughStage(context, std::move(input)), random_(seed), in_(type()) {}

  Pull do_pull(Chunk& out, std::size_t want) override {
    if (in_.empty()) {
      const std::size_t ask = 1 + random_() % in_.capacity();
      const Pull pulled = input().pull(in_, ask);
      EXPECT_EQ(pulled == Pull::values, !in_.empty());
      EXPECT_LE(in_.slots(), ask) << "more than was asked for";
      if (pulled != Pull::values) return pulled;
    }
    want = std::min<std::size_t>(want, 1 + random_() % in_.slots());
    if (out.append_from(in_, want) == want) return Pull::values;
    if (in_.size() == 0 && in_.has_error()) out.set_error(in_.take_error());
    return Pull::values;
  }

 protected:
  std::uint64_t do_skip(std::uint64_t count, Known known) override {
    if (!in_.empty() || random_() % 2 == 0) return Stage::do_skip(count, known);
    // In two parts: a stage must find its way from any place.
    const std::uint64_t first = random_() % count;
    const std::uint64_t skipped = input().skip(first, known);
    return skipped < first ? skipped : skipped + input().skip(count - first, known);
  }

 private:
  std::minstd_rand random_;
  Chunk in_;
};

class RecutNode final : public Node {
 public:
  RecutNode(std::uint64_t seed, NodePointer input)
      : Node("recut", input->type(), {input}), seed_(seed) {}

  std::string signature() const override { return {}; }
  Cardinality cardinality() const override { return input().cardinality(); }

 protected:
  std::unique_ptr<Stage> make_stage(const StageContext& context) const override {
    return std::make_unique<RecutStage>(context, seed_, input().open(context));
  }

 private:
  const std::uint64_t seed_;
};

}  // namespace

NodePointer make_listed(const TypeInfo& type, AppendElement append, Slots slots, const Cut& cut,
                        Gate* gate) {
  return std::make_shared<ListedNode>(type, append, std::move(slots), cut, gate);
}

NodePointer make_recut(std::uint64_t seed, NodePointer input) {
  return std::make_shared<RecutNode>(seed, std::move(input));
}

}  // namespace internal
}  // namespace infeed::test
