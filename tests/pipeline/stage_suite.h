#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <gtest/gtest.h>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <infeed/pipeline/take.h>

#include "pipeline/consumer.h"
#include "pipeline/elements.h"
#include "pipeline/executors.h"
#include "pipeline/random_seed.h"
#include "pipeline/stream.h"
#include "pipeline/test_sources.h"

/// The tests that every stage passes. A stage's own test file says how the stage is built and, in
/// the slowest and most obvious way, what it makes of a list of elements and errors:
///
///     TEST(Take, Suite) {
///       run_stage_suite([](auto dataset) { return dataset | infeed::take(5); },
///                       [](Slots in) { in.resize(std::min(in.size(), 5ul)); return show_all(in);
///                       });
///     }
///
/// A model takes Slots (numbers, some of which stand for errors) and returns a Stream: one text an
/// element, "7", "(0, 7)", "[1 2 3]" (a batch), "! element 3 is broken" (an error; what a user's
/// function threw: "! " and its text). The suite then checks, for inputs without elements, with
/// one, with many, without errors and with errors at the first, a middle, the last and all places:
///  - values, order, errors and the end, whatever the chunks' sizes are (sources that give one
///    element at a time or random numbers of them; recut() behind the stage) and on every executor;
///  - that the end stays the end, that statistics add up, that no byte stays in the memory account;
///  - resume at every step, each through the checkpoint's text and on another executor;
///  - that a slow source holds nothing back: what can be known comes before the next element does;
///  - cancellation before the start, while the source blocks, and destruction in all these places;
///  - elements of several kinds: numbers, strings, 64 bytes, over-aligned, such that can only be
///    moved (build() is called with a Dataset of each; run_stage_suite_on<T> does it for one type).
///
/// A source of one's own: run_source_suite([] { return infeed::range(7); }, numbers({0, 1, ...})).
namespace infeed::test {

struct StageSuiteOptions {
  bool ordered = true;  ///< false: the same elements, in any order
  /// False for what legitimately keeps an element until more come although it could be known.
  bool hands_over_early = true;
  /// Lengths of the inputs.
  std::vector<std::size_t> sizes = {0, 1, 2, 5, 33, 300};
  std::uint64_t memory_bytes_max = 0;
};

/// One way to make a pipeline, and what it must give.
template <class Out>
class StreamCheck {
 public:
  StreamCheck(std::function<Dataset<Out>()> make, Stream expected, const StageSuiteOptions& options,
              const Executors& executors, RandomSource& random)
      : make_(std::move(make)),
        expected_(std::move(expected)),
        options_(options),
        executors_(executors),
        random_(random) {}

  void run_straight(const NamedExecutor& executor) const {
    SCOPED_TRACE("executor " + executor.name);
    Iterator<Out> iterator = make_().iterate(options_for(executor));
    expect_stream(take(iterator), expected_);
    for (int i = 0; i < 3; ++i) EXPECT_FALSE(iterator.next().has_value()) << "after the end";
    EXPECT_EQ(iterator.position(), expected_.size());
    check_statistics(iterator.statistics());
    EXPECT_EQ(iterator.memory().in_use_bytes(), 0) << "bytes in the account after the end";
  }

  /// At each step a checkpoint of an iterator that was itself resumed one step before.
  void resume_at_every_step() const {
    Iterator<Out> straight = make_().iterate(options_for(any_executor()));
    Checkpoint checkpoint = straight.checkpoint();
    for (std::size_t step = 0;; ++step) {
      SCOPED_TRACE("resume at element " + std::to_string(step));
      check_tail(checkpoint);
      if (step == expected_.size() || ::testing::Test::HasFailure()) return;
      Iterator<Out> one_more = resume(checkpoint);
      expect_stream(take(one_more, 1), {expected_[step]});
      checkpoint = one_more.checkpoint();
      take(straight, 1);
      expect_same_place(checkpoint, straight.checkpoint());
    }
  }

  void resume_at(std::size_t step) const {
    SCOPED_TRACE("resume at element " + std::to_string(step));
    Iterator<Out> iterator = make_().iterate(options_for(any_executor()));
    take(iterator, step);
    check_tail(iterator.checkpoint());
  }

  void resume_at_some_steps() const {
    if (expected_.size() <= 40) return resume_at_every_step();
    for (const std::size_t step : {std::size_t{1}, std::size_t{255}, std::size_t{256},
                                   expected_.size() - 1, expected_.size()}) {
      resume_at(std::min(step, expected_.size()));
    }
    for (int i = 0; i < 6; ++i) resume_at(random_.below(expected_.size()));
  }

  void cancel_before_the_start() const {
    Iterator<Out> iterator = make_().iterate(options_for(any_executor()));
    iterator.cancel();
    for (int i = 0; i < 2; ++i) {
      try {
        iterator.next();
        ADD_FAILURE() << "a cancelled iterator went on";
      } catch (const Error& error) {
        EXPECT_EQ(error.code(), ErrorCode::cancelled) << error.what();
      }
    }
    EXPECT_EQ(iterator.memory().in_use_bytes(), 0);
  }

  void destroy_anywhere() const {
    Iterator<Out> iterator = make_().iterate(options_for(any_executor()));
    take(iterator, random_.below(expected_.size() + 1));
  }

  const NamedExecutor& any_executor() const { return executors_.any(random_); }

 private:
  IterateOptions options_for(const NamedExecutor& executor) const {
    IterateOptions options;
    options.executor = executor.executor;
    options.memory_bytes_max = options_.memory_bytes_max;
    return options;
  }

  Iterator<Out> resume(const Checkpoint& checkpoint) const {
    const Checkpoint read = Checkpoint::from_text(checkpoint.to_text());
    EXPECT_EQ(read, checkpoint) << checkpoint.to_text();
    IterateOptions options = options_for(any_executor());
    options.resume = read;
    return make_().iterate(std::move(options));
  }

  void check_tail(const Checkpoint& checkpoint) const {
    Iterator<Out> iterator = resume(checkpoint);
    expect_same_place(iterator.checkpoint(), checkpoint);
    const auto from = expected_.begin() + static_cast<std::ptrdiff_t>(checkpoint.position);
    expect_stream(take(iterator), Stream(from, expected_.end()));
    EXPECT_FALSE(iterator.next().has_value()) << "after the end";
    EXPECT_EQ(iterator.memory().in_use_bytes(), 0) << "bytes in the account after the end";
  }

  static void expect_same_place(const Checkpoint& a, const Checkpoint& b) {
    EXPECT_EQ(a.position, b.position);
    EXPECT_EQ(a.epoch, b.epoch);
    EXPECT_EQ(a.order_hash, b.order_hash);
    EXPECT_EQ(a.signature, b.signature);
  }

  /// A few more than expected, so that a stage that doesn't end is a failure, not a hang.
  Stream take(Iterator<Out>& iterator, std::size_t count = kAll) const {
    return take_stream(iterator, std::min(count, expected_.size() + 5));
  }

  void expect_stream(Stream got, Stream expected) const {
    if (!options_.ordered) {
      std::sort(got.begin(), got.end());
      std::sort(expected.begin(), expected.end());
    }
    EXPECT_EQ(got, expected);
  }

  void check_statistics(const PipelineStatistics& statistics) const {
    if (statistics.stages.empty()) return;
    const StageStatistics& root = statistics.stages.front();
    EXPECT_EQ(root.depth, 0);
    EXPECT_EQ(root.elements, expected_.size()) << statistics.table();
    const auto is_error = [](const std::string& text) { return text.starts_with("! "); };
    EXPECT_EQ(root.errors, std::count_if(expected_.begin(), expected_.end(), is_error));
    for (const StageStatistics& stage : statistics.stages) {
      SCOPED_TRACE(stage.path);
      EXPECT_TRUE(stage.path.ends_with(stage.name));
      EXPECT_LE(stage.errors, stage.elements);
      EXPECT_EQ(stage.buffered_elements, 0);
      EXPECT_EQ(stage.buffered_bytes, 0);
    }
  }

  const std::function<Dataset<Out>()> make_;
  const Stream expected_;
  const StageSuiteOptions& options_;
  const Executors& executors_;
  RandomSource& random_;
};

namespace internal {

/// How many elements of its output are certain once the first `count` inputs are known: those that
/// are the same whatever comes behind.
template <class Model>
std::size_t known_outputs(const Model& model, const Slots& slots, std::size_t count) {
  const Slots known(slots.begin(), slots.begin() + static_cast<std::ptrdiff_t>(count));
  Slots values = known;
  Slots errors = known;
  for (std::int64_t i = 0; i < 400; ++i) {
    values.push_back({1'000'000 + i, false});
    errors.push_back({2'000'000 + i, true});
  }
  const Stream ends = model(known);
  const Stream goes_on = model(values);
  const Stream fails = model(errors);
  const std::size_t shortest = std::min({ends.size(), goes_on.size(), fails.size()});
  std::size_t same = 0;
  while (same < shortest && ends[same] == goes_on[same] && ends[same] == fails[same]) ++same;
  return same;
}

template <class T, class Build, class Model>
void check_hand_over(const Build& build, const Model& model, const Slots& slots,
                     const NamedExecutor& executor, RandomSource& random) {
  SCOPED_TRACE("a slow source; executor " + executor.name);
  Gate gate;
  auto dataset = build(gated<T>(slots, gate));
  using Out = typename decltype(dataset)::element_type;
  Consumer<Out> consumer(dataset.iterate({.executor = executor.executor}), &gate);
  for (std::size_t released = 0; released < slots.size();) {
    const std::size_t more = std::min<std::size_t>(1 + random.below(7), slots.size() - released);
    released += more;
    gate.release(more);
    const std::size_t known = known_outputs(model, slots, released);
    ASSERT_TRUE(consumer.wait_for(known))
        << "after " << released << " inputs " << known << " outputs are certain, but only "
        << consumer.stream().size() << " came: the others are held back";
  }
  consumer.join();
  EXPECT_EQ(consumer.stream(), model(slots));
}

template <class T, class Build>
void check_cancel_while_blocked(const Build& build, const NamedExecutor& executor,
                                RandomSource& random) {
  SCOPED_TRACE("cancelled while the source blocks; executor " + executor.name);
  Gate gate;
  auto dataset = build(gated<T>(plain_slots(1000), gate));
  using Out = typename decltype(dataset)::element_type;
  gate.release(random.chance(0.3) ? 0 : random.below(600));
  {
    Consumer<Out> consumer(dataset.iterate({.executor = executor.executor}), &gate);
    gate.wait_until_asked();
    consumer.cancel();
    consumer.join();
    if (consumer.was_cancelled()) {
      EXPECT_EQ(consumer.iterator().memory().in_use_bytes(), 0);
    }
  }
  EXPECT_EQ(gate.stages(), 0) << "the source's stage is still there";
}

template <class T, class Build, class Model>
void check_destroy_while_blocked(const Build& build, const Model& model,
                                 const NamedExecutor& executor, RandomSource& random) {
  SCOPED_TRACE("destroyed while the source blocks; executor " + executor.name);
  Gate gate;
  const Slots slots = plain_slots(1000);
  {
    auto iterator = build(gated<T>(slots, gate)).iterate({.executor = executor.executor});
    const std::size_t released = random.below(600);
    gate.release(released);
    const std::size_t known = known_outputs(model, slots, released);
    take_stream(iterator, random.chance(0.5) ? known : random.below(known + 1));
  }
  EXPECT_EQ(gate.stages(), 0) << "the source's stage is still there";
}

/// Inputs of one length: without errors, and with errors in the places where stages trip.
inline std::vector<Slots> inputs_of(std::size_t size, RandomSource& random) {
  std::vector<Slots> inputs{plain_slots(size)};
  if (size == 0) return inputs;
  const auto add = [&](auto fails) { inputs.push_back(failing_slots(size, fails)); };
  add([](std::size_t i) { return i == 0; });
  add([&](std::size_t i) { return i == size - 1; });
  if (size < 3) return inputs;
  add([&](std::size_t i) { return i == size / 2; });
  add([&](std::size_t i) { return i == size / 2 || i == size / 2 + 1; });
  add([&](std::size_t) { return random.chance(0.2); });
  add([](std::size_t) { return true; });
  return inputs;
}

template <class T, class Build, class Model>
void check_input(const Build& build, const Model& model, const Slots& slots,
                 const StageSuiteOptions& options, const Executors& executors,
                 RandomSource& random) {
  using Out = typename decltype(build(listed<T>(slots)))::element_type;
  const Stream expected = model(slots);
  const auto make = [&](Cut::Kind kind) { return build(listed<T>(slots, Cut{kind, random()})); };
  const auto any_make = [&, make]() -> Dataset<Out> {
    Dataset<Out> dataset = make(static_cast<Cut::Kind>(random.below(3)));
    return random.chance(0.5) ? dataset : dataset | recut(random());
  };
  for (const Cut::Kind kind : {Cut::Kind::as_asked, Cut::Kind::single, Cut::Kind::random}) {
    SCOPED_TRACE("cut " + std::to_string(static_cast<int>(kind)));
    const StreamCheck<Out> check([&] { return make(kind); }, expected, options, executors, random);
    check.run_straight(executors.inline_one());
    check.run_straight(check.any_executor());
    if (::testing::Test::HasFailure()) return;
  }
  const StreamCheck<Out> check(any_make, expected, options, executors, random);
  check.run_straight(check.any_executor());
  if (options.ordered) check.resume_at_some_steps();
  check.cancel_before_the_start();
  check.destroy_anywhere();
}

template <class T>
std::string describe(const Slots& slots) {
  std::string errors;
  for (std::size_t i = 0; i < slots.size() && errors.size() < 60; ++i) {
    if (slots[i].fails) errors += " " + std::to_string(i);
  }
  return "an input of " + std::to_string(slots.size()) + " elements (" +
         std::string(type_info<T>().name) + "), errors at" + (errors.empty() ? " none" : errors);
}

}  // namespace internal

/// The suite with inputs of one type.
template <class T, class Build, class Model>
void run_stage_suite_on(const Build& build, const Model& model,
                        const StageSuiteOptions& options = {}) {
  RandomSource random;
  const Executors executors;
  const std::int64_t live = Tracked::live;
  for (const std::size_t size : options.sizes) {
    for (const Slots& slots : internal::inputs_of(size, random)) {
      SCOPED_TRACE(internal::describe<T>(slots));
      internal::check_input<T>(build, model, slots, options, executors, random);
      if (options.hands_over_early && options.ordered && size <= 40 && random.chance(0.5)) {
        internal::check_hand_over<T>(build, model, slots, executors.any(random), random);
      }
      if (::testing::Test::HasFailure()) return;
    }
  }
  for (const NamedExecutor& executor : executors.all()) {
    for (int i = 0; i < 3; ++i) {
      internal::check_cancel_while_blocked<T>(build, executor, random);
      if (options.hands_over_early && options.ordered) {
        internal::check_destroy_while_blocked<T>(build, model, executor, random);
      }
    }
  }
  EXPECT_EQ(Tracked::live, live) << "elements that nobody destroyed";
}

/// The suite with inputs of all types; `build` takes a Dataset of any.
template <class Build, class Model>
void run_stage_suite(const Build& build, const Model& model, StageSuiteOptions options = {}) {
  run_stage_suite_on<std::int64_t>(build, model, options);
  std::erase_if(options.sizes, [](std::size_t size) { return size != 5 && size != 300; });
  const auto run = [&]<class T>(std::type_identity<T>) {
    if (!::testing::Test::HasFailure()) run_stage_suite_on<T>(build, model, options);
  };
  run(std::type_identity<std::string>());
  run(std::type_identity<Wide>());
  run(std::type_identity<OverAligned>());
  run(std::type_identity<Tracked>());
  run(std::type_identity<std::unique_ptr<std::int64_t>>());
}

/// The suite for a source: `make()` describes it anew each time.
template <class Make>
void run_source_suite(const Make& make, const Stream& expected,
                      const StageSuiteOptions& options = {}) {
  using Out = typename decltype(make())::element_type;
  RandomSource random;
  const Executors executors;
  const StreamCheck<Out> check(make, expected, options, executors, random);
  for (const NamedExecutor& executor : executors.all()) check.run_straight(executor);
  const auto cut = [&]() -> Dataset<Out> { return make() | recut(random()); };
  const StreamCheck<Out> check_cut(cut, expected, options, executors, random);
  check_cut.run_straight(check_cut.any_executor());
  if (options.ordered) check_cut.resume_at_some_steps();
  check.cancel_before_the_start();
  for (int i = 0; i < 5; ++i) check.destroy_anywhere();
}

}  // namespace infeed::test
