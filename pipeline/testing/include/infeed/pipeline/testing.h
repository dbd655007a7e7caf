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

/// Why: a resume is exact only if a pipeline's functions are. A function that keeps a counter, has
/// its own random generator or asks the clock breaks it silently. This proves a resume exact for
/// your pipeline, in your own tests, with any test framework or none:
///
///     const auto report = infeed::testing::expect_equal_after_resume([] { return my_dataset(); });
///     // throws infeed::Error when anything differs; report.elements says how much was compared
///
/// It takes a checkpoint after each element, resumes from its text in a new iterator, and compares
/// everything that follows, errors and the end included, with an uninterrupted run. Each resume
/// describes the dataset anew, like the process after a crash: its caches are empty, and seeds that
/// weren't given are drawn again. It also resumes from checkpoints of a second iteration, after
/// caches that the first one filled.
///
/// Unseeded stages in inner datasets (of flat_map, say) draw their seeds when their first element
/// is made. A checkpoint from before can't have these seeds, and a new process draws others. The
/// resumed elements must then belong to a stream of the new seeds that begins with the elements
/// before the checkpoint.
///
/// If a dataset is given instead of the function, it is resumed with its full caches and drawn
/// seeds. That doesn't find errors that only a new process makes.
///
/// Elements are compared by ==, structs and pairs field by field, batches row by row, containers
/// element by element, smart pointers by what they point to; NaN equals NaN. For other types give
/// `equal`. The time grows with the square of the number of elements: take(100) of a pipeline is a
/// good test. A stage with ordered = false has no exact resume and can't be tested.
namespace infeed::testing {

struct ResumeCheckOptions {
  /// The most elements that are read (of an endless dataset, say).
  std::uint64_t elements_max = 200;
  /// The iteration of the dataset to check. It keys shuffles.
  std::uint64_t epoch = 0;
  std::uint64_t memory_bytes_max = 0;
  std::shared_ptr<Executor> executor = nullptr;
};

/// The numbers of what was compared.
struct ResumeReport {
  std::uint64_t elements = 0;  ///< elements in the uninterrupted run, errors included
  std::uint64_t errors = 0;
  std::uint64_t resumes = 0;
  bool end_reached = false;  ///< the stream wasn't longer than elements_max
};

namespace detail {

/// Iterates the dataset from the start, or from the checkpoint.
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

/// Returns the beginning of the stream that a run with the seeds in `signature` gives.
inline Checkpoint start_with(const Checkpoint& any, std::vector<std::string> signature) {
  return Checkpoint{.epoch = any.epoch, .signature = std::move(signature)};
}

/// The uninterrupted run, with the checkpoint before each of its elements and after the last.
template <class T>
struct StraightRun {
  std::vector<Slot<T>> slots;
  std::vector<Checkpoint> places;

  bool end_reached() const { return !slots.empty() && !slots.back().takes_a_place; }
  std::uint64_t elements() const { return slots.size() - (end_reached() ? 1 : 0); }
  /// Returns the beginning with all seeds that were drawn during the run.
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

/// Resumes from `checkpoint`, which has all seeds, and compares the rest. Returns the checkpoint
/// one element later.
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

/// Does the same for a checkpoint that may lack seeds drawn after it. Then the elements before it,
/// followed by the resumed ones, must be the stream of the seeds that the resumed run has drawn.
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

/// Checks a resume at each element. `describe` is a function that describes the dataset anew at
/// each call and returns it. Throws Error(failed_precondition) that names the checkpoint and the
/// first different element.
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
    // Each checkpoint comes from an iterator that was itself resumed, as in a run with many
    // crashes.
    Checkpoint next = detail::compare_the_rest(describe, options, checkpoint, expected, equal);
    // Checkpoints of an uninterrupted run, and of a second iteration, may have fewer seeds: a full
    // cache hides draws that nobody made again.
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

/// Checks the same dataset at each resume: a weaker test, see above.
template <class T, class Equal = detail::Same>
ResumeReport expect_equal_after_resume(const Dataset<T>& dataset, ResumeCheckOptions options = {},
                                       Equal equal = {}) {
  return expect_equal_after_resume([&dataset] { return dataset; }, std::move(options),
                                   std::move(equal));
}

}  // namespace infeed::testing
