#include "infeed/pipeline/window.h"

#include <algorithm>
#include <deque>
#include <fmt/format.h>
#include <limits>
#include <utility>

#include <infeed/pipeline/errors_in_flight.h>
#include <infeed/pipeline/reservation.h>

#include "engine/buffer_bytes.h"
#include "engine/iterator_context.h"
#include "engine/work/error_bytes.h"
#include "engine/work/passing_error.h"

namespace infeed::detail {
namespace {

struct Shape {
  std::uint64_t size;
  std::uint64_t shift;
  std::uint64_t stride;
  bool drop_remainder;

  std::uint64_t span() const { return (size - 1) * stride + 1; }
  /// Returns how many windows `length` elements give.
  std::uint64_t count(std::uint64_t length) const {
    const std::uint64_t least = drop_remainder ? span() : 1;
    return length < least ? 0 : (length - least) / shift + 1;
  }
  bool overlap() const { return shift < span(); }
};

/// The elements `start`, start+1, ... of the input that windows still need, errors included.
class Buffer {
 public:
  Buffer(IteratorContext& run, const TypeInfo& type)
      : type_(type), values_(type, 2 * kChunkElementsMax), memory_(run.memory(), "window") {
    memory_.grow(values_.capacity() * type.size);
  }

  std::uint64_t start() const { return start_; }
  std::uint64_t size() const { return values_.size() + errors_.size(); }

  void append(Chunk& in) {
    if (values_.room() < in.size()) make_room(in.size());
    memory_.grow(payload_bytes(in.front(), in.size()));
    values_.append_from(in, in.size());
    if (!in.has_error()) return;
    memory_.grow(error_bytes(*in.error()));
    const std::uint64_t position = start_ + size();
    errors_.push_back({position, in.take_error(), position < told_until_});
  }

  /// Says that windows have told, in an earlier run, the errors before a position.
  void tell_until(std::uint64_t position) { told_until_ = position; }

  /// Drops elements. The errors that no window has told are passed over.
  void drop_front(std::uint64_t count, Known known) {
    const std::uint64_t end = start_ + count;
    std::size_t values = static_cast<std::size_t>(count);
    while (!errors_.empty() && errors_.front().position < end) {
      if (!errors_.front().is_told) end_if_passing(*errors_.front().error, known);
      memory_.shrink(error_bytes(*errors_.front().error));
      errors_.pop_front();
      --values;
    }
    memory_.shrink(payload_bytes(values_.front(), values));
    type_.destroy(values_.front(), values);
    values_.drop_front(values);
    start_ = end;
  }
  /// Passes over elements that never were in the buffer.
  void pass(std::uint64_t count) { start_ += count; }

  struct Failed {
    std::uint64_t position;
    ErrorPointer error;
    bool is_told = false;  ///< by a window
  };
  /// Returns the first failed element among `count` elements that are `stride` apart; null if there
  /// is none.
  Failed* first_failed(std::uint64_t stride, std::uint64_t count) {
    for (Failed& failed : errors_) {
      const std::uint64_t offset = failed.position - start_;
      if (offset % stride == 0 && offset / stride < count) return &failed;
    }
    return nullptr;
  }
  bool has_errors() const { return !errors_.empty(); }
  void* front() { return values_.front(); }
  /// Returns the address of an element that isn't an error.
  void* value(std::uint64_t offset) {
    std::size_t index = static_cast<std::size_t>(offset);
    for (const Failed& failed : errors_) {
      if (failed.position - start_ < offset) --index;
    }
    return values_.value(index);
  }

  /// Returns the bytes that the first `count` elements own.
  std::uint64_t payload(std::uint64_t count) const {
    return payload_bytes(values_.front(),
                         static_cast<std::size_t>(std::min<std::uint64_t>(count, values_.size())));
  }
  /// Says that so many bytes were moved elsewhere.
  void note_moved(std::uint64_t payload) { memory_.shrink(payload); }

 private:
  /// Moves the values to the start, into twice the memory if more than half of it is in use.
  void make_room(std::size_t count) {
    std::size_t capacity = values_.capacity();
    while (2 * (values_.size() + count) > capacity) capacity *= 2;
    memory_.grow(capacity * type_.size);
    Chunk moved(type_, capacity);
    moved.append_from(values_, values_.size());
    values_.swap(moved);
    memory_.shrink(moved.capacity() * type_.size);
  }

  std::uint64_t payload_bytes(const void* at, std::size_t count) const {
    return type_.payload_bytes_run == nullptr ? 0 : type_.payload_bytes_run(at, count);
  }
  static std::uint64_t error_bytes(const Error& error) {
    return sizeof(Failed) + bytes_when_kept(error);
  }

  const TypeInfo& type_;
  Chunk values_;
  std::deque<Failed> errors_;
  std::uint64_t start_ = 0;
  std::uint64_t told_until_ = 0;
  Reservation memory_;
};

/// Returns an error that says which window failed and why.
ErrorPointer error_of_window(std::uint64_t first, std::uint64_t position, const Error& cause) {
  return std::make_shared<const Error>(cause.reworded(
      cause.code(), fmt::format("the window from element {} on needs element {}, which failed: {}",
                                first, position, cause.message())));
}

class WindowStage final : public Stage {
 public:
  WindowStage(const StageContext& context, const Shape& shape, const WindowKernel& kernel,
              const TypeInfo& in_type, std::unique_ptr<Stage> input)
      : Stage(context),
        shape_(shape),
        kernel_(kernel),
        input_(std::move(input)),
        in_(in_type),
        buffer_(run(), in_type) {}

  Pull do_pull(Chunk& out, std::size_t want) override {
    while (out.slots() < want && !out.has_error()) {
      const Filled filled = fill(shape_.span(), out.empty());
      const std::uint64_t least = shape_.drop_remainder ? shape_.span() : 1;
      if (filled != Filled::yes || buffer_.size() < least) {
        if (!out.empty()) return Pull::values;
        if (filled != Filled::yes) return Pull::cancelled;
        buffer_.drop_front(buffer_.size(), Known::nothing);
        return Pull::end;
      }
      const std::uint64_t windows = make_windows(out, want - out.slots());
      next_ += windows;
      // The gap after the last is passed over later: its elements may take long to come.
      buffer_.drop_front(std::min(buffer_.size(), windows * shape_.shift), Known::nothing);
    }
    return Pull::values;
  }

 protected:
  std::uint64_t do_skip(std::uint64_t count, Known known) override {
    const std::uint64_t before = next_;
    if (count > std::numeric_limits<std::uint64_t>::max() / shape_.shift - before) {
      return Stage::do_skip(count, known);
    }
    if (known == Known::errors)
      buffer_.tell_until((before + count - 1) * shape_.shift + shape_.span());
    if (known != Known::no_errors && !shape_.drop_remainder) return skip_as_pulled(count, known);
    next_ += count;
    // Not into the gap after the last of these windows. Nobody has looked at the gap yet, and an
    // error in it may be one that skip_errors leaves out.
    const std::uint64_t end = (next_ - 1) * shape_.shift + std::min(shape_.shift, shape_.span());
    // The last window exists if it has an element or, with drop_remainder, all of them.
    const std::uint64_t missing =
        shape_.drop_remainder && shape_.overlap() ? shape_.span() - shape_.shift : std::uint64_t{0};
    advance_to(end, known);
    if (missing > 0 && !ended_ && fill(missing, true) == Filled::cancelled) return 0;
    const bool reached = buffer_.start() == end && buffer_.size() >= missing;
    return reached ? count : std::min(count, windows_until_end(before));
  }
  TracedPlace do_trace(std::uint64_t position) const override { return Stage::do_trace(position); }

 private:
  enum class Filled { yes, would_wait, cancelled };

  /// Looks at no more of the last window than its pull has done, which ended at its first error: what
  /// comes behind may end the stream.
  std::uint64_t skip_as_pulled(std::uint64_t count, Known known) {
    const std::uint64_t before = next_;
    next_ += count - 1;
    advance_to(next_ * shape_.shift, known);
    if (!ended_ && fill(shape_.span(), true) == Filled::cancelled) return 0;
    if (buffer_.size() == 0) return std::min(count, windows_until_end(before));
    ++next_;
    buffer_.drop_front(std::min(buffer_.size(), shape_.shift), known);
    return count;
  }

  /// Returns how many windows there are behind the first `before`, in an input that has ended.
  std::uint64_t windows_until_end(std::uint64_t before) const {
    const std::uint64_t windows = shape_.count(buffer_.start() + buffer_.size());
    return windows - std::min(windows, before);
  }

  /// Fills the buffer with `count` elements, or with all that are left, or until the next window is
  /// known to be an error.
  Filled fill(std::uint64_t count, bool may_wait) {
    if (buffer_.start() < next_ * shape_.shift) {
      if (!may_wait) return Filled::would_wait;
      advance_to(next_ * shape_.shift, Known::nothing);
    }
    while (buffer_.size() < count && !ended_ && !has_failed()) {
      if (!may_wait) return Filled::would_wait;
      // If a limit may refuse the elements' bytes, or more errors, no more is pulled than needed:
      // which window is refused must not depend on how many elements come at once.
      const bool owns_more = in_.type().payload_bytes_run != nullptr || buffer_.has_errors();
      const bool is_sparing = owns_more && memory().limit_bytes() != 0;
      const std::uint64_t wanted = is_sparing ? count - buffer_.size() : in_.capacity();
      const Pull pulled = input_->pull(in_, std::min<std::size_t>(in_.capacity(), wanted));
      if (pulled == Pull::cancelled) return Filled::cancelled;
      ended_ = pulled == Pull::end;
      if (!ended_) buffer_.append(in_);
    }
    return Filled::yes;
  }

  /// Drops all elements before `position`, in the buffer and beyond.
  void advance_to(std::uint64_t position, Known known) {
    buffer_.drop_front(std::min(buffer_.size(), position - buffer_.start()), known);
    const std::uint64_t gap = position - buffer_.start();
    if (gap == 0 || ended_) return;
    const std::uint64_t passed = input_->skip(gap, known);
    buffer_.pass(passed);
    if (passed < gap) ended_ = true;  // or cancelled: nothing comes then, either
  }

  /// Returns how many elements of the next window are in the buffer.
  std::uint64_t elements_at_hand() const {
    const std::uint64_t available = buffer_.size();
    if (available >= shape_.span()) return shape_.size;
    return available == 0 ? 0 : (available - 1) / shape_.stride + 1;
  }
  Buffer::Failed* first_failed() {
    return buffer_.has_errors() ? buffer_.first_failed(shape_.stride, elements_at_hand()) : nullptr;
  }

  /// Returns true if the next window is an error, whether or not its other elements come.
  bool has_failed() { return !shape_.drop_remainder && first_failed() != nullptr; }

  /// Makes the windows at hand, `room` at most, or the error of the next one. Returns how many.
  std::uint64_t make_windows(Chunk& out, std::size_t room) {
    if (Buffer::Failed* const failed = first_failed()) {
      failed->is_told = true;
      out.set_error(error_of_window(buffer_.start(), failed->position, *failed->error));
      return 1;
    }
    const std::uint64_t size = elements_at_hand();
    std::uint64_t windows = 1;
    if (buffer_.size() > shape_.span() && !buffer_.has_errors())
      windows = std::min<std::uint64_t>(room, (buffer_.size() - shape_.span()) / shape_.shift + 1);
    const WindowRun run{static_cast<std::size_t>(windows), static_cast<std::size_t>(size),
                        static_cast<std::size_t>(shape_.shift),
                        static_cast<std::size_t>(shape_.stride), !shape_.overlap()};
    const std::uint64_t used = (windows - 1) * shape_.shift + shape_.span();
    const std::uint64_t payload = run.may_move ? buffer_.payload(used) : 0;
    std::size_t made = 0;
    ErrorPointer error;
    try {
      if (buffer_.has_errors()) {
        make_beside_errors(out.back(), run, made);
      } else {
        kernel_.make(out.back(), buffer_.front(), run, made);
      }
    } catch (...) {
      error = current_error();
      windows = made + 1;
    }
    out.grow(made);
    if (error != nullptr) out.set_error(std::move(error));
    if (run.may_move) buffer_.note_moved(payload - buffer_.payload(used));
    return windows;
  }

  /// Makes one window of values that errors may lie between.
  void make_beside_errors(void* window, WindowRun run, std::size_t& made) {
    const std::uint64_t count = std::exchange(run.size, 0);
    kernel_.make(window, buffer_.front(), run, made);
    try {
      for (std::uint64_t i = 0; i < count; ++i)
        kernel_.append(window, buffer_.value(i * shape_.stride), run.may_move);
    } catch (...) {
      type().destroy(window, 1);
      made = 0;
      throw;
    }
  }

  const Shape shape_;
  const WindowKernel kernel_;
  const std::unique_ptr<Stage> input_;
  Chunk in_;  ///< empty between pulls
  Buffer buffer_;
  std::uint64_t next_ = 0;  ///< number of the next window
  bool ended_ = false;
};

class WindowNode final : public Node {
 public:
  WindowNode(const Shape& shape, const WindowKernel& kernel, const TypeInfo& out_type,
             NodePointer input)
      : Node("window", out_type, {std::move(input)}), shape_(shape), kernel_(kernel) {}

  std::string signature() const override {
    return fmt::format("window(size={}, shift={}, stride={}{})", shape_.size, shape_.shift,
                       shape_.stride, shape_.drop_remainder ? ", drop_remainder" : "");
  }
  Cardinality cardinality() const override {
    return input().cardinality().transform([this](std::uint64_t n) { return shape_.count(n); });
  }
  StreamPlace input_resumed(std::size_t, const ResumedStage& stage) const override {
    const std::uint64_t before = std::max<std::uint64_t>(stage.place.position, 1) - 1;
    std::uint64_t elements = 0;
    const bool is_much = __builtin_mul_overflow(before, shape_.shift, &elements);
    return stage.place.at(is_much ? 0 : elements);
  }
  std::uint64_t buffer_bytes_min() const override {
    const Cardinality upstream = input().cardinality();
    const std::uint64_t each = input().element_bytes_min();
    if (upstream.is_unknown()) return each;
    const std::uint64_t held =
        upstream.is_finite() ? std::min(upstream.count(), shape_.span()) : shape_.span();
    return bytes_of_elements(held, each);
  }

 protected:
  std::unique_ptr<Stage> make_stage(const StageContext& context) const override {
    return std::make_unique<WindowStage>(context, shape_, kernel_, input().type(),
                                         input().open(context));
  }

 private:
  const Shape shape_;
  const WindowKernel kernel_;
};

}  // namespace

NodePointer make_window(const WindowOptions& options, const WindowKernel& kernel,
                        const TypeInfo& out_type, NodePointer input) {
  if (options.size < 1 || options.shift < 0 || options.stride < 1) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("window: size is {}, shift {}, stride {}; give a size and a stride of "
                            "at least 1, and a shift of at least 1 or 0 for the size",
                            options.size.value(), options.shift.value(), options.stride.value()));
  }
  if (options.size > std::numeric_limits<std::uint64_t>::max() / 4 / options.stride) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("window: size {} times stride {} is more than can be counted",
                            options.size.value(), options.stride.value()));
  }
  const Shape shape{options.size, options.shift == 0 ? options.size : options.shift, options.stride,
                    options.drop_remainder};
  if (shape.overlap() && !kernel.copies) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("window: the elements ({}) can't be copied, but windows of {} elements "
                            "every {} overlap; give a shift of at least {}",
                            input->type().name, shape.span(), shape.shift, shape.span()));
  }
  return std::make_shared<WindowNode>(shape, kernel, out_type, std::move(input));
}

}  // namespace infeed::detail
