#include "infeed/pipeline/flat_map.h"

#include <infeed/pipeline/errors_in_flight.h>

#include "engine/iterator_context.h"
#include "engine/recording/place_log.h"
#include "engine/seeds/has_inner_datasets.h"
#include "engine/work/passing_error.h"
#include "interleave/inner_stream.h"

namespace infeed::detail {
namespace {

class FlatMapStage final : public Stage, public Bookmarked {
 public:
  FlatMapStage(const StageContext& context, const InnerDatasets& inner, const TypeInfo& outer_type,
               std::unique_ptr<Stage> input)
      : Stage(context),
        Bookmarked(context),
        opener_(inner, context),
        outer_(outer_type, std::move(input)),
        element_(outer_type, 1) {}

  Pull do_pull(Chunk& out, std::size_t want) override {
    const std::uint64_t past_multiple = every() == 0 ? 0 : position() % every();
    if (every() != 0 && past_multiple == 0) note_place();
    while (true) {
      if (inner_.is_open()) {
        const Pull pulled = inner_.pull(out, want);
        if (pulled == Pull::values) note_bookmarks_within(out.slots(), past_multiple);
        if (pulled == Pull::values && is_traced_) note_places(out);
        if (pulled != Pull::end) return pulled;
        inner_.close();
      }
      if (every() != 0 && outer_.position() % every() == 0) note_place();
      const Pull next = outer_.next(element_, position_);
      if (next != Pull::values) return next;
      ErrorPointer error;
      NodePointer node = describe(error);
      if (node != nullptr) open(std::move(node), error);
      if (error != nullptr) {
        out.set_error(std::move(error));
        return Pull::values;
      }
    }
  }

 protected:
  std::uint64_t do_skip(std::uint64_t count, Known known) override {
    std::uint64_t skipped = 0;
    while (skipped < count) {
      if (!inner_.is_open()) {
        if (outer_.next(element_, position_) != Pull::values) break;
        ErrorPointer error;
        NodePointer node = describe(error);
        if (node != nullptr) {
          const std::uint64_t whole = length_at_most(*node, count - skipped, known);
          skipped += whole;
          if (whole > 0) continue;
          open(std::move(node), error);
        }
        if (error != nullptr) {
          end_if_passing(*error, known);
          ++skipped;
          continue;
        }
      }
      skipped += inner_.skip(count - skipped, known);
      if (run().cancelled()) break;
      if (skipped < count) inner_.close();
    }
    return skipped;
  }

  /// The state: the elements of the outer element's inner dataset before the place.
  bool go_to(const Bookmark& bookmark, Known known) override {
    if (bookmark.inputs.size() != 1 || bookmark.state.size() != 1) throw bad_bookmark();
    if (bookmark.inputs[0] < outer_.position()) return false;
    const std::uint64_t left = outer_.drop(bookmark.inputs[0] - outer_.position(), known);
    if (!pass_over(outer_.input(), left, known)) return false;
    outer_.note_skipped(left);
    inner_.close();
    if (bookmark.state[0] == 0) return true;
    const Pull next = outer_.next(element_, position_);
    if (next == Pull::cancelled) return false;
    if (next == Pull::end) throw bad_bookmark();
    ErrorPointer error;
    NodePointer node = describe(error);
    if (node != nullptr) open(std::move(node), error);
    if (error != nullptr) throw Error(*error);
    const std::uint64_t passed = inner_.skip(bookmark.state[0], known);
    if (passed < bookmark.state[0] && !run().cancelled()) throw bad_bookmark();
    return !run().cancelled();
  }
  TracedPlace do_trace(std::uint64_t position) const override { return places_.find(position); }

 private:
  /// Notes a bookmark here.
  void note_place() const {
    if (position() == 0) return;
    if (inner_.is_open()) {
      note_bookmark(position(), {position_}, {inner_.given()});
    } else {
      note_bookmark(position(), {outer_.position()}, {0});
    }
  }

  /// Notes the bookmarks that are due behind the first of these elements of the inner dataset, and
  /// before the last. An end of the pull at each of them took a tenth of flat_map's time.
  void note_bookmarks_within(std::size_t count, std::uint64_t past_multiple) const {
    if (every() == 0) return;
    for (std::uint64_t taken = every() - past_multiple; taken < count; taken += every())
      note_bookmark(position() + taken, {position_}, {inner_.given() - count + taken});
  }

  /// Notes the places of the elements. If an inner dataset can't trace its first values, it isn't
  /// asked again, nor are others that end in a stage that never can: asking each took 7 ns.
  void note_places(const Chunk& out) {
    const InnerPlaces places = inner_.places();
    is_traced_ = places.first.place || out.size() == 0;
    if (places.first.stage == &inner_.label()) untold_ = places.first.stage;
    if (!places.first.place || !places.are_neighbours) return;
    const RecordPlace& place = *places.first.place;
    if (run().traces()) return places_.add_alone(position(), place);
    places_.add(position(), out.slots(), place);
  }

  /// Returns the inner dataset of the current outer element. If there is none, returns null and
  /// sets `error`.
  NodePointer describe(ErrorPointer& error) {
    error = element_.take_error();
    if (error != nullptr) return nullptr;
    try {
      return opener_.describe(element_);
    } catch (...) {
      error = current_error();
      return nullptr;
    }
  }

  void open(NodePointer node, ErrorPointer& error) {
    try {
      inner_ = opener_.open(std::move(node), position_);
      is_traced_ = run().keeps_places() && &inner_.label() != untold_;
    } catch (...) {
      error = error_of_opening();
    }
  }

  /// Returns the length of an inner dataset that can be passed over without opening it; else 0.
  std::uint64_t length_at_most(const Node& node, std::uint64_t count, Known known) const {
    const Cardinality length = node.cardinality();
    // Less than `count`: an error that nobody has seen yet may lengthen the inner dataset.
    const bool whole = known == Known::no_errors && length.is_finite() && length.count() < count;
    return whole ? length.count() : 0;
  }

  const InnerOpener opener_;
  OuterInput outer_;
  Chunk element_;
  std::uint64_t position_ = 0;  ///< the outer element's position
  InnerStream inner_;
  PlaceLog places_;                      ///< only if the iterator records
  bool is_traced_ = false;               ///< the inner dataset can be traced, so far
  const std::string* untold_ = nullptr;  ///< label of a stage that never traces
};

class FlatMapNode final : public Node, public HasInnerDatasets {
 public:
  FlatMapNode(InnerDatasets inner, const TypeInfo& out_type, NodePointer input)
      : Node("flat_map", out_type, {std::move(input)}), inner_(std::move(inner)) {}

  std::string signature() const override {
    return inner_.seed_by_position ? "flat_map(seed_by_position)" : "flat_map";
  }
  std::optional<Seeds> seeds() const override { return seeds_; }
  std::string signature_with(const Seeds& seeds) const override {
    return with_seed(signature(), seeds.seed);
  }
  StageTraits traits() const override { return {.begins = Begins::at_bookmarks}; }
  Cardinality cardinality() const override { return input().cardinality().unknown_unless_empty(); }

 protected:
  std::unique_ptr<Stage> make_stage(const StageContext& context) const override {
    return std::make_unique<FlatMapStage>(context, inner_, input().type(), input().open(context));
  }

 private:
  const InnerDatasets inner_;
  const Seeds seeds_{.seed = random_seed(), .drawn = true, .inner = true};
};

}  // namespace

NodePointer make_flat_map(InnerDatasets inner, const TypeInfo& out_type, NodePointer input) {
  return std::make_shared<FlatMapNode>(std::move(inner), out_type, std::move(input));
}

}  // namespace infeed::detail
