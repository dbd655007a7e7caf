#include "infeed/pipeline/slices.h"

#include <algorithm>
#include <fmt/format.h>

#include "engine/copy_values.h"
#include "engine/stage_counters.h"
#include "sources/slices_of_files.h"

namespace infeed::detail {
namespace {

class SlicesStage final : public Stage {
 public:
  SlicesStage(const StageContext& context, const SlicesSpec& spec)
      : Stage(context), spec_(spec), values_(spec.values), count_(spec.count) {}

  Pull do_pull(Chunk& out, std::size_t want) override {
    const std::size_t count = std::min(want, count_ - position_);
    if (count == 0) return Pull::end;
    const auto* const first = static_cast<const std::byte*>(values_.get());
    position_ += append_copies(out, first + position_ * type().size, count);
    return Pull::values;
  }

 protected:
  std::uint64_t do_skip(std::uint64_t count, Known) override {
    count = std::min<std::uint64_t>(count, count_ - position_);
    position_ += static_cast<std::size_t>(count);
    return count;
  }
  TracedPlace do_trace(std::uint64_t position) const override {
    if (spec_.file_of == nullptr) {
      return TracedPlace::unknown(counters().label, "has its elements in memory, not in a file");
    }
    if (position >= count_) return TracedPlace::unknown(label(), "has ended before");
    return {RecordPlace{.file = spec_.file_of(static_cast<std::size_t>(position))}, {}};
  }
  Pull do_pull_at(Chunk& out, std::span<const std::uint64_t> positions) override {
    const auto* const first = static_cast<const std::byte*>(values_.get());
    for (const std::uint64_t position : positions) {
      append_copies(out, first + position * type().size, 1);
      if (out.has_error()) break;
    }
    return Pull::values;
  }

 private:
  const SlicesSpec& spec_;  ///< belongs to the node, which outlives its stages
  const std::shared_ptr<const void> values_;
  const std::size_t count_;
  std::size_t position_ = 0;
};

class SlicesNode final : public Node {
 public:
  SlicesNode(SlicesSpec spec, std::function<std::string()> signature)
      : Node(spec.name, *spec.type), spec_(std::move(spec)), signature_(std::move(signature)) {}

  std::string signature() const override { return signature_(); }
  Cardinality cardinality() const override { return Cardinality::finite(spec_.count); }
  bool is_indexable() const override { return true; }

 protected:
  std::unique_ptr<Stage> make_stage(const StageContext& context) const override {
    return std::make_unique<SlicesStage>(context, spec_);
  }

 private:
  const SlicesSpec spec_;
  const std::function<std::string()> signature_;
};

}  // namespace

NodePointer make_slices(SlicesSpec spec, std::function<std::string()> signature) {
  return std::make_shared<SlicesNode>(std::move(spec), std::move(signature));
}

NodePointer make_slices(SlicesSpec spec) {
  std::string signature = std::move(spec.signature);
  return make_slices(std::move(spec), [signature = std::move(signature)] { return signature; });
}

std::string slices_signature(std::size_t count, std::uint32_t fingerprint) {
  return fmt::format("slices(count={}, crc32c={:08x})", count, fingerprint);
}

}  // namespace infeed::detail
