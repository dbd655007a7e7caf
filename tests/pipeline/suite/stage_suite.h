#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <gtest/gtest.h>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "pipeline/suite/consumer.h"
#include "pipeline/suite/elements.h"
#include "pipeline/suite/neighbours.h"
#include "pipeline/suite/stream_check.h"

/// The tests that every stage passes. A stage's own test file gives its construction and, in the
/// slowest and most obvious way, its result for a list of elements and errors:
///
///     TEST(Take, Suite) {
///       run_stage_suite([](auto dataset) { return dataset | infeed::take(5); },
///                       [](Slots in) { in.resize(std::min(in.size(), 5ul)); return show_all(in);
///                       });
///     }
///
/// A model takes Slots (numbers, some of which stand for errors) and returns a Stream: one text an
/// element, "7", "(0, 7)", "[1 2 3]" (a batch), "! element 3 is broken" (an error; what a user's
/// function threw: "! " and its text), "!! ..." (a terminal error, the last). The suite then
/// checks, for inputs without elements, with one, with many, without errors and with errors at the
/// first, a middle, the last and all places (of long inputs at one of these, which is drawn, or at
/// each with tests_all()):
///  - values, order, errors and the end, whatever the chunks' sizes are (sources that give one
///    element at a time or random numbers of them; recut() behind the stage) and on every executor;
///  - that the end stays the end, that statistics add up, that no byte stays in the memory account;
///  - resume at every step, each through the checkpoint's text and on another executor;
///  - that a slow source holds nothing back: what can be known comes before the next element does;
///  - cancellation before the start, while the source blocks and at random moments, time-outs, and
///    destruction in all these places: never an end that is none (stream_check.h);
///  - memory limits from 32 bytes to 2 MiB: refused, or failed so that a resume gives the rest;
///  - the stage behind and in front of skip_errors, cache, prefetch and a parallel map
///    (neighbours.h), resumed behind caches that are full and that are empty;
///  - elements of several kinds: numbers, strings, 64 bytes, over-aligned ones that can only be
///    moved (build() is called with a Dataset of each; run_stage_suite_on<T> does it for one type).
///
/// A source of one's own: run_source_suite([] { return infeed::range(7); }, numbers({0, 1, ...})).
namespace infeed::test {

namespace internal {

using Model = std::function<Stream(const Slots&)>;

/// Returns how many outputs are certain once the first `count` inputs are known: those that are the
/// same whatever follows.
std::size_t known_outputs(const Model& model, const Slots& slots, std::size_t count);

/// Returns inputs of one length: without errors, and with errors in the places where stages trip.
std::vector<Slots> inputs_of(std::size_t size, RandomSource& random);

std::string describe(const Slots& slots, std::string_view type_name);

/// The suite for one type of input and of output. Not a template of the stage, so that the common
/// types are compiled once (stage_suite.cc).
template <class T, class Out>
class StageSuite {
 public:
  using Build = std::function<Dataset<Out>(const Dataset<T>&)>;

  StageSuite(Build build, Model model, const StageSuiteOptions& options)
      : build_(std::move(build)), model_(std::move(model)), options_(options) {}

  void run() {
    const std::int64_t live = Tracked::live;
    for (const std::size_t size : options_.sizes) {
      for (const Slots& slots : inputs_of(size, random_)) {
        SCOPED_TRACE(describe(slots, type_info<T>().name));
        check_input(slots);
        if (watches_hand_over() && size <= 40 && random_.chance(0.5)) check_hand_over(slots);
        if (::testing::Test::HasFailure()) return;
      }
    }
    for (const NamedExecutor& executor : executors_.all()) {
      for (int i = 0; i < 3; ++i) {
        check_cancel_while_blocked(executor);
        if (watches_hand_over()) check_destroy_while_blocked(executor);
      }
    }
    EXPECT_EQ(Tracked::live, live) << "elements that nobody destroyed";
  }

 private:
  std::size_t known_outputs(const Slots& slots, std::size_t released) const {
    const std::size_t seen = released - std::min(released, options_.lookahead);
    return internal::known_outputs(model_, slots, seen);
  }
  bool watches_hand_over() const { return options_.hands_over_early && options_.ordered; }

  void check_input(const Slots& slots) {
    const Stream expected = model_(slots);
    const auto make = [&](Cut::Kind kind) {
      return build_(listed<T>(slots, Cut{kind, random_()}));
    };
    for (const Cut::Kind kind : {Cut::Kind::as_asked, Cut::Kind::single, Cut::Kind::random}) {
      SCOPED_TRACE("cut " + std::to_string(static_cast<int>(kind)));
      const StreamCheck<Out> check([&] { return make(kind); }, expected, options_, executors_,
                                   random_);
      check.run_straight(executors_.inline_one());
      check.run_straight(check.any_executor());
      if (::testing::Test::HasFailure()) return;
    }
    const auto any_make = [&] {
      const Dataset<Out> dataset = make(static_cast<Cut::Kind>(random_.below(3)));
      return random_.chance(0.5) ? dataset : dataset | recut(random_());
    };
    const StreamCheck<Out> check(any_make, expected, options_, executors_, random_);
    check.run_straight(check.any_executor());
    check.run_on_few_threads();
    if (options_.ordered) check.resume_at_some_steps();
    check.cancel_before_the_start();
    check.destroy_anywhere();
    if (options_.ordered && slots.size() <= 40) check_resume_in_front_of_errors(slots);
    check_among_neighbours(slots);
  }

  /// Checks a stage behind skip_errors and a source that gives one element at a time. A checkpoint
  /// knows the errors that were seen; a stage that skips more elements than it had read skips
  /// errors as if they were elements.
  void check_resume_in_front_of_errors(const Slots& slots) {
    if (all_fail(slots) || without_errors(slots).size() == slots.size()) return;
    SCOPED_TRACE("behind skip_errors, one element at a time");
    const auto make = [&] {
      return build_(listed<T>(slots, Cut{Cut::Kind::single, 0}) | skip_errors());
    };
    StreamCheck<Out>(make, model_(without_errors(slots)), options_, executors_, random_)
        .resume_at_every_step();
  }

  /// Checks a stage behind and in front of a random one of the stages that know of errors or work
  /// ahead, stopped in all possible ways.
  void check_among_neighbours(const Slots& slots) {
    // A cache holds everything, for which a stage's own small limit has no room.
    const bool caches = options_.memory_bytes_max == 0;
    const Neighbour before = draw_neighbour<T>(random_, caches);
    const Neighbour behind = draw_neighbour<Out>(random_, caches);
    SCOPED_TRACE("behind " + name_of(before) + ", in front of " + name_of(behind));
    // skip_errors itself fails after nothing but errors.
    if (before == Neighbour::skip_errors && all_fail(slots)) return;
    const Stream alone = model_(before == Neighbour::skip_errors ? without_errors(slots) : slots);
    if (behind == Neighbour::skip_errors && all_fail(alone)) return;
    const Stream expected = behind == Neighbour::skip_errors ? without_errors(alone) : alone;
    const auto build = [&](const Dataset<T>& source) {
      return add_neighbour(build_(add_neighbour(source, before)), behind);
    };
    const auto make = [&] {
      return build(listed<T>(slots, Cut{static_cast<Cut::Kind>(random_.below(3)), random_()}));
    };
    const StreamCheck<Out> check(make, expected, options_, executors_, random_);
    check.run_straight(check.any_executor());
    check.cancel_anywhere();
    if (caches) {
      check.run_under_a_limit();
      check.run_under_a_limit();
    }
    if (options_.ordered) {
      check.resume_at(random_.below(expected.size() + 1));
      if (caches) check.resume_behind_a_full_cache();
    }
    // A gate that opens for fewer elements than there are; it outlives the iterator.
    if (!random_.chance(0.25)) return;
    Gate gate;
    gate.release(random_.below(slots.size() + 1));
    check.time_out(build(gated<T>(slots, gate)));
  }

  void check_hand_over(const Slots& slots) {
    const NamedExecutor& executor = executors_.any(random_);
    SCOPED_TRACE("a slow source; executor " + executor.name);
    Gate gate;
    Consumer<Out> consumer(build_(gated<T>(slots, gate)).iterate({.executor = executor.executor}),
                           &gate);
    for (std::size_t released = 0; released < slots.size();) {
      const std::size_t more = std::min<std::size_t>(1 + random_.below(7), slots.size() - released);
      released += more;
      gate.release(more);
      const std::size_t known = known_outputs(slots, released);
      ASSERT_TRUE(consumer.wait_for(known))
          << "after " << released << " inputs " << known << " outputs are certain, but only "
          << consumer.stream().size() << " came: the others are held back";
    }
    consumer.join();
    EXPECT_EQ(consumer.stream(), model_(slots));
  }

  void check_cancel_while_blocked(const NamedExecutor& executor) {
    SCOPED_TRACE("cancelled while the source blocks; executor " + executor.name);
    Gate gate;
    gate.release(random_.chance(0.3) ? 0 : random_.below(600));
    {
      Consumer<Out> consumer(
          build_(gated<T>(plain_slots(1000), gate)).iterate({.executor = executor.executor}),
          &gate);
      gate.wait_until_asked();
      consumer.cancel();
      consumer.join();
      EXPECT_EQ(consumer.iterator().memory().in_use_bytes(), 0);
    }
    EXPECT_EQ(gate.stages(), 0) << "the source's stage is still there";
  }

  void check_destroy_while_blocked(const NamedExecutor& executor) {
    SCOPED_TRACE("destroyed while the source blocks; executor " + executor.name);
    Gate gate;
    const Slots slots = plain_slots(1000);
    {
      Iterator<Out> iterator =
          build_(gated<T>(slots, gate)).iterate({.executor = executor.executor});
      const std::size_t released = random_.below(600);
      gate.release(released);
      const std::size_t known = known_outputs(slots, released);
      take_stream(iterator, random_.chance(0.5) ? known : random_.below(known + 1));
    }
    EXPECT_EQ(gate.stages(), 0) << "the source's stage is still there";
  }

  const Build build_;
  const Model model_;
  const StageSuiteOptions options_;
  RandomSource random_;
  const Executors executors_;
};

}  // namespace internal

// clang-format off
#define INFEED_COMMON_SUITE(prefix, T)                                                         \
  prefix template class internal::StageSuite<T, T>;                                            \
  prefix template class StreamCheck<T>;                                                        \
  prefix template class Consumer<T>
#define INFEED_COMMON_SUITES(prefix)                                                           \
  INFEED_COMMON_SUITE(prefix, std::int64_t);                                                   \
  INFEED_COMMON_SUITE(prefix, std::string);                                                    \
  INFEED_COMMON_SUITE(prefix, Wide);                                                           \
  INFEED_COMMON_SUITE(prefix, Tracked)
// clang-format on
INFEED_COMMON_SUITES(extern);

/// The suite with inputs of one type.
template <class T, class Build>
void run_stage_suite_on(const Build& build, const std::function<Stream(const Slots&)>& model,
                        const StageSuiteOptions& options = {}) {
  using Out = typename decltype(build(std::declval<Dataset<T>>()))::element_type;
  internal::StageSuite<T, Out>(build, model, options).run();
}

/// The suite with inputs of all types; `build` takes a Dataset of any.
template <class Build>
void run_stage_suite(const Build& build, const std::function<Stream(const Slots&)>& model,
                     StageSuiteOptions options = {}) {
  run_stage_suite_on<std::int64_t>(build, model, options);
  std::erase_if(options.sizes, [](std::size_t size) { return size != 5 && size != 300; });
  const auto run = [&]<class T>(std::type_identity<T>) {
    if (!::testing::Test::HasFailure()) run_stage_suite_on<T>(build, model, options);
  };
  run(std::type_identity<std::string>());
  run(std::type_identity<Wide>());
  run(std::type_identity<Tracked>());
}

/// The suite for a source, which `make()` describes anew each time.
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
  check_cut.run_on_few_threads();
  if (options.ordered) check_cut.resume_at_some_steps();
  check.cancel_before_the_start();
  for (int i = 0; i < 5; ++i) {
    check.destroy_anywhere();
    check.cancel_anywhere();
    const bool caches = options.ordered && options.memory_bytes_max == 0;
    if (caches) check.resume_behind_a_full_cache();
    if (options.memory_bytes_max == 0) check.run_under_a_limit();
  }
}

}  // namespace infeed::test
