#include "infeed/pipeline/range.h"

#include <algorithm>
#include <fmt/format.h>
#include <limits>

#include "engine/number_series.h"
#include "engine/stage_counters.h"

namespace infeed {
namespace {

struct Range {
  std::int64_t start;
  std::int64_t step;
  std::uint64_t count;  ///< elements; the largest number means endless
};

constexpr std::uint64_t kEndless = std::numeric_limits<std::uint64_t>::max();

class RangeStage final : public Stage {
 public:
  RangeStage(const StageContext& context, const Range& range) : Stage(context), range_(range) {}

  Pull do_pull(Chunk& out, std::size_t want) override {
    const std::size_t count =
        static_cast<std::size_t>(std::min<std::uint64_t>(want, range_.count - position_));
    if (count == 0) return Pull::end;
    // Unsigned, since an endless counter may wrap around.
    const std::uint64_t step = static_cast<std::uint64_t>(range_.step);
    const std::uint64_t first = static_cast<std::uint64_t>(range_.start) + position_ * step;
    detail::write_series(first, step, out.back(), count);
    out.grow(count);
    position_ += count;
    return Pull::values;
  }

 protected:
  std::uint64_t do_skip(std::uint64_t count, Known) override {
    count = std::min(count, range_.count - position_);
    position_ += count;
    return count;
  }
  TracedPlace do_trace(std::uint64_t) const override {
    return TracedPlace::unknown(counters().label, "makes its elements itself");
  }
  Pull do_pull_at(Chunk& out, std::span<const std::uint64_t> positions) override {
    auto* const values = static_cast<std::int64_t*>(out.back());
    const std::uint64_t start = static_cast<std::uint64_t>(range_.start);
    const std::uint64_t step = static_cast<std::uint64_t>(range_.step);
    for (std::size_t i = 0; i < positions.size(); ++i) {
      values[i] = static_cast<std::int64_t>(start + positions[i] * step);
    }
    out.grow(positions.size());
    return Pull::values;
  }

 private:
  const Range range_;
  std::uint64_t position_ = 0;
};

class RangeNode final : public Node {
 public:
  RangeNode(std::string name, const Range& range)
      : Node(std::move(name), type_info<std::int64_t>()), range_(range) {}

  std::string signature() const override {
    return fmt::format("{}(start={}, step={}, count={})", name(), range_.start, range_.step,
                       range_.count == kEndless ? "endless" : std::to_string(range_.count));
  }
  Cardinality cardinality() const override {
    return range_.count == kEndless ? Cardinality::infinite() : Cardinality::finite(range_.count);
  }
  bool is_indexable() const override { return range_.count != kEndless; }

 protected:
  std::unique_ptr<Stage> make_stage(const StageContext& context) const override {
    return std::make_unique<RangeStage>(context, range_);
  }

 private:
  const Range range_;
};

std::uint64_t count_of(std::int64_t start, std::int64_t stop, std::int64_t step) {
  if (step > 0 ? start >= stop : start <= stop) return 0;
  // Differences of signed numbers can overflow; those of unsigned numbers are exact.
  const std::uint64_t low = static_cast<std::uint64_t>(step > 0 ? start : stop);
  const std::uint64_t high = static_cast<std::uint64_t>(step > 0 ? stop : start);
  const std::uint64_t size = step > 0 ? static_cast<std::uint64_t>(step)
                                      : std::uint64_t{0} - static_cast<std::uint64_t>(step);
  return (high - low - 1) / size + 1;
}

}  // namespace

Dataset<std::int64_t> range(std::int64_t start, std::int64_t stop, std::int64_t step,
                            StageOptions options) {
  if (step == 0) {
    throw Error(ErrorCode::invalid_argument,
                "range: step is 0; give a step that gets from start to stop");
  }
  return Dataset<std::int64_t>(detail::named(
      std::make_shared<RangeNode>("range", Range{start, step, count_of(start, stop, step)}),
      options.name));
}

Dataset<std::int64_t> counter(std::int64_t start, std::int64_t step, StageOptions options) {
  return Dataset<std::int64_t>(detail::named(
      std::make_shared<RangeNode>("counter", Range{start, step, kEndless}), options.name));
}

}  // namespace infeed
