#include "interleave/inner_stream.h"

#include <algorithm>

#include <infeed/pipeline/philox.h>

#include "engine/iterator_context.h"
#include "engine/recording/note_calls.h"
#include "engine/work/passing_error.h"

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

std::uint64_t OuterInput::drop(std::uint64_t count, Known known) {
  const std::uint64_t dropped = drop_slots(in_, count, known);
  position_ += dropped;
  return count - dropped;
}

InnerStream& InnerStream::operator=(InnerStream&& other) noexcept {
  close();
  node_ = std::move(other.node_);
  position_ = other.position_;
  stage_ = std::move(other.stage_);
  given_ = other.given_;
  given_last_ = other.given_last_;
  known_ = other.known_;
  pulls_one_by_one_ = other.pulls_one_by_one_;
  return *this;
}

void InnerStream::close() {
  stage_ = nullptr;
  node_ = nullptr;
}

std::unique_ptr<Stage> InnerStream::rest_behind(std::uint64_t given) {
  given_ = given;
  given_last_ = 0;
  return std::move(stage_);
}

Pull InnerStream::pull(Chunk& out, std::size_t want) {
  const Pull pulled = stage_->pull(out, pulls_one_by_one_ ? 1 : want);
  if (out.has_error()) known_ = Known::errors;
  given_last_ = out.slots();
  given_ += given_last_;
  return pulled;
}

InnerPlaces InnerStream::places() const {
  if (given_last_ == 0) return {TracedPlace::unknown("there is none"), false};
  const std::uint64_t first = given_ - given_last_;
  InnerPlaces places{stage_->trace(first), given_last_ == 1};
  if (given_last_ == 1 || !places.first.place) return places;
  places.are_neighbours =
      are_neighbours(*places.first.place, given_last_, step_between_looks(given_last_),
                     [&](std::uint64_t i) { return stage_->trace(first + i); });
  return places;
}

std::uint64_t InnerStream::skip(std::uint64_t count, Known known) {
  if (known == Known::errors) known_ = known;
  const std::uint64_t skipped = stage_->skip(count, known);
  given_ += skipped;
  return skipped;
}

NodePointer InnerOpener::describe(Chunk& element) const {
  struct UseUp {
    Chunk& element;
    ~UseUp() { element.clear(); }
  };
  const UseUp use_up{element};
  return datasets_.make(datasets_.function.get(), element.front());
}

InnerStream InnerOpener::open(NodePointer node, std::uint64_t position) const {
  InnerStream stream(std::move(node), position);
  open_again(stream);
  return stream;
}

void InnerOpener::open_again(InnerStream& stream) const {
  constexpr std::uint64_t kSpread = 0x9E3779B97F4A7C15;  // 2^64 / golden ratio
  StageContext context = context_;
  context.input_ordinal = 1;
  if (context.inner.outermost == nullptr) context.inner.outermost = context_.node;
  context.inner.key = Philox(context_.seeds.seed, context_.epoch).word_pair(stream.position_);
  // The passes of this stage and the positions within a pass make different epochs.
  context.set_pass(datasets_.seed_by_position ? stream.position_ + context_.epoch * kSpread : 0);
  std::unique_ptr<Stage> stage = stream.node_->open(context);
  stage->skip(stream.given_, stream.known_);
  stream.stage_ = std::move(stage);
  stream.pulls_one_by_one_ = context.run.traces();
}

}  // namespace infeed::detail
