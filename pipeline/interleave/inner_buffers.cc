#include "interleave/inner_buffers.h"

#include <algorithm>
#include <utility>

#include "engine/work/elements_in_hand.h"

namespace infeed::detail {
namespace {

constexpr std::size_t kSpareChunksMax = 16;
constexpr std::uint64_t kBytesWhenShort = 4096;

}  // namespace

std::uint64_t InnerBuffers::bytes_each() const {
  return std::max<std::uint64_t>({bytes_per_element_, type_.size, 1});
}

InnerBuffers::Grant InnerBuffers::reserve(const InnerReadAhead& inner) {
  const bool owns_more = type_.payload_bytes_run != nullptr;
  if (owns_more && bytes_per_element_ == 0) return {.want = 1, .held = {}};
  const std::uint64_t each = bytes_each();
  const std::uint64_t room =
      InnerReadAhead::kReadyBytes - std::min(InnerReadAhead::kReadyBytes, inner.ready_bytes);
  const std::uint64_t want = std::clamp<std::uint64_t>(room / each, 1, chunk_capacity(type_));
  for (const std::uint64_t count : {want, std::uint64_t{1}}) {
    HeldBytes held;
    if (held.try_grow_to(run_.memory(), count * each))
      return {.want = static_cast<std::size_t>(count), .held = std::move(held)};
  }
  return {};
}

std::size_t InnerBuffers::elements_when_short() const {
  return static_cast<std::size_t>(
      std::clamp<std::uint64_t>(kBytesWhenShort / bytes_each(), 1, chunk_capacity(type_)));
}

/// While places are kept, each read has a chunk of its own, so that its empty room counts, too: a
/// thousand reads of one element would hold 16 MB beside the account.
std::uint64_t InnerBuffers::bytes_when_ready(const Chunk& chunk) const {
  if (!run_.keeps_places() || chunk.has_error() || chunk.empty()) return bytes_when_kept(chunk);
  return chunk.bytes() + room_bytes(chunk);
}

void InnerBuffers::add(InnerReadAhead& inner, Chunk& chunk, InnerPlaces places) {
  const std::uint64_t elements = chunk.slots();
  const std::uint64_t bytes = chunk.held().bytes();
  if (elements == 0) return;
  const std::uint64_t each = bytes / elements;
  bytes_per_element_ = bytes_per_element_ == 0 ? each : (3 * bytes_per_element_ + each) / 4;
  inner.ready_bytes += bytes;
  inner.ready_elements += elements;
  elements_ += elements;
  bytes_ += bytes;
  publish_level();
  // A recording keeps the places of each read, so its chunks aren't merged.
  const bool may_merge = !run_.keeps_places() && !inner.ready.empty();
  if (run_.keeps_places()) inner.ready_places.push_back(std::move(places));
  Chunk* const last = may_merge ? &inner.ready.back() : nullptr;
  if (last != nullptr && !last->has_error() && last->room() >= chunk.size()) {
    last->held().take_from(chunk.held());
    last->append_from(chunk, chunk.size());
    if (chunk.has_error()) last->set_error(chunk.take_error());
    return;
  }
  inner.ready.push_back(std::move(chunk));
  chunk = take_spare();
}

void InnerBuffers::take(InnerReadAhead& inner, Chunk& out) {
  out.swap(inner.ready.front());
  give_spare(std::move(inner.ready.front()));
  inner.ready.pop_front();
  if (!inner.ready_places.empty()) {
    inner.taken_places = std::move(inner.ready_places.front());
    inner.ready_places.pop_front();
  }
  const std::uint64_t bytes =
      inner.ready.empty() ? inner.ready_bytes : std::min(out.held().bytes(), inner.ready_bytes);
  if (out.has_error() || run_.keeps_places()) out.held().set(run_.memory(), out.bytes());
  inner.ready_bytes -= bytes;
  inner.ready_elements -= out.slots();
  elements_ -= out.slots();
  bytes_ -= bytes;
  publish_level();
}

void InnerBuffers::drop(InnerReadAhead& inner) {
  inner.ready.clear();
  inner.ready_places.clear();
  elements_ -= std::exchange(inner.ready_elements, 0);
  bytes_ -= std::exchange(inner.ready_bytes, 0);
  publish_level();
}

Chunk InnerBuffers::take_spare() {
  if (spare_.empty()) return Chunk(type_);
  Chunk spare = std::move(spare_.back());
  spare_.pop_back();
  return spare;
}

void InnerBuffers::give_spare(Chunk chunk) {
  if (spare_.size() < kSpareChunksMax) spare_.push_back(std::move(chunk));
}

}  // namespace infeed::detail
