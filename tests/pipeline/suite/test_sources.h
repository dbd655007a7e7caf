#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <utility>

#include <infeed/pipeline/dataset.h>

#include "engine/iterator_context.h"
#include "pipeline/suite/elements.h"
#include "pipeline/suite/stream.h"

/// Sources and stages that only tests need: they cut chunks in nasty ways, fail where they are told
/// to, and wait until the test lets them go on.
namespace infeed::test {

/// The way in which a source cuts its chunks: no result may depend on it.
struct Cut {
  enum class Kind { as_asked, single, random } kind = Kind::as_asked;
  std::uint64_t seed = 0;
};

/// Lets a gated source go on element by element. One gate serves one source at a time.
///
///     Gate gate;
///     auto iterator = gated<std::int64_t>(slots, gate).iterate();
///     gate.release(3);          // three elements may pass
///     gate.wait_until_asked();  // ... did, and a fourth one is waited for
///
/// Thread-safety: all functions may be called from any thread.
class Gate {
 public:
  /// Lets `count` more elements pass.
  void release(std::uint64_t count);
  /// Waits until the source waits for more than was released.
  void wait_until_asked();
  /// Ends wait_until_asked() for good: nobody will ask any more.
  void consumer_is_done();
  /// Returns the number of living stages of gated sources.
  int stages() const;

  // For the source:
  /// Waits until element `position` may pass. Returns false if the iterator was cancelled.
  bool wait_for(std::uint64_t position, const IteratorContext& run);
  /// Returns the number of elements that may pass so far.
  std::uint64_t released() const;
  void wake();
  void count_stage(int change);

 private:
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::uint64_t released_ = 0;
  bool asked_ = false;
  bool consumer_is_done_ = false;
  int stages_ = 0;
};

namespace internal {

/// Adds the element that stands for a number.
using AppendElement = void (*)(Chunk& out, std::int64_t value);

template <class T>
void append_element(Chunk& out, std::int64_t value) {
  out.append(make_element<T>(value));
}

/// `gate`: null for none.
NodePointer make_listed(const TypeInfo& type, AppendElement append, Slots slots, const Cut& cut,
                        Gate* gate);

template <class T>
NodePointer make_listed(Slots slots, const Cut& cut, Gate* gate) {
  return make_listed(type_info<T>(), &append_element<T>, std::move(slots), cut, gate);
}

NodePointer make_recut(std::uint64_t seed, NodePointer input);

}  // namespace internal

/// Gives the listed elements and errors.
template <class T>
Dataset<T> listed(Slots slots, const Cut& cut = {}) {
  return Dataset<T>(internal::make_listed<T>(std::move(slots), cut, nullptr));
}

/// The same, but each element waits until `gate` lets it pass. The gate must outlive it.
template <class T>
Dataset<T> gated(Slots slots, Gate& gate) {
  return Dataset<T>(internal::make_listed<T>(std::move(slots), {}, &gate));
}

/// 0 .. count-1.
inline Slots plain_slots(std::size_t count) {
  Slots slots(count);
  for (std::size_t i = 0; i < count; ++i) slots[i].value = static_cast<std::int64_t>(i);
  return slots;
}

/// Returns 0 .. count-1, with errors where `fails(i)`.
template <class Fails>
Slots failing_slots(std::size_t count, Fails fails) {
  Slots slots = plain_slots(count);
  for (std::size_t i = 0; i < count; ++i) slots[i].fails = fails(i);
  return slots;
}

/// 0 .. count-1 with an error in the place of number `fails_at`.
inline Dataset<std::int64_t> failing_range(std::size_t count, std::size_t fails_at) {
  return listed<std::int64_t>(failing_slots(count, [=](std::size_t i) { return i == fails_at; }));
}

/// dataset | recut(seed): the same elements in chunks of random sizes.
inline auto recut(std::uint64_t seed) {
  return [seed]<class T>(const Dataset<T>& input) {
    return Dataset<T>(internal::make_recut(seed, input.node()));
  };
}

}  // namespace infeed::test
