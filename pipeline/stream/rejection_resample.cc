#include "infeed/pipeline/rejection_resample.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <numeric>

#include <infeed/pipeline/errors_in_flight.h>
#include <infeed/pipeline/hand_over.h>
#include <infeed/pipeline/philox.h>

#include "engine/work/passing_error.h"

namespace infeed::detail {
namespace {

/// Separates the random numbers from those of a map with the same seed: whether an element is kept
/// must be independent of how the map's function changes it.
constexpr std::uint64_t kResampleKey = 0x5265736D706C6521;

struct ResampleFunction {
  std::shared_ptr<const void> function;
  std::int64_t (*class_of)(const void* function, const void* element);
};

/// The probability that an element of a class is kept: its ratio of target to initial share,
/// divided by the greatest ratio. Counts can replace shares, since all classes divide by the same
/// total.
class Acceptance {
 public:
  explicit Acceptance(const ResampleOptions& options)
      : estimated_(options.initial.empty()), target_(options.target), ratio_(options.target) {
    if (estimated_) {
      seen_.assign(target_.size(), 1);
    } else {
      for (std::size_t c = 0; c < ratio_.size(); ++c) {
        if (ratio_[c] > 0) ratio_[c] /= options.initial[c];
      }
    }
    find_greatest();
  }

  std::size_t classes() const { return target_.size(); }
  /// The elements seen of each class, plus 1; empty if the shares are given.
  const std::vector<std::uint64_t>& seen() const { return seen_; }
  void go_on_from(const std::vector<std::uint64_t>& seen) {
    seen_ = seen;
    for (std::size_t c = 0; c < seen_.size(); ++c) {
      if (seen_[c] > 1) ratio_[c] = target_[c] / static_cast<double>(seen_[c]);
    }
    find_greatest();
  }

  /// Returns the probability for the next element, which has class `c`.
  double of_next(std::size_t c) {
    if (estimated_) {
      ratio_[c] = target_[c] / static_cast<double>(++seen_[c]);
      // Ratios only fall, so another one can become the greatest only if this one was.
      if (c == greatest_) find_greatest();
    }
    return ratio_[c] / ratio_[greatest_];
  }

 private:
  void find_greatest() {
    const auto greatest = std::max_element(ratio_.begin(), ratio_.end());
    greatest_ = static_cast<std::size_t>(greatest - ratio_.begin());
  }

  const bool estimated_;
  const std::vector<double> target_;
  std::vector<double> ratio_;
  std::size_t greatest_ = 0;
  std::vector<std::uint64_t> seen_;
};

class RejectionResampleStage final : public Stage, public Bookmarked {
 public:
  RejectionResampleStage(const StageContext& context, ResampleFunction function,
                         const ResampleOptions& options, const UnshardedPositions& positions,
                         std::unique_ptr<Stage> input)
      : Stage(context),
        Bookmarked(context),
        function_(std::move(function)),
        key_(context.seeds.seed ^ kResampleKey),
        positions_(positions),
        acceptance_(options),
        input_(std::move(input)),
        in_(type()) {}

  Pull do_pull(Chunk& out, std::size_t want) override {
    while (true) {
      if (in_.empty()) {
        std::size_t ask = in_.capacity();
        if (every() != 0) {
          if (position_ % every() == 0 && position() > 0)
            note_bookmark(position(), std::array{position_}, acceptance_.seen());
          ask =
              static_cast<std::size_t>(std::min<std::uint64_t>(ask, every() - position_ % every()));
        }
        const Pull pulled = input_->pull(in_, ask);
        if (pulled != Pull::values) return pulled;
      }
      take_from_input(out, want);
      // Hands over even a single element: the next input may take long.
      if (!out.empty()) return Pull::values;
      if (cancelled()) return Pull::cancelled;
    }
  }

  /// The state: how many elements of each class were seen, if the shares are estimated.
  bool go_to(const Bookmark& bookmark, Known known) override {
    const std::uint64_t read = position_ + in_.slots();
    if (bookmark.inputs.size() != 1 || bookmark.state.size() != acceptance_.seen().size())
      throw bad_bookmark();
    if (bookmark.inputs[0] < read) return false;
    if (!pass_over(*input_, bookmark.inputs[0] - read, known)) return false;
    drop_slots(in_, in_.slots(), known);
    position_ = bookmark.inputs[0];
    acceptance_.go_on_from(bookmark.state);
    return true;
  }
  TracedPlace do_trace(std::uint64_t position) const override { return Stage::do_trace(position); }

 private:
  /// Takes elements until `out` is full or due, the input is used up, or an error came.
  void take_from_input(Chunk& out, std::size_t want) {
    HandOver hand_over;
    while (in_.size() > 0 && out.size() < want && !cancelled()) {
      ErrorPointer error;
      if (is_kept(in_.front(), error)) {
        out.append_from(in_, 1);
      } else {
        type().destroy(in_.front(), 1);
        in_.drop_front(1);
      }
      ++position_;
      if (error != nullptr) return out.set_error(std::move(error));
      if (!out.empty() && hand_over.is_due()) return;
    }
    if (in_.size() == 0 && in_.has_error() && out.size() < want) {
      ++position_;
      out.set_error(in_.take_error());
    }
  }

  /// Returns true if the element is kept. Returns false with `error` set if its class can't be
  /// told.
  bool is_kept(const void* element, ErrorPointer& error) {
    std::int64_t of_class = 0;
    try {
      of_class = function_.class_of(function_.function.get(), element);
    } catch (...) {
      error = current_error();
      return false;
    }
    if (of_class < 0 || static_cast<std::uint64_t>(of_class) >= acceptance_.classes()) {
      error = std::make_shared<const Error>(no_such_class(of_class));
      return false;
    }
    return drawn() < acceptance_.of_next(static_cast<std::size_t>(of_class));
  }

  Error no_such_class(std::int64_t of_class) const {
    return Error(
        ErrorCode::invalid_argument,
        fmt::format("rejection_resample: class_of gave class {}, but target has {} "
                    "class{} (0 to {}); give target a share for each class, or filter such "
                    "elements out before",
                    of_class, acceptance_.classes(), acceptance_.classes() == 1 ? "" : "es",
                    acceptance_.classes() - 1));
  }

  /// Returns 0 <= x < 1 with 53 random bits, since shares may be small.
  double drawn() const {
    Rng rng(key_, epoch(), positions_.of(position_));
    const std::uint64_t low = rng();
    const std::uint64_t bits = (std::uint64_t{rng()} << 32 | low) >> 11;
    return static_cast<double>(bits) * 0x1p-53;
  }

  const ResampleFunction function_;
  const std::uint64_t key_;
  const UnshardedPositions positions_;
  Acceptance acceptance_;
  const std::unique_ptr<Stage> input_;
  Chunk in_;
  std::uint64_t position_ = 0;  ///< position in the input of the first element in in_
};

class RejectionResampleNode final : public Node {
 public:
  RejectionResampleNode(const ResampleOptions& options, ResampleFunction function,
                        const Seeds& seeds, NodePointer input)
      : Node("rejection_resample", input->type(), {input}),
        options_(options),
        function_(std::move(function)),
        seeds_(seeds) {}

  std::string signature() const override { return signature_with(seeds_); }
  std::optional<Seeds> seeds() const override { return seeds_; }
  std::string signature_with(const Seeds& seeds) const override {
    const std::string initial = options_.initial.empty()
                                    ? ""
                                    : fmt::format("initial={}, ", fmt::join(options_.initial, " "));
    return fmt::format("rejection_resample(target={}, {}seed={})", fmt::join(options_.target, " "),
                       initial, seeds.seed);
  }
  StageTraits traits() const override { return {.begins = Begins::at_bookmarks}; }
  Cardinality cardinality() const override { return input().cardinality().unknown_unless_empty(); }
  std::uint64_t element_bytes_min() const override { return input().element_bytes_min(); }

 protected:
  std::unique_ptr<Stage> make_stage(const StageContext& context) const override {
    return std::make_unique<RejectionResampleStage>(
        context, function_, options_, input().unsharded_positions(), input().open(context));
  }

 private:
  const ResampleOptions options_;
  const ResampleFunction function_;
  const Seeds seeds_;
};

[[noreturn]] void refuse_shares(const std::string& why) {
  throw Error(ErrorCode::invalid_argument, "rejection_resample: " + why);
}

void check_shares(const char* name, const std::vector<double>& shares) {
  for (std::size_t c = 0; c < shares.size(); ++c) {
    if (std::isfinite(shares[c]) && shares[c] >= 0) continue;
    refuse_shares(
        fmt::format("{}[{}] is {}; give each class a share from 0 to 1", name, c, shares[c]));
  }
  const double sum = std::accumulate(shares.begin(), shares.end(), 0.0);
  // A loose limit, so that rounded shares are accepted; only their ratios matter.
  if (std::abs(sum - 1) > 0.01 + 1e-9) {
    refuse_shares(
        fmt::format("the shares of {} [{}] add up to {:.6g}; they must add up to 1 "
                    "(divide each by their sum)",
                    name, fmt::join(shares, ", "), sum));
  }
}

void check_resample(const ResampleOptions& options) {
  if (options.target.empty()) {
    refuse_shares("target is empty; give the share of each class, such as {.target = {0.5, 0.5}}");
  }
  check_shares("target", options.target);
  if (options.initial.empty()) return;
  if (options.initial.size() != options.target.size()) {
    refuse_shares(
        fmt::format("initial has {} and target {} shares; give both one for each class, "
                    "or leave initial out to have it estimated",
                    options.initial.size(), options.target.size()));
  }
  check_shares("initial", options.initial);
  for (std::size_t c = 0; c < options.target.size(); ++c) {
    if (options.initial[c] > 0 || options.target[c] == 0) continue;
    refuse_shares(
        fmt::format("initial[{0}] is 0, but target[{0}] is {1}: a class that never comes "
                    "can't have a share; make target[{0}] 0, or initial[{0}] what it is",
                    c, options.target[c]));
  }
}

}  // namespace

NodePointer make_rejection_resample(
    const ResampleOptions& options, std::shared_ptr<const void> function,
    std::int64_t (*class_of)(const void* function, const void* element), NodePointer input) {
  check_resample(options);
  const Seeds seeds = given_or_random(options.seed);
  return std::make_shared<RejectionResampleNode>(
      options, ResampleFunction{std::move(function), class_of}, seeds, std::move(input));
}

}  // namespace infeed::detail
