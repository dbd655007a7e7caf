#include "shuffle/shuffle.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <fmt/format.h>
#include <limits>

#include <infeed/pipeline/detail/held_bytes.h>
#include <infeed/pipeline/detail/seeds.h>
#include <infeed/pipeline/shuffle.h>

#include "engine/buffer_bytes.h"
#include "engine/iterator_context.h"
#include "engine/move_values.h"
#include "shuffle/shuffle_slots.h"

namespace infeed::detail {
namespace {

constexpr std::uint64_t kUnknown = std::numeric_limits<std::uint64_t>::max();

class ShuffleStage final : public Stage {
 public:
  ShuffleStage(const StageContext& context, const ShuffleOptions& options, const Seeds& seeds,
               const Node& input)
      : Stage(context),
        input_context_(context_of_input(context)),
        node_(input),
        buffer_(options.buffer),
        modulo_(static_cast<std::uint32_t>(std::min<std::uint64_t>(buffer_, UINT32_MAX))),
        words_(pass_generator(seeds, context.passes_opened, options.reshuffle_each_iteration)),
        input_(input.open(input_context_)),
        in_(type()),
        slots_(memory(), type(), std::min(buffer_, length_of(input)),
               length_of(input) != kUnknown) {}

  ~ShuffleStage() override {
    for (std::uint64_t position = start_; position < end_; ++position) {
      slots_.destroy(position % buffer_);
    }
    note_buffered(0, 0);
  }

  Pull do_pull(Chunk& out, std::size_t want) override {
    while (out.size() < want && !out.has_error()) {
      if (!ended_ && in_.empty() && !(end_ - start_ == buffer_)) {
        // Ready elements are handed over before a wait for more.
        if (!out.empty()) return Pull::values;
        const Pull pulled = input_->pull(in_, in_.capacity());
        if (pulled == Pull::cancelled) return pulled;
        if (pulled == Pull::end) {
          ended_ = true;
          count_ = end_;
        }
      }
      if (!ended_ && end_ < buffer_ && end_ - start_ < buffer_ && !in_.empty()) {
        fill();
        continue;
      }
      if (end_ == start_ && in_.empty()) {
        slots_.release();
        publish_level();
        return out.empty() ? Pull::end : Pull::values;
      }
      if (!steady_run(out, want) && !drain_run(out, want)) single_step(out);
    }
    return Pull::values;
  }

 protected:
  std::uint64_t do_skip(std::uint64_t count, Known known) override {
    if (start_ != 0 || end_ != 0 || !in_.empty() || count < 64) return Stage::do_skip(count, known);
    std::uint64_t input_count = known == Known::no_errors ? length_of(node_) : kUnknown;
    // The input may be far shorter than the buffer. If not, load() would read half as much or more.
    if (input_count == kUnknown && count < buffer_) return Stage::do_skip(count, known);
    while (true) {
      const std::uint64_t handed_out = std::min(count, input_count);
      if (handed_out == 0) return 0;
      // Without room to walk the draws back, it goes through them as a run does.
      HeldBytes held;
      if (!held.try_grow_to(memory(), BufferContent::bytes_max(buffer_, input_count, handed_out)))
        return Stage::do_skip(count, known);
      const std::uint64_t seen = load(handed_out, input_count, known);
      if (seen == kUnknown) return handed_out;
      if (run().cancelled()) return 0;
      // The input is shorter than expected, so other elements lie in the slots.
      input_count = seen;
      input_ = node_.open(input_context_);
    }
  }
  TracedPlace do_trace(std::uint64_t position) const override {
    const std::uint64_t count = count_;
    if (count == kUnknown && buffer_ == whole_input) {
      return TracedPlace::unknown("shuffle doesn't know the length of its input yet");
    }
    // A last batch that isn't full asks for elements behind the end, which lie in no buffer.
    if (position >= count) return TracedPlace::unknown(label(), "has ended before");
    return input_->trace(input_position_of(words_.generator(), buffer_, count, position));
  }

 private:
  /// Opens the input with this pass: TensorFlow's shuffle opens its input only when it is read.
  static StageContext context_of_input(StageContext context) {
    context.set_pass(context.epoch);
    return context;
  }

  static std::uint64_t length_of(const Node& node) {
    const Cardinality declared = node.cardinality();
    return declared.is_finite() ? declared.count() : kUnknown;
  }

  /// Fills the buffer for the first time, by whole chunks.
  void fill() {
    const std::size_t room =
        static_cast<std::size_t>(std::min<std::uint64_t>(buffer_ - end_, in_.slots()));
    slots_.reserve(end_ + room, end_);
    const std::size_t count = std::min(room, in_.size());
    if (count > 0) {
      slots_.hold(in_.front(), count);
      type().relocate(slots_.at(end_), in_.front(), count);
      in_.drop_front(count);
      end_ += count;
    }
    if (count < room) {
      slots_.put_error(end_, in_);
      ++end_;
    }
    publish_level();
  }

  /// Takes one in and hands one out while there are only values. Nearly all time is spent in this
  /// loop.
  bool steady_run(Chunk& out, std::size_t want) {
    if (ended_ || slots_.has_errors() || buffer_ > UINT32_MAX) return false;
    // After a hand-out one slot is free. The first hand-out finds the buffer full.
    if (end_ - start_ == buffer_) return false;
    std::size_t count = std::min(in_.size(), want - out.size());
    if (count == 0) return false;
    count = hold(count);
    void* const first_out = out.back();
    with_size(type(), [&](auto size) { steady_loop<decltype(size)::value>(first_out, count); });
    in_.drop_front(count);
    out.grow(count);
    slots_.let_go(first_out, count);
    return true;
  }

  /// Reserves the bytes that the next `count` elements own, before as much is handed out, and
  /// returns for how many. Under a limit it reserves for one: what a whole chunk owns beside a full
  /// buffer would, for a moment, cost others what they could keep and make set_memory_limit() refuse
  /// what is enough; and which element is refused must not depend on how many come at once.
  std::size_t hold(std::size_t count) {
    if (memory().limit_bytes() != 0 && type().payload_bytes_run != nullptr) count = 1;
    try {
      slots_.hold(in_.front(), count);
    } catch (const Error&) {
      if (count == 1) throw;
      count = 1;  // another thread has just set a limit
      slots_.hold(in_.front(), count);
    }
    return count;
  }

  template <std::size_t kSize>
  void steady_loop(void* out, std::size_t count) {
    const std::size_t size = kSize == 0 ? type().size : kSize;
    std::byte* const slots = slots_.data();
    auto* from = static_cast<std::byte*>(in_.front());
    auto* to = static_cast<std::byte*>(out);
    std::uint64_t j = start_ % buffer_;
    for (std::size_t k = 0; k < count; ++k, from += size, to += size) {
      const std::uint64_t freed = j == 0 ? buffer_ - 1 : j - 1;
      move_one<kSize>(type(), slots + freed * size, from);
      std::uint64_t i = j + modulo_(words_());
      if (i >= buffer_) i -= buffer_;
      move_one<kSize>(type(), to, slots + i * size);
      if (i != j) move_one<kSize>(type(), slots + i * size, slots + j * size);
      j = j + 1 == buffer_ ? 0 : j + 1;
    }
    start_ += count;
    end_ += count;
  }

  /// Hands out the remaining elements after the input's end.
  bool drain_run(Chunk& out, std::size_t want) {
    if (!ended_ || slots_.has_errors() || end_ - start_ > UINT32_MAX) return false;
    const std::size_t count =
        static_cast<std::size_t>(std::min<std::uint64_t>(end_ - start_, want - out.size()));
    void* const first_out = out.back();
    with_size(type(), [&](auto size) { drain_loop<decltype(size)::value>(first_out, count); });
    out.grow(count);
    slots_.let_go(first_out, count);
    publish_level();
    return true;
  }

  template <std::size_t kSize>
  void drain_loop(void* out, std::size_t count) {
    const std::size_t size = kSize == 0 ? type().size : kSize;
    std::byte* const slots = slots_.data();
    auto* to = static_cast<std::byte*>(out);
    std::uint64_t j = start_ % buffer_;
    for (std::size_t k = 0; k < count; ++k, to += size) {
      std::uint64_t i = j + words_() % static_cast<std::uint32_t>(end_ - start_);
      if (i >= buffer_) i -= buffer_;
      move_one<kSize>(type(), to, slots + i * size);
      if (i != j) move_one<kSize>(type(), slots + i * size, slots + j * size);
      j = j + 1 == buffer_ ? 0 : j + 1;
      ++start_;
    }
  }

  /// Refills one and hands out one; for values and errors.
  void single_step(Chunk& out) {
    if (!in_.empty() && end_ - start_ < buffer_) {
      const std::uint64_t slot = end_ % buffer_;
      if (in_.size() > 0) {
        slots_.hold(in_.front(), 1);
        type().relocate(slots_.at(slot), in_.front(), 1);
        in_.drop_front(1);
      } else {
        slots_.put_error(slot, in_);
      }
      ++end_;
    }
    const std::uint64_t j = start_ % buffer_;
    const std::uint64_t i = (j + words_() % (end_ - start_)) % buffer_;
    slots_.hand_out(i, out);
    if (i != j) slots_.move(j, i);
    ++start_;
    publish_level();
  }

  /// Fetches the buffer's content after `handed_out` hand-outs. Returns kUnknown on success, else
  /// the input's real number of elements.
  std::uint64_t load(std::uint64_t handed_out, std::uint64_t input_count, Known known) {
    BufferContent content(words_.generator(), buffer_, input_count, handed_out);
    const std::uint64_t filled = elements_entered(buffer_, input_count, handed_out);
    slots_.reserve(std::min(buffer_, filled + 1), 0);
    std::vector<bool> loaded(std::min(buffer_, filled), false);
    std::uint64_t position = 0;
    std::uint64_t shorter = kUnknown;
    try {
      while (!content.empty() && shorter == kUnknown) {
        const std::uint64_t gap = content.front().position - position;
        const std::uint64_t passed = input_->skip(gap, known);
        position += passed;
        if (passed < gap || !load_run(content, position, loaded)) shorter = position;
      }
    } catch (...) {
      drop_loaded(loaded);
      throw;
    }
    if (shorter == kUnknown) {
      position += input_->skip(filled - position, known);
      if (position < filled) shorter = position;
    }
    if (shorter != kUnknown) {
      drop_loaded(loaded);
      return shorter;
    }
    start_ = handed_out;
    end_ = filled;
    words_.seek(handed_out);
    publish_level();
    return kUnknown;
  }

  void drop_loaded(const std::vector<bool>& loaded) {
    for (std::uint64_t slot = 0; slot < loaded.size(); ++slot) {
      if (!loaded[slot]) continue;
      if (slots_.holds_value(slot)) slots_.let_go(slots_.at(slot), 1);
      slots_.destroy(slot);
    }
    slots_.drop_errors();
  }

  /// Pulls the front of the content and its neighbours in one go. Returns false at the input's end.
  bool load_run(BufferContent& content, std::uint64_t& position, std::vector<bool>& loaded) {
    // A chunk for each run would take longer than all else, if runs are short.
    if (input_->pull(in_, content.run_length(in_.capacity())) != Pull::values) return false;
    slots_.hold(in_.front(), in_.size());
    position += in_.slots();
    with_size(type(), [&](auto size) { load_values<decltype(size)::value>(content, loaded); });
    in_.drop_front(in_.size());
    if (!in_.has_error()) return true;
    const std::uint64_t slot = content.front().slot;
    content.pop();
    slots_.put_error(slot, in_);
    loaded[slot] = true;
    return true;
  }

  template <std::size_t kSize>
  void load_values(BufferContent& content, std::vector<bool>& loaded) {
    for (std::size_t k = 0; k < in_.size(); ++k, content.pop()) {
      const std::uint64_t slot = content.front().slot;
      move_one<kSize>(type(), slots_.at(slot), in_.value(k));
      loaded[slot] = true;
    }
  }

  void publish_level() { note_buffered(end_ - start_, slots_.bytes()); }

  const StageContext input_context_;
  const Node& node_;
  const std::uint64_t buffer_;
  const FastModulo modulo_;
  WordStream words_;
  std::unique_ptr<Stage> input_;
  Chunk in_;
  ShuffleSlots slots_;
  std::uint64_t start_ = 0;                             ///< hand-outs so far
  std::uint64_t end_ = 0;                               ///< elements that have entered
  bool ended_ = false;                                  ///< the input has ended
  std::atomic<std::uint64_t> count_{length_of(node_)};  ///< the input's length, once known
};

class ShuffleNode final : public Node {
 public:
  ShuffleNode(const ShuffleOptions& options, const Seeds& seeds, NodePointer input)
      : Node("shuffle", input->type(), {input}), options_(options), seeds_(seeds) {}

  std::string signature() const override { return signature_with(seeds_); }
  std::optional<Seeds> seeds() const override { return seeds_; }
  std::string signature_with(const Seeds& seeds) const override {
    const std::string buffer =
        options_.buffer == whole_input ? "whole_input" : std::to_string(options_.buffer.value());
    return fmt::format("shuffle(buffer={}, seed={}, seed2={}, reshuffle={})", buffer, seeds.seed,
                       seeds.seed2, options_.reshuffle_each_iteration);
  }
  Cardinality cardinality() const override { return input().cardinality(); }
  std::uint64_t buffer_bytes_min() const override {
    const Cardinality upstream = input().cardinality();
    const std::uint64_t buffer = options_.buffer;
    const std::uint64_t count = upstream.is_finite() ? std::min(upstream.count(), buffer) : buffer;
    if (upstream.is_unknown()) return element_bytes_min();
    if (upstream.is_finite()) return bytes_of_elements(count, element_bytes_min());
    const std::uint64_t payload_min = element_bytes_min() - type().size;
    return bytes_of_elements(ShuffleSlots::count_while_growing_to(count), type().size) +
           bytes_of_elements(count, payload_min);
  }
  /// A slot keeps its element for `buffer` hand-outs on average. That one of them keeps it for
  /// ln(buffer) + 14 times as many happens once in a million checkpoints.
  StreamPlace input_resumed(std::size_t, const ResumedStage& stage) const override {
    if (options_.buffer == whole_input) return stage.place.at(0);
    const auto buffer = static_cast<double>(options_.buffer.value());
    const double held = std::min(buffer * (std::log(buffer) + 15), 0x1p62);
    const std::uint64_t position = stage.place.position;
    return stage.place.at(position - std::min(position, static_cast<std::uint64_t>(held)));
  }
  std::uint64_t element_bytes_min() const override { return input().element_bytes_min(); }

 protected:
  std::unique_ptr<Stage> make_stage(const StageContext& context) const override {
    return std::make_unique<ShuffleStage>(context, options_, context.seeds, input());
  }

 private:
  const ShuffleOptions options_;
  const Seeds seeds_;
};

}  // namespace

NodePointer make_shuffle(const ShuffleOptions& options, NodePointer input) {
  if (options.buffer.of("shuffle", "buffer") == 0) {
    throw Error(ErrorCode::invalid_argument,
                "shuffle: buffer is 0; give at least 1 (no shuffling), or the size of the dataset "
                "for a full shuffle");
  }
  if (options.buffer == whole_input && input->cardinality().is_infinite()) {
    throw Error(ErrorCode::invalid_argument,
                "shuffle: buffer is whole_input, but the input never ends; put shuffle before "
                "repeat, or give a number");
  }
  const Seeds seeds = choose_seeds(options.seed, options.global_seed, count_drawing(*input));
  return std::make_shared<ShuffleNode>(options, seeds, std::move(input));
}

}  // namespace infeed::detail
