#include "inner_stream.h"

#include <algorithm>

namespace infeed::detail {

Pull OuterInput::next(Chunk& element, std::uint64_t& position) {
  if (in_.empty()) {
    const Pull pulled = input_->pull(in_, in_.capacity());
    if (pulled != Pull::values) return pulled;
  }
  if (element.append_from(in_, 1) == 0) element.set_error(in_.take_error());
  position = position_++;
  return Pull::values;
}

InnerStream::InnerStream(const InnerOpener& opener, NodePointer node, std::uint64_t position)
    : opener_(&opener),
      node_(std::move(node)),
      stage_(opener.open_stage(*node_, position)),
      position_(position) {}

InnerStream& InnerStream::operator=(InnerStream&& other) noexcept {
  close();
  opener_ = other.opener_;
  node_ = std::move(other.node_);
  stage_ = std::move(other.stage_);
  position_ = other.position_;
  given_ = other.given_;
  return *this;
}

void InnerStream::close() {
  stage_ = nullptr;
  node_ = nullptr;
}

Pull InnerStream::pull(Chunk& out, std::size_t want) {
  if (stage_ == nullptr) return Pull::end;
  Pull pulled = Pull::values;
  try {
    pulled = stage_->pull(out, want);
  } catch (...) {
    out.clear();
    out.set_error(current_error());
    stage_ = nullptr;
  }
  given_ += out.slots();
  return pulled;
}

std::uint64_t InnerStream::skip(std::uint64_t count) {
  if (stage_ == nullptr) return 0;
  try {
    const std::uint64_t skipped = stage_->skip(count);
    given_ += skipped;
    return skipped;
  } catch (...) {
    // Nobody knows how far it came; so once more from the start, and slowly.
    stage_ = nullptr;
    stage_ = opener_->open_stage(*node_, position_);
  }
  const std::uint64_t before = std::exchange(given_, 0);
  Chunk dropped(node_->type());
  while (given_ < before + count) {
    const std::uint64_t missing = before + count - given_;
    const std::size_t want =
        static_cast<std::size_t>(std::min<std::uint64_t>(missing, dropped.capacity()));
    if (pull(dropped, want) != Pull::values) break;
    dropped.clear();
  }
  return given_ - std::min(given_, before);
}

NodePointer InnerOpener::describe(Chunk& element) const {
  struct UseUp {
    Chunk& element;
    ~UseUp() { element.clear(); }
  };
  const UseUp use_up{element};
  return datasets_.make(datasets_.function.get(), element.front());
}

std::unique_ptr<Stage> InnerOpener::open_stage(const Node& node, std::uint64_t position) const {
  constexpr std::uint64_t kSpread = 0x9E3779B97F4A7C15;  // 2^64 / golden ratio
  StageScope scope = scope_;
  scope.input_ordinal = 1;
  scope.outer_position = position;
  // Passes of this stage and positions within one make different epochs.
  scope.set_pass(datasets_.seed_by_position ? position + scope_.epoch * kSpread : 0);
  return node.open(scope);
}

}  // namespace infeed::detail
