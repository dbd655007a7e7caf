#pragma once

#include <cstdint>
#include <memory>
#include <utility>

#include <infeed/pipeline/stage.h>

#include "engine/iterator_context.h"
#include "engine/work/passing_error.h"

namespace infeed::detail {

/// An input that can be asked whether it is over before its next element is wanted. A cache asks
/// when it holds as many elements as the input is known to have. The cardinality alone can't tell,
/// because it leaves out errors that take no element's place (batch hands on such errors beside its
/// rows).
///
/// It also tells whether elements are missing that another pass may give. What is kept without them
/// would lack them long after a server's trouble.
class PeekedInput {
 public:
  /// `consumer`: the cache's counters.
  PeekedInput(std::unique_ptr<Stage> input, const IteratorContext& run,
              const StageCounters& consumer)
      : run_(run),
        consumer_(consumer),
        passing_left_out_before_(passing_left_out()),
        input_(std::move(input)),
        ahead_(input_->type()) {}

  Pull pull(Chunk& out, std::size_t want) {
    if (ahead_.empty()) return input_->pull(out, want);
    if (out.append_from(ahead_, 1) == 0) out.set_error(ahead_.take_error());
    return Pull::values;
  }

  std::uint64_t skip(std::uint64_t count, Known known) {
    if (count == 0 || ahead_.empty()) return input_->skip(count, known);
    return drop_slots(ahead_, 1, known) + input_->skip(count - 1, known);
  }

  TracedPlace trace(std::uint64_t position) const { return input_->trace(position); }
  const Stage& stage() const { return *input_; }

  /// Returns true if a stage has left out an error that may pass. All elements that were pulled
  /// before this was so lie before it.
  bool lacks_elements() const { return passing_left_out() > passing_left_out_before_; }

  /// Returns false also if it is cancelled or fails; the next pull says so again.
  bool is_over() {
    if (!ahead_.empty()) return false;
    try {
      return input_->pull(ahead_, 1) == Pull::end;
    } catch (const Error&) {
      return false;
    }
  }

 private:
  std::uint64_t passing_left_out() const {
    return run_.counters().passing_left_out_before(consumer_);
  }

  const IteratorContext& run_;
  const StageCounters& consumer_;
  const std::uint64_t passing_left_out_before_;  ///< in earlier passes of the run
  const std::unique_ptr<Stage> input_;
  Chunk ahead_;  ///< at most one element
};

}  // namespace infeed::detail
