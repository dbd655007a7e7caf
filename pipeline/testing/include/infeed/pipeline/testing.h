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

#include <infeed/pipeline/batch.h>
#include <infeed/pipeline/dataset.h>
#include <infeed/pipeline/fields.h>

/// Why: a resume is exact only while a pipeline's functions are: one that keeps a counter, draws
/// from a generator of its own or asks the clock breaks it silently. This proves it for a pipeline
/// of yours, in your own tests, with any test framework or none:
///
///     const auto report = infeed::testing::expect_equal_after_resume([] { return my_dataset(); });
///     // throws infeed::Error when anything differs; report.elements says how much was compared
///
/// Takes a checkpoint after each element, goes on from its text in a new iterator, and compares
/// everything that follows, errors and the end included, with a run without interruption. Each
/// resume describes the dataset anew, as the process after a crash does: its caches are empty, and
/// a seed that was not given is drawn again. Checkpoints of a second iteration, behind caches that
/// the first one filled, are gone on from, too.
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

using infeed::detail::field_count;
using infeed::detail::tie_fields;

template <class T>
inline constexpr bool kIsBatch = false;
template <class T>
inline constexpr bool kIsBatch<Batch<T>> = true;

template <class T>
bool same(const T& a, const T& b);

template <class T>
bool same_fields(const T& a, const T& b) {
  const auto fields_a = tie_fields(a);
  const auto fields_b = tie_fields(b);
  return [&]<std::size_t... I>(std::index_sequence<I...>) {
    return (same(std::get<I>(fields_a), std::get<I>(fields_b)) && ...);
  }
  (std::make_index_sequence<field_count<T>()>());
}

template <class Range>
bool same_ranges(const Range& a, const Range& b) {
  return std::equal(std::begin(a), std::end(a), std::begin(b), std::end(b),
                    [](const auto& x, const auto& y) { return same(x, y); });
}

template <class T>
bool same_batches(const Batch<T>& a, const Batch<T>& b) {
  return a.size() == b.size()&& [&]<std::size_t... I>(std::index_sequence<I...>) {
    return (same_ranges(a.template column<I>(), b.template column<I>()) && ...);
  }
  (std::make_index_sequence<Batch<T>::kColumns>());
}

template <class T>
bool same(const T& a, const T& b) {
  constexpr bool kPointsTo = !std::is_pointer_v<T> && requires { *a, static_cast<bool>(a); };
  if constexpr (kIsBatch<T>) {
    return same_batches(a, b);
  } else if constexpr (std::is_floating_point_v<T>) {
    return a == b || (a != a && b != b);
  } else if constexpr (kPointsTo) {
    return static_cast<bool>(a) == static_cast<bool>(b) && (!a || same(*a, *b));
  } else if constexpr (requires { std::begin(a), std::end(a); }) {
    return same_ranges(a, b);
  } else if constexpr (field_count<T>() > 0) {
    return same_fields(a, b);
  } else {
    static_assert(
        requires { a == b; },
        "infeed::testing: this element has no ==; give expect_equal_after_resume a "
        "function that compares two of them");
    return a == b;
  }
}

struct Same {
  template <class T>
  bool operator()(const T& a, const T& b) const {
    return same(a, b);
  }
};

/// An element, an error (in its place, or terminal), or (neither) the end.
template <class T>
struct Slot {
  std::optional<T> element;
  std::optional<Error> error;
  bool takes_a_place;
};

template <class T>
Slot<T> take_slot(Iterator<T>& iterator) {
  const std::uint64_t place = iterator.position();
  Slot<T> slot{std::nullopt, std::nullopt, false};
  try {
    slot.element = iterator.next();
  } catch (const Error& error) {
    slot.error = error;
  }
  slot.takes_a_place = iterator.position() > place;
  return slot;
}

/// "an element", "the error '...'", "the end"; numbers and texts as they are.
template <class T>
std::string describe_slot(const Slot<T>& slot) {
  if (!slot.element && !slot.error) return "the end";
  if (slot.error) return std::string("the error '") + slot.error->what() + "'";
  if constexpr (std::is_arithmetic_v<T>) {
    return std::to_string(*slot.element);
  } else if constexpr (std::is_convertible_v<const T&, std::string>) {
    return "'" + std::string(*slot.element) + "'";
  } else {
    return "an element";
  }
}

[[noreturn]] void throw_difference(std::uint64_t resumed_at, std::uint64_t position,
                                   const std::string& got, const std::string& expected);

/// Of the dataset from the start, or from the checkpoint's text.
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

}  // namespace detail

namespace detail {

template <class T>
std::vector<Slot<T>> take_slots(Iterator<T>& iterator, std::uint64_t elements_max) {
  std::vector<Slot<T>> slots;
  while (slots.size() < elements_max) {
    slots.push_back(take_slot(iterator));
    if (!slots.back().takes_a_place) break;
  }
  return slots;
}

template <class T, class Equal>
bool same_slots(const Slot<T>& a, const Slot<T>& b, Equal& equal) {
  return a.element.has_value() == b.element.has_value() &&
         a.error.has_value() == b.error.has_value() &&
         (!a.element || equal(*a.element, *b.element)) &&
         (!a.error ||
          (a.error->code() == b.error->code() && a.error->message() == b.error->message()));
}

/// Goes on from `checkpoint` to the end of what is expected; returns the checkpoint one element
/// behind.
template <class Describe, class T, class Equal>
Checkpoint compare_the_rest(const Describe& describe, const ResumeCheckOptions& options,
                            const Checkpoint& checkpoint, const std::vector<Slot<T>>& expected,
                            Equal& equal) {
  Iterator<T> resumed = iterate(describe(), options, &checkpoint);
  Checkpoint behind = checkpoint;
  for (std::uint64_t at = checkpoint.position; at < expected.size(); ++at) {
    const Slot<T> got = take_slot(resumed);
    if (!same_slots(got, expected[at], equal)) {
      throw_difference(checkpoint.position, at, describe_slot(got), describe_slot(expected[at]));
    }
    if (at == checkpoint.position) behind = resumed.checkpoint();
  }
  return behind;
}

}  // namespace detail

/// `describe` is a function that returns the dataset, described anew at each call. Throws
/// Error(failed_precondition) that names the checkpoint and the first element that differs.
template <class Describe, class Equal = detail::Same>
requires std::is_invocable_v<const Describe&> ResumeReport expect_equal_after_resume(
    const Describe& describe, ResumeCheckOptions options = {}, Equal equal = {}) {
  const auto dataset = describe();
  auto straight = detail::iterate(dataset, options, nullptr);
  Checkpoint checkpoint = straight.checkpoint();
  const auto expected = detail::take_slots(straight, options.elements_max);
  ResumeReport report;
  for (const auto& slot : expected) report.errors += slot.error ? 1 : 0;
  report.end_reached = !expected.empty() && !expected.back().takes_a_place;
  report.elements = expected.size() - (report.end_reached ? 1 : 0);

  auto second = detail::iterate(dataset, options, nullptr);
  for (std::uint64_t resumed_at = 0; resumed_at <= report.elements; ++resumed_at) {
    // That of a second iteration may know less: what a full cache hides, nobody saw again.
    if (const Checkpoint other = second.checkpoint();
        other.position == resumed_at && other != checkpoint) {
      detail::compare_the_rest(describe, options, other, expected, equal);
    }
    // Each is one of an iterator that was itself resumed, as in a run with many crashes.
    checkpoint = detail::compare_the_rest(describe, options, checkpoint, expected, equal);
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
