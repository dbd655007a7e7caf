#pragma once

#include <cstdint>
#include <functional>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <infeed/pipeline/dataset.h>
#include <infeed/pipeline/detail/resume_check.h>

/// Why: a resume is exact only while a pipeline's functions are: one that keeps a counter, draws
/// from a generator of its own or asks the clock breaks it silently. This proves it for a pipeline
/// of yours, in your own tests, with any test framework or none:
///
///     const auto report = infeed::testing::expect_equal_after_resume([] { return my_dataset(); });
///     // throws infeed::Error when anything differs; report.elements says how much was compared
///
/// It takes a checkpoint after each element, goes on from its text in a new iterator, and compares
/// everything that follows, errors and the end included, with a run without interruption. Each
/// resume describes the dataset anew, as the process after a crash does: its caches are empty, and
/// a seed that was not given is drawn again. Checkpoints of a second iteration, behind caches that
/// the first one filled, are gone on from, too.
///
/// Stages in inner datasets (of flat_map, say) draw seeds that nobody gave when their first element is
/// made. A checkpoint from before then can't have them, and a new process draws others: what it goes
/// on with must then be the stream of those, of which the elements before the checkpoint are the
/// beginning.
///
/// A dataset instead of the function is resumed as it is, with its full caches and drawn seeds:
/// what only a new process gets wrong is not found.
///
/// Elements are compared by ==, structs and pairs field by field, batches row by row, containers
/// element by element, what smart pointers point to; NaN equals NaN. For other types give `equal`.
/// The time grows with the square of the number of elements: take(100) of a pipeline is a good
/// test. A stage with ordered = false has no exact resume and is no matter for this.
namespace infeed::testing {

struct ResumeCheckOptions {
  /// Elements to look at; more than that are not read (of an endless dataset, say).
  std::uint64_t elements_max = 200;
  /// Which iteration of the dataset to check; it keys shuffles.
  std::uint64_t epoch = 0;
  std::uint64_t memory_bytes_max = 0;
  std::shared_ptr<Executor> executor = nullptr;
};

/// What was compared.
struct ResumeReport {
  std::uint64_t elements = 0;  ///< of the run without interruption, errors included
  std::uint64_t errors = 0;
  std::uint64_t resumes = 0;
  bool end_reached = false;  ///< the stream was not longer than elements_max
};

namespace detail {

/// Iterates the dataset from the start, or from the checkpoint's text.
template <class T>
Iterator<T> iterate(const Dataset<T>& dataset, const ResumeCheckOptions& options,
                    const Checkpoint* resume) {
  IterateOptions iterate_options;
  iterate_options.memory_bytes_max = options.memory_bytes_max;
  iterate_options.executor = options.executor;
  iterate_options.epoch = options.epoch;
  if (resume != nullptr) iterate_options.resume = Checkpoint::from_text(resume->to_text());
  return dataset.iterate(std::move(iterate_options));
}

/// The begin of the stream that a run with the seeds in `signature` gives.
inline Checkpoint start_with(const Checkpoint& any, std::vector<std::string> signature) {
  return Checkpoint{.epoch = any.epoch, .signature = std::move(signature)};
}

/// The run without interruption, and the checkpoint before each of its elements and behind the last.
template <class T>
struct StraightRun {
  std::vector<Slot<T>> slots;
  std::vector<Checkpoint> places;

  bool end_reached() const { return !slots.empty() && !slots.back().takes_a_place; }
  std::uint64_t elements() const { return slots.size() - (end_reached() ? 1 : 0); }
  /// With all seeds that were drawn on the way.
  Checkpoint start() const { return start_with(places.front(), places.back().signature); }
};

template <class T>
StraightRun<T> run_straight(Iterator<T> iterator, std::uint64_t elements_max) {
  StraightRun<T> run{{}, {iterator.checkpoint()}};
  while (run.slots.size() < elements_max && !run.end_reached()) {
    run.slots.push_back(take_slot(iterator));
    run.places.push_back(iterator.checkpoint());
  }
  return run;
}

/// Goes on from `checkpoint`, which has all seeds, to the end of what is expected; returns the
/// checkpoint one element behind.
template <class Describe, class T, class Equal>
Checkpoint compare_the_rest(const Describe& describe, const ResumeCheckOptions& options,
                            const Checkpoint& checkpoint, const StraightRun<T>& expected,
                            Equal& equal) {
  Iterator<T> resumed = iterate(describe(), options, &checkpoint);
  Checkpoint behind = checkpoint;
  for (std::uint64_t at = checkpoint.position; at < expected.slots.size(); ++at) {
    const Slot<T> got = take_slot(resumed);
    if (!same_slots(got, expected.slots[at], equal)) {
      throw_difference(checkpoint.position, at, describe_slot(got),
                       describe_slot(expected.slots[at]));
    }
    if (at == checkpoint.position) behind = resumed.checkpoint();
  }
  return behind;
}

/// The same from one that may lack seeds that were drawn behind it: then the elements before it and
/// what the resumed run gives must be the stream of the seeds that this one has drawn.
template <class Describe, class T, class Equal>
void compare_by_own_seeds(const Describe& describe, const ResumeCheckOptions& options,
                          const Checkpoint& checkpoint, const StraightRun<T>& expected,
                          Equal& equal) {
  Iterator<T> resumed = iterate(describe(), options, &checkpoint);
  const std::uint64_t begin = checkpoint.position;
  const auto rest = take_slots(resumed, expected.slots.size() - begin);
  const auto differs = [&](const std::vector<Slot<T>>& stream, std::uint64_t at) {
    return !same_slots(rest[at - begin], stream[at], equal);
  };
  std::uint64_t at = begin;
  while (at < begin + rest.size() && !differs(expected.slots, at)) ++at;
  if (at == expected.slots.size()) return;
  std::vector<std::string> signature = resumed.checkpoint().signature;
  if (signature == expected.places.back().signature) {
    throw_difference(begin, at, describe_slot(rest[at - begin]), describe_slot(expected.slots[at]));
  }
  const Checkpoint start = start_with(checkpoint, std::move(signature));
  Iterator<T> whole = iterate(describe(), options, &start);
  const auto stream = take_slots(whole, begin + rest.size());
  for (at = 0; at < stream.size(); ++at) {
    if (at < begin && !same_slots(stream[at], expected.slots[at], equal)) {
      throw_other_seeds(begin, at, describe_slot(stream[at]), describe_slot(expected.slots[at]));
    }
    if (at >= begin && differs(stream, at)) {
      throw_difference(begin, at, describe_slot(rest[at - begin]), describe_slot(stream[at]));
    }
  }
}

}  // namespace detail

/// `describe` is a function that returns the dataset, described anew at each call. Throws
/// Error(failed_precondition) that names the checkpoint and the first element that differs.
template <class Describe, class Equal = detail::Same>
requires std::is_invocable_v<const Describe&> ResumeReport expect_equal_after_resume(
    const Describe& describe, ResumeCheckOptions options = {}, Equal equal = {}) {
  const auto dataset = describe();
  const auto expected =
      detail::run_straight(detail::iterate(dataset, options, nullptr), options.elements_max);
  ResumeReport report;
  for (const auto& slot : expected.slots) report.errors += slot.error ? 1 : 0;
  report.end_reached = expected.end_reached();
  report.elements = expected.elements();

  auto second = detail::iterate(dataset, options, nullptr);
  Checkpoint checkpoint = expected.start();
  for (std::uint64_t resumed_at = 0; resumed_at <= report.elements; ++resumed_at) {
    // Each is one of an iterator that was itself resumed, as in a run with many crashes.
    Checkpoint next = detail::compare_the_rest(describe, options, checkpoint, expected, equal);
    // Those of a run that wasn't may know less, and a second iteration's, too: what a full cache
    // hides, nobody saw again.
    for (const Checkpoint& other : {expected.places[resumed_at], second.checkpoint()}) {
      if (other.position != resumed_at || other == checkpoint) continue;
      detail::compare_by_own_seeds(describe, options, other, expected, equal);
    }
    checkpoint = std::move(next);
    ++report.resumes;
    detail::take_slot(second);
  }
  return report;
}

/// The same with one dataset for all: a weaker test, see above.
template <class T, class Equal = detail::Same>
ResumeReport expect_equal_after_resume(const Dataset<T>& dataset, ResumeCheckOptions options = {},
                                       Equal equal = {}) {
  return expect_equal_after_resume([&dataset] { return dataset; }, std::move(options),
                                   std::move(equal));
}

}  // namespace infeed::testing
