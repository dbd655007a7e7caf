#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <optional>
#include <utility>

#include <infeed/communicator.h>
#include <infeed/error.h>

/// Why: where hosts read streams of lengths that only reading shows (a filter behind the shard, other
/// files at each host), one of them is over first, and the others would wait in their next all-reduce
/// for ever. So all agree before each step, by one small exchange.
///
///     auto batches = column_batches.iterate();
///     infeed::EqualSteps<infeed::ColumnBatch> steps([&] { return batches.next(); }, *ranks,
///                                                   infeed::StepsEnd::with_last);
///     while (auto step = steps.next()) use(step->batch);  // it has no value where there are no rows
///
/// Where the length is known, whole_batches() (share.h) needs no exchange.
namespace infeed {

enum class StepsEnd : std::uint8_t {
  with_first,  ///< the epoch ends when a host's data is over; batches that others have are dropped
  with_last,   ///< it goes on until all are over; those that are over take part without rows
};

namespace detail {

/// This rank's part in a step.
enum class StepPart : std::uint8_t { has_rows, is_over, has_failed };

/// Tells the others, and returns true if all take the step. Throws Error(cancelled) if another rank
/// has failed, and names it.
bool agree_on_step(Communicator& communicator, std::uint64_t step, StepPart part,
                   const std::string& failure, StepsEnd end);

}  // namespace detail

/// Takes steps that all ranks take. Thread-safety: one thread at a time, as for the communicator.
template <class T>
class EqualSteps {
 public:
  struct Step {
    std::optional<T> batch;  ///< empty: this rank's data is over, but the step is taken
  };

  /// `next` returns the next batch of this rank, or nothing when it is over.
  EqualSteps(std::function<std::optional<T>()> next, Communicator& communicator, StepsEnd end)
      : next_(std::move(next)), communicator_(communicator), end_(end) {}

  /// Returns nothing when the epoch is over, at all ranks at once. An exception of `next` reaches its
  /// caller; the other ranks' calls throw Error(cancelled) that names the rank and the reason.
  std::optional<Step> next() {
    if (is_ended_) return std::nullopt;
    std::optional<T> batch;
    try {
      if (!is_over_) batch = next_();
    } catch (const std::exception& error) {
      is_ended_ = true;
      tell_failure(error.what());
      throw;
    }
    is_over_ = !batch;
    const auto part = is_over_ ? detail::StepPart::is_over : detail::StepPart::has_rows;
    is_ended_ = !detail::agree_on_step(communicator_, step_, part, {}, end_);
    if (is_ended_) return std::nullopt;
    ++step_;
    return Step{std::move(batch)};
  }

  /// Returns the number of steps taken.
  std::uint64_t steps() const { return step_; }

 private:
  void tell_failure(const std::string& what) {
    try {
      detail::agree_on_step(communicator_, step_, detail::StepPart::has_failed, what, end_);
    } catch (const Error&) {
      // The caller gets the error that came first.
    }
  }

  const std::function<std::optional<T>()> next_;
  Communicator& communicator_;
  const StepsEnd end_;
  std::uint64_t step_ = 0;
  bool is_over_ = false;
  bool is_ended_ = false;
};

}  // namespace infeed
