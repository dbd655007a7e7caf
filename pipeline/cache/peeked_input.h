#pragma once

#include <memory>
#include <utility>

#include <infeed/pipeline/stage.h>

namespace infeed::detail {

/// An input that can be asked whether it is over before anybody wants its next element. A cache
/// asks when it holds as many elements as the input is known to have: a cardinality leaves out the
/// errors that take no element's place (batch hands them on beside its rows), so it can't tell.
class PeekedInput {
 public:
  explicit PeekedInput(std::unique_ptr<Stage> input)
      : input_(std::move(input)), ahead_(input_->type()) {}

  Pull pull(Chunk& out, std::size_t want) {
    if (ahead_.empty()) return input_->pull(out, want);
    if (out.append_from(ahead_, 1) == 0) out.set_error(ahead_.take_error());
    return Pull::values;
  }

  std::uint64_t skip(std::uint64_t count, Known known) {
    if (count == 0 || ahead_.empty()) return input_->skip(count, known);
    ahead_.clear();
    return 1 + input_->skip(count - 1, known);
  }

  TracedPlace trace(std::uint64_t position) const { return input_->trace(position); }
  const Stage& stage() const { return *input_; }

  /// False when it is cancelled or fails, too; the next pull says so again.
  bool is_over() {
    if (!ahead_.empty()) return false;
    try {
      return input_->pull(ahead_, 1) == Pull::end;
    } catch (const Error&) {
      return false;
    }
  }

 private:
  const std::unique_ptr<Stage> input_;
  Chunk ahead_;  ///< at most one element
};

}  // namespace infeed::detail
