#include "infeed/pipeline/detail/grouping.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <limits>
#include <map>
#include <numeric>
#include <optional>

#include <infeed/pipeline/errors_in_flight.h>
#include <infeed/pipeline/reservation.h>

#include "engine/batch_count.h"
#include "engine/buffer_bytes.h"
#include "engine/iterator_context.h"
#include "engine/move_values.h"
#include "engine/recording/note_calls.h"
#include "engine/resume/bookmark_numbers.h"
#include "engine/work/passing_error.h"

namespace infeed::detail {
namespace {

struct Group {
  std::int64_t size;                          ///< elements of a full group
  std::optional<Chunk> rows;                  ///< grows up to `size`
  std::uint64_t bytes = 0;                    ///< bytes in the account: rows and what they own
  std::vector<std::uint64_t> positions = {};  ///< places of the rows in the input
};

class GroupingStage final : public Stage, public Bookmarked {
 public:
  GroupingStage(const StageContext& stage_context, const GroupingSpec& spec,
                const TypeInfo& in_type, std::unique_ptr<Stage> input)
      : Stage(stage_context),
        Bookmarked(stage_context),
        spec_(spec),
        input_(std::move(input)),
        in_(in_type),
        memory_(run().memory(), spec.name) {
    if (spec.key == nullptr && run().keeps_places())
      kept_.emplace(static_cast<std::uint64_t>(spec.size(spec.context.get(), 0)));
  }

  ~GroupingStage() override { counters().buffered.bytes.store(0, std::memory_order_relaxed); }

  Pull do_pull(Chunk& out, std::size_t want) override {
    while (out.slots() < want && !out.has_error()) {
      ErrorPointer error;
      Full full;
      // Finished outputs must not wait for the next input.
      const std::optional<Pull> collected = collect(full, error, out.empty());
      if (collected != Pull::values) return out.empty() ? *collected : Pull::values;
      if (error == nullptr) hand_over(out, full, error);
      if (error == nullptr) note_bookmark_if_due(position() + out.size());
      if (error != nullptr) out.set_error(std::move(error));
    }
    return Pull::values;
  }

 protected:
  std::uint64_t do_skip(std::uint64_t count, Known known) override {
    std::uint64_t skipped = 0;
    while (skipped < count) {
      skipped += skip_whole_groups(count - skipped, known);
      if (skipped == count) break;
      ErrorPointer error;
      Full full;
      if (collect(full, error, true) != Pull::values) break;
      if (error != nullptr) end_if_passing(*error, known);
      if (error == nullptr) let_go(*full.group);
      if (error == nullptr && kept_) kept_->drop_batch();
      ++skipped;
      if (error == nullptr) note_bookmark_if_due(position() + skipped);
    }
    return skipped;
  }

  /// The state: the next element of the input, and how far each one that lies in a group, from the
  /// first input on, is from the one before.
  bool go_to(const Bookmark& bookmark, Known known) override {
    if (bookmark.inputs.size() != 1) throw bad_bookmark();
    if (taken_ > 0 || !in_.empty()) return false;
    BookmarkNumbers state(bookmark.state, bad_bookmark());
    const std::uint64_t next = state.take();
    for (bool is_first = true; !state.is_empty(); is_first = false) {
      const std::uint64_t distance = is_first ? state.take(0, 0) : state.take(1);
      const std::uint64_t gap = is_first ? bookmark.inputs[0] : distance - 1;
      if (!pass_over(*input_, gap, known)) return false;
      taken_ += gap;
      const Pull pulled = input_->pull(in_, 1);
      if (pulled == Pull::cancelled) return false;
      if (in_.size() == 0) drop_slots(in_, 1, Known::nothing);
      ErrorPointer error;
      if (pulled == Pull::end || in_.size() == 0) throw bad_bookmark();
      const Full full = find_group(error);
      if (error != nullptr || add_to(*full.group)) throw bad_bookmark();
    }
    if (next < taken_) throw bad_bookmark();
    if (!pass_over(*input_, next - taken_, known)) return false;
    taken_ = next;
    passes_multiple(taken_);
    return true;
  }
  TracedPlace do_trace(std::uint64_t position) const override {
    return kept_ ? trace_rows(run(), *kept_, position, *input_) : Stage::do_trace(position);
  }

 private:
  struct Full {
    std::int64_t key = 0;
    Group* group = nullptr;
  };

  /// Collects until a group is full, or until an error takes an element's place. At the end it
  /// gives the remaining groups, by key. Returns nothing if it needs a pull, which may take long,
  /// and `may_pull` is false.
  std::optional<Pull> collect(Full& full, ErrorPointer& error, bool may_pull) {
    while (true) {
      if (ended_) return next_left_over(full) ? Pull::values : Pull::end;
      if (in_.empty()) {
        if (!may_pull) return std::nullopt;
        const Pull pulled = input_->pull(in_, pull_count());
        if (pulled == Pull::cancelled) return pulled;
        ended_ = pulled == Pull::end;
        if (ended_) left_over_ = groups_.begin();
        continue;
      }
      if (in_.size() == 0) {
        error = in_.take_error();
        ++taken_;
        return Pull::values;
      }
      full = find_group(error);
      if (error != nullptr) {
        in_.type().destroy(in_.front(), 1);
        in_.drop_front(1);
        ++taken_;
        return Pull::values;
      }
      if (add_to(*full.group)) return Pull::values;
    }
  }

  /// Returns how many elements to pull at once. Elements with memory of their own are pulled no
  /// sooner than the group takes them: with more of them alive than the allocator keeps in its
  /// lists of a thread, each takes twice as long to make and to free.
  std::size_t pull_count() const {
    const bool has_payload = in_.type().payload_bytes_run != nullptr;
    if (spec_.key != nullptr || !has_payload || last_ == nullptr) return in_.capacity();
    const Group& group = last_->second;
    const std::size_t rows = group.rows ? group.rows->size() : 0;
    return std::min(in_.capacity(), static_cast<std::size_t>(group.size) - rows);
  }

  void note_bookmark_if_due(std::uint64_t given) {
    if (ended_ || !passes_multiple(taken_)) return;
    std::vector<std::uint64_t> held;
    for (const auto& [key, group] : groups_) {
      if (held.size() + group.positions.size() > kHeldMax) return;
      held.insert(held.end(), group.positions.begin(), group.positions.end());
    }
    std::sort(held.begin(), held.end());
    const std::uint64_t first = held.empty() ? taken_ : held.front();
    std::adjacent_difference(held.begin(), held.end(), held.begin());
    if (!held.empty()) held.front() = 0;
    held.insert(held.begin(), taken_);
    note_bookmark(given, std::array{first}, held);
  }

  /// Finds the group of the element in front of in_, or the error that takes its place.
  Full find_group(ErrorPointer& error) {
    try {
      const void* const context = spec_.context.get();
      const std::int64_t key = spec_.key == nullptr ? 0 : spec_.key(context, in_.front());
      Group& group = group_of(key);
      if (spec_.check != nullptr) spec_.check(context, key, in_.front());
      return {key, &group};
    } catch (...) {
      error = current_error();
      return {};
    }
  }

  /// Adds the element in front of in_. With a single group it adds all that fit. Returns true if
  /// the group is full.
  bool add_to(Group& group) {
    std::size_t count = 1;
    if (spec_.key == nullptr && spec_.check == nullptr) {
      const std::size_t rows = group.rows ? group.rows->size() : 0;
      count = std::min<std::size_t>(in_.size(), static_cast<std::size_t>(group.size) - rows);
    }
    reserve(group, count);
    group.rows->append_from(in_, count);
    // One more than a bookmark may have says that there are too many.
    if (spec_.key != nullptr && every() != 0 && group.positions.size() <= kHeldMax)
      group.positions.push_back(taken_);
    if (kept_) kept_->add_next(count, taken_);
    taken_ += count;
    return group.rows->size() == static_cast<std::size_t>(group.size);
  }

  Group& group_of(std::int64_t key) {
    if (last_ != nullptr && last_->first == key) return last_->second;
    auto found = groups_.find(key);
    if (found == groups_.end()) {
      const std::int64_t size = spec_.size(spec_.context.get(), key);
      found = groups_.emplace(key, Group{.size = size, .rows = std::nullopt}).first;
    }
    if (found->second.size < 1) {
      throw Error(ErrorCode::invalid_argument,
                  fmt::format("{}: the size for key {} is {}; it must be at least 1", spec_.name,
                              key, found->second.size));
    }
    last_ = &*found;
    return found->second;
  }

  void reserve(Group& group, std::size_t count) {
    const TypeInfo& type = in_.type();
    const std::size_t rows = group.rows ? group.rows->size() : 0;
    const std::size_t capacity = group.rows ? group.rows->capacity() : 0;
    std::uint64_t bytes =
        type.payload_bytes_run == nullptr ? 0 : type.payload_bytes_run(in_.front(), count);
    std::size_t bigger = capacity;
    if (rows + count > capacity) {
      bigger = std::min<std::size_t>(static_cast<std::size_t>(group.size),
                                     std::max({rows + count, 2 * capacity, kRowsMin}));
      bytes += (bigger - capacity) * type.size;
    }
    memory_.grow(bytes);
    group.bytes += bytes;
    if (spec_.key != nullptr) detach_under_limit(type, memory(), in_.front(), count);
    if (bigger > capacity) {
      Chunk chunk(type, bigger);
      if (group.rows) chunk.append_from(*group.rows, rows);
      group.rows = std::move(chunk);
    }
    counters().buffered.bytes.store(memory_.bytes(), std::memory_order_relaxed);
  }

  bool next_left_over(Full& full) {
    if (spec_.drop_remainder) return false;
    while (left_over_ != groups_.end()) {
      auto& [key, group] = *left_over_++;
      if (!group.rows || group.rows->empty()) continue;
      full = {key, &group};
      return true;
    }
    return false;
  }

  void hand_over(Chunk& out, const Full& full, ErrorPointer& error) {
    Chunk& rows = *full.group->rows;
    const void* const context = spec_.context.get();
    // Only if the limit may refuse it: looking at all rows takes a tenth of the batch's time.
    const bool is_asked = spec_.assembled_bytes != nullptr && memory().limit_bytes() != 0;
    const std::uint64_t bytes =
        !is_asked ? 0 : spec_.assembled_bytes(context, full.key, rows.front(), rows.size());
    memory_.grow(bytes);
    try {
      spec_.assemble(context, full.key, rows.front(), rows.size(), out.back());
      if (kept_) kept_->end_batch(position() + out.size());
      out.grow(1);
    } catch (...) {
      error = current_error();
      if (kept_) kept_->drop_batch();
    }
    memory_.shrink(bytes);
    let_go(*full.group);
  }

  void let_go(Group& group) {
    group.positions.clear();
    if (spec_.key == nullptr) {
      // The next group is as large, so it reuses the memory of the rows.
      group.rows->clear();
      const std::uint64_t kept = group.rows->capacity() * in_.type().size;
      memory_.shrink(group.bytes - kept);
      group.bytes = kept;
    } else {
      group.rows.reset();
      memory_.shrink(std::exchange(group.bytes, 0));
    }
    counters().buffered.bytes.store(memory_.bytes(), std::memory_order_relaxed);
  }

  /// Skips whole groups as batch does: if no element has failed so far, each group has the same
  /// number of elements.
  std::uint64_t skip_whole_groups(std::uint64_t count, Known known) {
    const bool started = !in_.empty() || !groups_.empty() || ended_;
    if (spec_.key != nullptr || started || known != Known::no_errors) return 0;
    const auto size = static_cast<std::uint64_t>(spec_.size(spec_.context.get(), 0));
    if (count > std::numeric_limits<std::uint64_t>::max() / size) return 0;
    const std::uint64_t rows = input_->skip(count * size, known);
    taken_ += rows;
    passes_multiple(taken_);
    return batch_count(rows, size, spec_.drop_remainder);
  }

  static constexpr std::size_t kRowsMin = 16;
  static constexpr std::size_t kHeldMax = 1000;  ///< more would make a checkpoint longer than 4 KB

  const GroupingSpec& spec_;
  const std::unique_ptr<Stage> input_;
  Chunk in_;
  Reservation memory_;
  std::map<std::int64_t, Group> groups_;  ///< in the order in which they leave at the end
  std::map<std::int64_t, Group>::value_type* last_ = nullptr;
  std::map<std::int64_t, Group>::iterator left_over_;
  bool ended_ = false;
  std::uint64_t taken_ = 0;     ///< elements of the input, errors included
  std::optional<RowLog> kept_;  ///< if there is one group, and the iterator keeps places
};

class GroupingNode final : public Node {
 public:
  GroupingNode(GroupingSpec spec, NodePointer input)
      : Node(spec.name, *spec.out_type, {std::move(input)}), spec_(std::move(spec)) {}

  std::string signature() const override { return spec_.signature; }
  StageTraits traits() const override {
    return {.begins = spec_.key != nullptr ? Begins::at_bookmarks : Begins::anywhere};
  }
  Cardinality cardinality() const override {
    const Cardinality upstream = input().cardinality();
    if (upstream == Cardinality::finite(0)) return upstream;
    if (spec_.key != nullptr) return Cardinality::unknown();
    const auto size = static_cast<std::uint64_t>(spec_.size(spec_.context.get(), 0));
    return upstream.transform(
        [&](std::uint64_t n) { return batch_count(n, size, spec_.drop_remainder); });
  }
  std::optional<std::uint64_t> input_taken(std::uint64_t given) const override {
    if (spec_.key != nullptr) return {};
    return elements_of_batches(given,
                               static_cast<std::uint64_t>(spec_.size(spec_.context.get(), 0)));
  }
  bool needs_bookmark(Known known) const override {
    return spec_.key != nullptr || known != Known::no_errors;
  }
  StreamPlace input_resumed(std::size_t input, const ResumedStage& stage) const override {
    const auto rows = input_taken(stage.place.position);
    if (stage.known != Known::no_errors || !rows) return Node::input_resumed(input, stage);
    return stage.place.at(*rows);
  }
  std::uint64_t buffer_bytes_min() const override {
    const std::uint64_t each = input().element_bytes_min();
    if (spec_.key != nullptr) return each;
    const Cardinality upstream = input().cardinality();
    const auto size = static_cast<std::uint64_t>(spec_.size(spec_.context.get(), 0));
    return bytes_of_elements(upstream.is_finite() ? std::min(upstream.count(), size) : size, each);
  }

 protected:
  std::unique_ptr<Stage> make_stage(const StageContext& stage_context) const override {
    return std::make_unique<GroupingStage>(stage_context, spec_, input().type(),
                                           input().open(stage_context));
  }

 private:
  const GroupingSpec spec_;
};

}  // namespace

NodePointer make_grouping(GroupingSpec spec, NodePointer input) {
  if (spec.key == nullptr && spec.size(spec.context.get(), 0) < 1) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("{}: size is {}; give at least 1", spec.name,
                            spec.size(spec.context.get(), 0)));
  }
  return std::make_shared<GroupingNode>(std::move(spec), std::move(input));
}

}  // namespace infeed::detail
