#include "infeed/pipeline/stage.h"

#include <algorithm>
#include <fmt/format.h>

#include <infeed/detail/terminal_error.h>
#include <infeed/pipeline/philox.h>

#include "engine/iterator_context.h"
#include "engine/recording/note_calls.h"
#include "engine/statistics/pull_sample.h"
#include "engine/threads/clock.h"
#include "engine/work/passing_error.h"

namespace infeed {
namespace {

// Among pulls that take next to no time, one in this number is counted for all. Counting each would
// be half of the recording's cost if an element takes a nanosecond.
constexpr std::uint64_t kBriefPullsEach = 32;

// Stages pull, open, skip and are destroyed recursively. A pull of a map takes 430 bytes of the stack
// (2 KiB with AddressSanitizer), and threads have 8 MiB, or 2 MiB where the stack has no limit.
constexpr int kStagesInARowMax = 3200;

/// Returns the number of pulls that this one counts for; 0 if it isn't counted. One brief pull in
/// kBriefPullsEach counts: if its number times 2^32 / golden ratio, modulo 2^32, is low. Such numbers
/// are spread evenly, so each kind of pull gets its share whatever the pattern (values, end, values,
/// end).
std::uint64_t counts_for(std::uint64_t pull, bool is_brief) {
  if (!is_brief || pull == 0) return 1;
  constexpr std::uint32_t kSpread = 0x9E3779B1;
  constexpr auto kBelow = static_cast<std::uint32_t>((std::uint64_t{1} << 32) / kBriefPullsEach);
  return static_cast<std::uint32_t>(pull) * kSpread < kBelow ? kBriefPullsEach : 0;
}

/// Sets the stage of the error. It arose in the first stage that hands it over.
void name_stage_of_error(Chunk& out, const detail::StageCounters& counters) {
  Error error = *out.take_error();
  error.at_stage(counters.path());
  out.set_error(std::make_shared<const Error>(std::move(error)));
}

ErrorPointer terminal_error_of(const detail::StageCounters& counters) {
  const ErrorPointer error = detail::terminal_error();
  if (!error->stage().empty()) return error;
  Error named = *error;
  named.at_stage(counters.path());
  return std::make_shared<const Error>(std::move(named));
}

/// Gives a stage of an inner dataset the key of its place, and seeds by that key if its own were
/// drawn.
void key_by_place(StageContext& context, std::uint64_t input_ordinal) {
  const Philox numbers(context.inner.key, input_ordinal);
  context.inner.key = numbers.word_pair(0);
  if (!context.seeds.drawn) return;
  const bool draws = !context.seeds.inner;
  context.seeds.seed = numbers.word_pair(1) | 1;
  context.seeds.seed2 = numbers.word_pair(2);
  if (draws) context.run.seeds().note_inner_draws(*context.inner.outermost);
}

/// Returns how many elements own kChunkPayloadBytesMax elsewhere if they are as large as recent
/// ones, and at most `want`. Whoever holds a chunk holds all of it, and a chunk has room for 500
/// strings, however long they are.
std::size_t bounded_by_payload(const detail::StageCounters& counters, std::size_t want) {
  const std::uint64_t each = counters.payload_each.load(std::memory_order_relaxed);
  if (each == 0) return 1;
  return static_cast<std::size_t>(
      std::clamp<std::uint64_t>(detail::kChunkPayloadBytesMax / each, 1, want));
}

/// Estimates the bytes that an element owns elsewhere, by a few elements spread over the chunk.
std::uint64_t payload_of_each(const Chunk& out) {
  constexpr std::size_t kLooks = 8;
  const std::size_t step = (out.size() + kLooks - 1) / kLooks;
  std::uint64_t bytes = 0;
  std::uint64_t looks = 0;
  for (std::size_t i = 0; i < out.size(); i += step, ++looks) {
    bytes += out.type().payload_bytes_run(out.value(i), 1);
  }
  return bytes / looks;
}

/// Remembers how large elements are, for the next pull. If sizes vary, the next elements may be as
/// large as the largest recent ones. A chunk of more than kChunkPayloadBytesMax counts in the
/// account from here on; smaller chunks are too many and too small to count. Looking at a batch of
/// strings takes a nanosecond a row, so small elements are looked at in one pull of eight.
void note_payload(detail::StageCounters& counters, MemoryAccount& memory, Chunk& out) {
  constexpr std::uint64_t kLookedAt = 8;
  const std::size_t size = out.size();
  if (size == 0) return;
  const auto payload = [&](std::size_t first, std::size_t count) -> std::uint64_t {
    return out.type().payload_bytes_run(out.value(first), count);
  };
  const std::uint64_t before = counters.payload_each.load(std::memory_order_relaxed);
  const bool are_small = before != 0 && 4 * before * size < detail::kChunkPayloadBytesMax;
  // A source ends its chunk after a large element, however many small ones come before it.
  const bool ends_large = size > 1 && payload(size - 1, 1) > detail::kChunkPayloadBytesMax;
  const bool is_due = counters.pulls.load(std::memory_order_relaxed) % kLookedAt == 0;
  if (are_small && !ends_large && !is_due) return;
  std::uint64_t bytes = out.held().bytes();
  if (bytes == 0) {
    bytes = ends_large ? payload(0, size) : payload_of_each(out) * size;
    if (bytes > detail::kChunkPayloadBytesMax) out.held().set(memory, payload(0, size));
  }
  counters.payload_each.store(std::max(bytes / size + 1, before - before / 16),
                              std::memory_order_relaxed);
}

}  // namespace

/// Counts the time for `pulls` pulls, and notes the pull if it was slow. Only called if the iterator
/// records.
[[gnu::noinline]] void Stage::note_own_time(const detail::OwnTime& time, std::uint64_t pulls,
                                            std::uint64_t position, std::uint64_t count) {
  detail::Recorder& recorder = *run_.recorder();
  if (!counters_->has_own_calls.load(std::memory_order_relaxed))
    counters_->note_calls(recorder.clock().ns_of(time, calls_), pulls * calls_, shares_counters_);
  if (!recorder.clock().is_slow(time)) return;
  recorder.note_slow(*counters_, time, {epoch_, position, count},
                     count == 0 ? TracedPlace::unknown("it gave nothing: the end of a pass")
                                : detail::trace_range(*this, position, count));
}

template <class DoPull>
Pull Stage::counted(Chunk& out, std::uint64_t position, DoPull pull) {
  if (run_.cancelled()) return Pull::cancelled;
  if (failure_ != nullptr) throw Error(*failure_);
  using Counters = detail::StageCounters;
  const Counters::Inside inside(*counters_, shares_counters_);
  detail::PullSample sample(*counters_, sample_stride_);
  const std::uint64_t begin = detail::ticks_now();
  counters_->pull_begin_ticks.store(begin, std::memory_order_relaxed);
  // This does what a CallWatch does, which would cost twice as much here.
  detail::Recorder* const recorder = run_.recorder();
  detail::WatchedThread* const thread =
      recorder == nullptr ? nullptr : recorder->threads().this_thread(begin);
  detail::WatchedThread::Before before{};
  if (thread != nullptr) before = thread->enter(*counters_, begin);
  Pull pulled = Pull::values;
  try {
    pulled = pull();
  } catch (...) {
    failure_ = terminal_error_of(*counters_);
  }
  const std::uint64_t end = detail::ticks_now();
  detail::OwnTime own;
  if (thread != nullptr) own = thread->leave(before, begin, end);
  if (run_.cancelled()) {
    // The cancellation may have cut an input short, and the stage may take that for its end.
    out.clear();
    return Pull::cancelled;
  }
  // Elements before the failure are handed over first.
  if (failure_ != nullptr && out.empty()) throw Error(*failure_);
  if (thread != nullptr) {
    const std::uint64_t pulls = counts_for(counters_->pulls.load(std::memory_order_relaxed),
                                           recorder->clock().is_brief(own));
    if (pulls != 0) [[unlikely]]
      note_own_time(own, pulls, position, out.slots());
  }
  const std::uint64_t ticks = end - begin - (sample.is_taken() ? sample.overhead_ticks() : 0);
  counters_->note_pull(ticks, out.slots(), shares_counters_);
  if (sample.is_taken()) sample.note_elements(out);
  if (out.has_error()) {
    Counters::add(counters_->errors, 1);
    if (out.error()->stage().empty()) {
      Counters::add(counters_->errors_arisen, 1);
      name_stage_of_error(out, *counters_);
    }
  }
  return pulled;
}

Pull Stage::pull(Chunk& out, std::size_t want) {
  const bool owns_more = type_->payload_bytes_run != nullptr;
  if (owns_more) want = bounded_by_payload(*counters_, want);
  const Pull pulled = counted(out, position_, [&] { return do_pull(out, want); });
  position_ += out.slots();
  if (owns_more) note_payload(*counters_, run_.memory(), out);
  return pulled;
}

const std::string& Stage::label() const { return counters_->label; }

TracedPlace Stage::do_trace(std::uint64_t) const {
  return TracedPlace::unknown(counters_->label,
                              "doesn't tell which records its elements are made of");
}

std::uint64_t Stage::skip(std::uint64_t count, Known known) {
  if (count == 0) return 0;
  if (failure_ != nullptr) throw Error(*failure_);
  const detail::StageCounters::Inside inside(*counters_, shares_counters_);
  std::uint64_t skipped = 0;
  const std::uint64_t position_before = position_;
  try {
    if (!std::exchange(has_looked_, true) && !shares_counters_)
      bookmark_ = run_.bookmarks().adopted(*counters_, epoch_);
    if (bookmark_ != nullptr && bookmark_->given > position_ &&
        bookmark_->given - position_ <= count) {
      skipped = detail::go_to_bookmark(*this, position_, *std::exchange(bookmark_, nullptr), known);
      position_ += skipped;
    }
    if (skipped < count && !run_.cancelled()) skipped += do_skip(count - skipped, known);
  } catch (...) {
    failure_ = terminal_error_of(*counters_);
    throw Error(*failure_);
  }
  // A locked addition would wait for the caller's stores: a shuffle that resumes skips between
  // elements that it stores at random.
  using Counters = detail::StageCounters;
  if (shares_counters_) {
    Counters::add(counters_->skipped, skipped);
  } else {
    Counters::add_alone(counters_->skipped, skipped);
  }
  position_ = position_before + skipped;  // whether do_skip() pulled or not
  return skipped;
}

Pull Stage::pull_at(Chunk& out, std::span<const std::uint64_t> positions) {
  return counted(out, positions.front(), [&] { return do_pull_at(out, positions); });
}

Pull Stage::do_pull_at(Chunk&, std::span<const std::uint64_t>) {
  throw Error(ErrorCode::internal, "pull_at was asked of a stage that has no random access");
}

std::uint64_t Stage::do_skip(std::uint64_t count, Known known) {
  Chunk dropped(*type_);
  std::uint64_t skipped = 0;
  while (skipped < count) {
    const std::uint64_t want = std::min<std::uint64_t>(dropped.capacity(), count - skipped);
    if (pull(dropped, static_cast<std::size_t>(want)) != Pull::values) break;
    skipped += detail::drop_slots(dropped, dropped.slots(), known);
  }
  return skipped;
}

bool Stage::cancelled() const { return run_.cancelled(); }

MemoryAccount& Stage::memory() const { return run_.memory(); }

void Stage::note_buffered(std::uint64_t elements, std::uint64_t bytes) const {
  counters_->buffered.set(elements, bytes);
}

void Stage::note_count(std::size_t own, std::uint64_t amount) const {
  detail::StageCounters::add(counters_->own.at(own), amount);
}

Node::Node(std::string name, const TypeInfo& type, std::vector<NodePointer> inputs)
    : name_(std::move(name)), type_(&type), inputs_(std::move(inputs)) {
  for (const NodePointer& input : inputs_) {
    stages_in_a_row_ = std::max(stages_in_a_row_, input->stages_in_a_row_ + 1);
  }
  if (stages_in_a_row_ <= kStagesInARowMax) return;
  throw Error(
      ErrorCode::invalid_argument,
      fmt::format("{}: it would be stage {} in a row, and {} is the limit, since each stage pulls "
                  "the one before it on the same stack; let one stage do what many do: flat_map() "
                  "over a list instead of many concatenate(), one map() that calls all functions",
                  name_, stages_in_a_row_, kStagesInARowMax));
}

std::optional<std::uint64_t> Node::input_taken(std::uint64_t) const { return std::nullopt; }

StreamPlace Node::input_resumed(std::size_t input, const ResumedStage& stage) const {
  const bool has_bookmark = stage.bookmark != nullptr && input < stage.bookmark->inputs.size();
  return stage.place.at(has_bookmark ? stage.bookmark->inputs[input] : 0);
}

bool Node::rests_on_a_promise() const {
  return std::any_of(inputs_.begin(), inputs_.end(),
                     [](const NodePointer& input) { return input->rests_on_a_promise(); });
}

std::string Node::described() const {
  return given_name_.empty() ? name_ : fmt::format("{} '{}'", name_, given_name_);
}

NodePointer detail::named(NodePointer node, const StageName& name) {
  if (!name) return node;
  constexpr std::size_t kNameCharactersMax = 64;
  const auto refuse = [&](const std::string& what) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("{}: its name {}; give 1 to {} printable ASCII characters, or no name",
                            node->name(), what, kNameCharactersMax));
  };
  if (name->empty()) refuse("is empty");
  if (name->size() > kNameCharactersMax) refuse(fmt::format("has {} characters", name->size()));
  for (std::size_t i = 0; i < name->size(); ++i) {
    const auto byte = static_cast<unsigned char>((*name)[i]);
    if (byte < 0x20 || byte > 0x7e) refuse(fmt::format("has the byte 0x{:02x} at {}", byte, i));
  }
  node->given_name_ = *name;
  return node;
}

std::unique_ptr<Stage> Node::open(const StageContext& consumer) const {
  StageContext context = consumer;
  context.counters =
      &consumer.run.counters().of_stage(*this, consumer.counters, consumer.input_ordinal);
  context.input_ordinal = 0;
  context.type = type_;
  context.node = this;
  context.seeds = consumer.run.seeds().of(*this);
  if (context.inner.outermost != nullptr) key_by_place(context, consumer.input_ordinal);
  return make_stage(context);
}

NodePointer detail::of_type(NodePointer node, const TypeInfo& type) {
  // Two libraries of one program may each have a TypeInfo of the type, so equal names will do.
  if (node != nullptr && &node->type() != &type && node->type().name != type.name) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("Dataset<{}>: the elements of the node '{}' are {}; make a Dataset of "
                            "that type",
                            type.name, node->name(), node->type().name));
  }
  return node;
}

}  // namespace infeed
