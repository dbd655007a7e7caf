#include "pipeline/suite/stage_suite.h"

#include <algorithm>

#include "pipeline/suite/consumer.h"
#include "pipeline/suite/neighbours.h"
#include "test_extent.h"

namespace infeed::test {

namespace internal {
namespace {

constexpr std::size_t kShortInput = 40;

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

std::vector<Slots> inputs_of(std::size_t size, SeededRandom& random) {
  std::vector<Slots> inputs{plain_slots(size)};
  if (size == 0) return inputs;
  const auto add = [&](const auto& fails) { inputs.push_back(failing_slots(size, fails)); };
  std::vector<std::function<bool(std::size_t)>> places{
      [](std::size_t i) { return i == 0; },
      [&](std::size_t i) { return i == size - 1; },
      [&](std::size_t i) { return i == size / 2; },
      [&](std::size_t i) { return i == size / 2 || i == size / 2 + 1; },
      [](std::size_t) { return true; },
  };
  if (size < 3) places.resize(2);
  // Short inputs have errors in each of the places; long ones take most of the time.
  if (size > kShortInput && !tests_all()) places = {places[random.below(places.size())]};
  for (const auto& fails : places) add(fails);
  if (size >= 3) add([&](std::size_t) { return random.chance(0.2); });
  return inputs;
}

std::string describe(const Slots& slots, std::string_view type_name) {
  std::string errors;
  for (std::size_t i = 0; i < slots.size() && errors.size() < 60; ++i) {
    if (slots[i].fails) errors += " " + std::to_string(i);
  }
  return "an input of " + std::to_string(slots.size()) + " elements (" + std::string(type_name) +
         "), errors at" + (errors.empty() ? " none" : errors);
}

ShownDataset recut_anew(const ShownDataset& dataset, SeededRandom& random) {
  return dataset.with(make_recut(random(), dataset.node()));
}

/// The suite for one type of input.
class StageSuite {
 public:
  StageSuite(const TestedStage& stage, const Model& model, const StageSuiteOptions& options)
      : stage_(stage), model_(model), options_(options) {}

  void run() {
    const std::int64_t live = Tracked::live;
    for (const std::size_t size : options_.sizes) {
      for (const Slots& slots : inputs_of(size, random_)) {
        SCOPED_TRACE(describe(slots, stage_.input_type.name));
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
  ShownDataset listed(const Slots& slots, const Cut& cut) const {
    return stage_.make_input(slots, cut, nullptr);
  }
  ShownDataset gated(const Slots& slots, Gate& gate) const {
    return stage_.make_input(slots, {}, &gate);
  }
  ShownDataset build(const ShownDataset& input) const {
    return stage_.add(stage_.build, input.node());
  }
  bool watches_hand_over() const { return options_.hands_over_early && options_.ordered; }

  void check_input(const Slots& slots) {
    const Stream expected = model_(slots);
    const auto make = [&](Cut::Kind kind) { return build(listed(slots, Cut{kind, random_()})); };
    for (const Cut::Kind kind : {Cut::Kind::as_asked, Cut::Kind::single, Cut::Kind::random}) {
      SCOPED_TRACE("cut " + std::to_string(static_cast<int>(kind)));
      const StreamCheck check([&] { return make(kind); }, expected, options_, executors_, random_);
      check.run_straight(executors_.inline_one());
      check.run_straight(check.any_executor());
      if (::testing::Test::HasFailure()) return;
    }
    const auto any_make = [&] {
      const ShownDataset dataset = make(static_cast<Cut::Kind>(random_.below(3)));
      return random_.chance(0.5) ? dataset : recut_anew(dataset, random_);
    };
    const StreamCheck check(any_make, expected, options_, executors_, random_);
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
      return build(add_neighbour(listed(slots, Cut{Cut::Kind::single, 0}), Neighbour::skip_errors));
    };
    StreamCheck(make, model_(without_errors(slots)), options_, executors_, random_)
        .resume_at_every_step();
  }

  /// Checks a stage behind and in front of a random one of the stages that know of errors or work
  /// ahead, stopped in all possible ways.
  void check_among_neighbours(const Slots& slots) {
    // A cache holds everything, for which a stage's own small limit has no room.
    const bool caches = options_.memory_bytes_max == 0;
    const Neighbour before = draw_neighbour(random_, stage_.input_type, caches);
    const Neighbour behind = draw_neighbour(random_, stage_.output_type, caches);
    SCOPED_TRACE("behind " + name_of(before) + ", in front of " + name_of(behind));
    // skip_errors itself fails after nothing but errors.
    if (before == Neighbour::skip_errors && all_fail(slots)) return;
    const Stream alone = model_(before == Neighbour::skip_errors ? without_errors(slots) : slots);
    if (behind == Neighbour::skip_errors && all_fail(alone)) return;
    const Stream expected = behind == Neighbour::skip_errors ? without_errors(alone) : alone;
    const auto build_between = [&](const ShownDataset& source) {
      return add_neighbour(build(add_neighbour(source, before)), behind);
    };
    const auto make = [&] {
      return build_between(listed(slots, {static_cast<Cut::Kind>(random_.below(3)), random_()}));
    };
    const StreamCheck check(make, expected, options_, executors_, random_);
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
    check.time_out(build_between(gated(slots, gate)));
  }

  void check_hand_over(const Slots& slots) {
    const NamedExecutor& executor = executors_.any(random_);
    SCOPED_TRACE("a slow source; executor " + executor.name);
    Gate gate;
    Consumer consumer(build(gated(slots, gate)).iterate({.executor = executor.executor}), &gate);
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
      Consumer consumer(
          build(gated(plain_slots(1000), gate)).iterate({.executor = executor.executor}), &gate);
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
      const auto iterator = build(gated(slots, gate)).iterate({.executor = executor.executor});
      const std::size_t released = random_.below(600);
      gate.release(released);
      const std::size_t known = known_outputs(slots, released);
      take_stream(*iterator, random_.chance(0.5) ? known : random_.below(known + 1));
    }
    EXPECT_EQ(gate.stages(), 0) << "the source's stage is still there";
  }

  const TestedStage& stage_;
  const Model& model_;
  const StageSuiteOptions& options_;
  SeededRandom random_;
  const Executors executors_;
};

}  // namespace

void run_stage_suite(const TestedStage& stage, const Model& model,
                     const StageSuiteOptions& options) {
  StageSuite(stage, model, options).run();
}

}  // namespace internal

INFEED_COMMON_ELEMENTS();

void run_source_suite(const std::function<ShownDataset()>& make, const Stream& expected,
                      const StageSuiteOptions& options) {
  SeededRandom random;
  const Executors executors;
  const StreamCheck check(make, expected, options, executors, random);
  for (const NamedExecutor& executor : executors.all()) check.run_straight(executor);
  const auto cut = [&] { return internal::recut_anew(make(), random); };
  const StreamCheck check_cut(cut, expected, options, executors, random);
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
