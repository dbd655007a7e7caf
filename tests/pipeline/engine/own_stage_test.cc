// Stages written by users: that of pipeline/own_stage.md, and one that works ahead. Only public headers.
#include <condition_variable>
#include <deque>
#include <exception>
#include <fmt/format.h>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include <infeed/infeed.h>
#include <infeed/pipeline/reservation.h>
#include <infeed/pipeline/testing.h>

#include "pipeline/suite/stage_suite.h"
#include "thrown_error.h"

namespace infeed::test {
namespace {

// pipeline/own_stage.md
#include "own_stage.h"

/// Works ahead: a separate thread pulls the input into up to `chunks` chunks.
///
/// Invariants: input_ belongs to the consumer until the thread starts and to the thread from then
/// on; everything below mutex_ is guarded by it.
class AheadStage final : public Stage {
 public:
  AheadStage(const StageContext& context, std::size_t chunks, std::unique_ptr<Stage> input)
      : Stage(context),
        chunks_(chunks),
        held_(memory(), "ahead"),
        input_(std::move(input)),
        waker_(context, [this] { stop(); }) {}

  ~AheadStage() override {
    stop();
    if (thread_.joinable()) thread_.join();
    note_buffered(0, 0);
  }

  Pull do_pull(Chunk& out, std::size_t want) override {
    if (!thread_.joinable()) thread_ = std::thread([this] { work_ahead(); });
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return !ready_.empty() || ended_ || stopped_; });
    if (stopped_) return Pull::cancelled;
    if (ready_.empty()) {
      // Rethrows the input's error, behind all elements before it.
      if (failure_ != nullptr) std::rethrow_exception(failure_);
      return Pull::end;
    }
    Chunk& first = ready_.front();
    out.append_from(first, want);
    if (first.size() == 0 && out.slots() < want && first.has_error()) {
      out.set_error(first.take_error());
    }
    if (first.empty()) {
      ready_.pop_front();
      held_.shrink(bytes_of_chunk());
      changed_.notify_all();
    }
    publish();
    return Pull::values;
  }
  TracedPlace do_trace(std::uint64_t position) const override { return Stage::do_trace(position); }

 private:
  std::uint64_t bytes_of_chunk() const { return chunk_capacity(type()) * type().size; }

  void stop() {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
    changed_.notify_all();
  }

  void work_ahead() {
    std::exception_ptr failure;
    try {
      while (pull_one()) {
      }
    } catch (...) {
      failure = std::current_exception();
    }
    const std::lock_guard lock(mutex_);
    failure_ = failure;
    ended_ = true;
    changed_.notify_all();
  }

  /// Returns false when no more will come.
  bool pull_one() {
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return ready_.size() < chunks_ || stopped_; });
      if (stopped_) return false;
      held_.grow(bytes_of_chunk());  // throws when the iterator's budget has no room
    }
    Chunk chunk(type());
    const Pull pulled = input_->pull(chunk, chunk.capacity());
    const std::lock_guard lock(mutex_);
    if (pulled != Pull::values) {
      held_.shrink(bytes_of_chunk());
      stopped_ = stopped_ || pulled == Pull::cancelled;
      return false;
    }
    ready_.push_back(std::move(chunk));
    publish();
    changed_.notify_all();
    return true;
  }

  void publish() {
    std::uint64_t elements = 0;
    for (const Chunk& chunk : ready_) elements += chunk.slots();
    note_buffered(elements, held_.bytes());
  }

  const std::size_t chunks_;
  std::mutex mutex_;
  std::condition_variable changed_;
  Reservation held_;
  std::deque<Chunk> ready_;
  std::exception_ptr failure_;
  bool ended_ = false;
  bool stopped_ = false;
  const std::unique_ptr<Stage> input_;
  std::thread thread_;
  const CancellationWaker waker_;  // last: it ends before the members that it uses
};

class AheadNode final : public Node {
 public:
  AheadNode(std::size_t chunks, NodePointer input)
      : Node("ahead", input->type(), {input}), chunks_(chunks) {}

  // It changes neither values nor their order, so checkpoints don't see it.
  std::string signature() const override { return ""; }
  Cardinality cardinality() const override { return input().cardinality(); }
  std::uint64_t buffer_bytes_min() const override {
    return chunks_ * chunk_capacity(type()) * type().size;
  }

 protected:
  std::unique_ptr<Stage> make_stage(const StageContext& context) const override {
    return std::make_unique<AheadStage>(context, chunks_, input().open(context));
  }

 private:
  const std::size_t chunks_;
};

NodePointer make_ahead(std::size_t chunks, NodePointer input) {
  return std::make_shared<AheadNode>(chunks, std::move(input));
}
auto ahead(std::size_t chunks) { return untyped_stage(make_ahead, chunks); }

TEST(OwnStage, ThatWaitsInAThreadPassesTheSuite) {
  run_stage_suite([](auto dataset) { return dataset | ahead(2); },
                  [](const Slots& in) { return show_all(in); });
}

TEST(OwnStage, ThatHoldsElementsKeepsToTheBudget) {
  // A quarter of the limit is kept for best-effort memory.
  constexpr std::uint64_t kTwoChunks = 2 * kChunkElementsMax * 8;
  constexpr std::uint64_t kLimit = kTwoChunks * 4 / 3 + 1;
  auto iterator = (range(100'000) | ahead(2)).iterate({.memory_bytes_max = kLimit});
  EXPECT_EQ(*iterator.next(), 0);
  EXPECT_LE(iterator.memory().peak_bytes(), kLimit);
  const Error error =
      error_of([] { (range(100'000) | ahead(2)).iterate({.memory_bytes_max = kTwoChunks}); });
  EXPECT_EQ(error.code(), ErrorCode::resource_exhausted);
  EXPECT_NE(error.message().find("ahead 16384 bytes"), std::string::npos) << error.message();
}

TEST(OwnStage, PassesTheSuite) {
  run_stage_suite([](auto dataset) { return dataset | every_nth(3); },
                  [](const Slots& in) {
                    Stream stream;
                    for (std::size_t i = 0; i < in.size(); i += 3) stream.push_back(show(in[i]));
                    return stream;
                  });
}

TEST(OwnStage, StandsAmongTheOthers) {
  const auto describe = [] {
    return range(100) | every_nth(10) | shuffle({.buffer = 3, .seed = 1}) | batch(4);
  };
  const auto dataset = describe();
  EXPECT_EQ(dataset.cardinality(), Cardinality::finite(3));
  EXPECT_EQ(dataset.iterate().checkpoint().signature[1], "every_nth(10)");
  EXPECT_TRUE(testing::expect_equal_after_resume(describe).end_reached);
}

}  // namespace
}  // namespace infeed::test
