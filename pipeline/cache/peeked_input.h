#pragma once

#include <memory>
#include <utility>

#include <infeed/pipeline/stage.h>

namespace infeed::detail {

/// An input that can be asked whether it is over before its next element is wanted. A cache asks
/// when it holds as many elements as the input is known to have. The cardinality alone can't tell,
/// because it leaves out errors that take no element's place (batch hands on such errors beside its
/// rows).
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
  const std::unique_ptr<Stage> input_;
  Chunk ahead_;  ///< at most one element
};

}  // namespace infeed::detail
