#include "infeed/pipeline/unbatch.h"

#include <algorithm>
#include <optional>

#include "engine/iterator_context.h"
#include "engine/recording/note_calls.h"
#include "engine/recording/place_log.h"
#include "engine/work/passing_error.h"

namespace infeed::detail {
namespace {

class UnbatchStage final : public Stage, public Bookmarked {
 public:
  UnbatchStage(const StageContext& context, const RowAccess& access, const TypeInfo& in_type,
               std::unique_ptr<Stage> input)
      : Stage(context),
        Bookmarked(context),
        access_(access),
        input_(std::move(input)),
        in_(in_type) {}

  Pull do_pull(Chunk& out, std::size_t want) override {
    while (true) {
      // Finished rows must not wait for the next input.
      const std::optional<Pull> at_hand = see_to_an_element(want, out.empty());
      if (at_hand != Pull::values) return out.empty() ? *at_hand : Pull::values;
      if (in_.size() == 0) {
        out.set_error(in_.take_error());
        ++given_;
        next_element();
        return Pull::values;
      }
      ErrorPointer error;
      const std::size_t count = std::min(rows_ - row_, want - out.size());
      const KernelResult taken = access_.take(in_.front(), row_, count, out.back(), error);
      if (run().keeps_places()) note_taken(position() + out.size(), taken.produced);
      out.grow(taken.produced);
      pass(taken.consumed);
      if (error != nullptr) out.set_error(std::move(error));
      if (out.slots() == want || out.has_error()) return Pull::values;
    }
  }

 protected:
  std::uint64_t do_skip(std::uint64_t count, Known known) override {
    std::uint64_t skipped = 0;
    while (skipped < count && see_to_an_element(chunk_capacity(type()), true) == Pull::values) {
      if (in_.size() == 0) {
        drop_slots(in_, 1, known);
        ++given_;
        ++skipped;
        next_element();
        continue;
      }
      const std::size_t rows =
          static_cast<std::size_t>(std::min<std::uint64_t>(rows_ - row_, count - skipped));
      pass(rows);
      skipped += rows;
    }
    return skipped;
  }

  bool go_to(const Bookmark& bookmark, Known known) override {
    if (bookmark.inputs.size() != 1 || !bookmark.state.empty()) throw bad_bookmark();
    const std::uint64_t read = element_ + in_.slots();
    if (bookmark.inputs[0] < read) return false;
    if (!pass_over(*input_, bookmark.inputs[0] - read, known)) return false;
    drop_slots(in_, in_.slots(), known);
    row_ = 0;
    given_ = bookmark.given;
    element_ = bookmark.inputs[0];
    passes_multiple(element_ + given_);
    return true;
  }
  TracedPlace do_trace(std::uint64_t position) const override {
    return traced_through(taken_from_, position, *input_);
  }

 private:
  /// Makes in_ start with an element that has rows left, or with an error. Returns nothing if it
  /// needs a pull, which may take long, and `may_pull` is false.
  std::optional<Pull> see_to_an_element(std::size_t rows_wanted, bool may_pull) {
    while (true) {
      if (in_.empty()) {
        if (!may_pull) return std::nullopt;
        // Pulls as many elements as will be needed, judging by the last one. The rest of one
        // element more would cost a pull of its own.
        const std::size_t elements =
            std::max<std::size_t>(1, rows_wanted / std::max<std::size_t>(1, rows_));
        const Pull pulled = input_->pull(in_, std::min(in_.capacity(), elements));
        if (pulled != Pull::values) return pulled;
        row_ = 0;
        rows_ = in_.size() == 0 ? 0 : access_.count(in_.front());
      }
      if (in_.size() == 0 || row_ < rows_) return Pull::values;
      pass(0);
    }
  }

  /// Notes where the rows of the element in front went. Whole elements in a row share one entry.
  void note_taken(std::uint64_t position, std::size_t count) {
    if (row_ == 0) {
      taken_from_.add_rows(position, count, element_, rows_);
    } else {
      taken_from_.add(position, count, {element_, 1});
    }
  }

  /// Passes over `count` rows of the element in front.
  void pass(std::size_t count) {
    row_ += count;
    given_ += count;
    if (row_ < rows_) return;
    in_.type().destroy(in_.front(), 1);
    in_.drop_front(1);
    row_ = 0;
    next_element();
    if (in_.size() > 0) rows_ = access_.count(in_.front());
  }

  /// Counts an element, and notes a bookmark behind it if as many rows as one is due after were
  /// given, or elements passed.
  void next_element() {
    ++element_;
    if (passes_multiple(element_ + given_)) note_bookmark(given_, {element_});
  }

  const RowAccess access_;
  const std::unique_ptr<Stage> input_;
  Chunk in_;
  std::size_t rows_ = 0;       ///< rows of the element in front, or of the last one
  std::size_t row_ = 0;        ///< next row
  std::uint64_t element_ = 0;  ///< number in the input of the element in front
  std::uint64_t given_ = 0;    ///< rows and errors, so far
  PositionLog taken_from_;     ///< only if the iterator records
};

class UnbatchNode final : public Node {
 public:
  UnbatchNode(const RowAccess& access, const TypeInfo& out_type, NodePointer input)
      : Node("unbatch", out_type, {std::move(input)}), access_(access) {}

  StageTraits traits() const override { return {.begins = Begins::at_bookmarks}; }
  Cardinality cardinality() const override { return input().cardinality().unknown_unless_empty(); }

 protected:
  std::unique_ptr<Stage> make_stage(const StageContext& context) const override {
    return std::make_unique<UnbatchStage>(context, access_, input().type(), input().open(context));
  }

 private:
  const RowAccess access_;
};

}  // namespace

RowAccess column_row_access() {
  return {[](const void* element) {
            return static_cast<std::size_t>(static_cast<const ColumnBatch*>(element)->rows());
          },
          [](void* element, std::size_t first, std::size_t count, void* out, ErrorPointer& error) {
            const auto& batch = *static_cast<const ColumnBatch*>(element);
            return construct_rows<ColumnBatch>(first, count, out, error, [&](std::size_t i) {
              return batch.slice(static_cast<std::int64_t>(i), 1);
            });
          }};
}

NodePointer make_unbatch(const RowAccess& access, const TypeInfo& out_type, NodePointer input) {
  return std::make_shared<UnbatchNode>(access, out_type, std::move(input));
}

}  // namespace infeed::detail
