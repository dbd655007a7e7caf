#include "infeed/pipeline/cache.h"

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <mutex>
#include <optional>

#include "cache/cached_elements.h"
#include "cache/peeked_input.h"
#include "engine/buffer_bytes.h"
#include "engine/iterator_context.h"
#include "engine/recording/note_calls.h"
#include "engine/recording/place_log.h"
#include "engine/seeds/has_inner_datasets.h"
#include "engine/tuning/knobs.h"
#include "engine/work/passing_error.h"

namespace infeed::detail {
namespace {

using Content = std::shared_ptr<const CachedElements>;

/// The complete content, shared by all iterators once one of them has it.
class SharedContent {
 public:
  Content get() const {
    const std::lock_guard lock(mutex_);
    return content_;
  }
  /// Stores the content unless there is one.
  void publish(Content content) {
    const std::lock_guard lock(mutex_);
    if (content_ == nullptr) content_ = std::move(content);
  }
  /// Drops the content. A pass that reads it keeps it to its end.
  void forget() {
    const std::lock_guard lock(mutex_);
    content_ = nullptr;
  }
  void forget(const Content& content) {
    const std::lock_guard lock(mutex_);
    if (content_ == content) content_ = nullptr;
  }

 private:
  mutable std::mutex mutex_;
  Content content_;
};

/// The contents of runs that draw from other seeds than the dataset's own, and so have other
/// elements. Such a run has the seeds of a checkpoint, or reads the dataset inside a flat_map, whose
/// seed all inner stages draw by. Each outermost flat_map has one content, that of its latest seeds,
/// until the next run after its end. The runs outside of any have one, too.
class ContentsBySeeds {
 public:
  /// `outermost`: null outside of inner datasets. A content of other seeds is dropped, but a pass that
  /// reads or fills it keeps it to its end.
  std::shared_ptr<SharedContent> of(const Node* outermost, std::vector<std::string> signature) {
    const std::lock_guard lock(mutex_);
    std::erase_if(contents_, [](const auto& kept) {
      return kept.first != nullptr && kept.second.life.expired();
    });
    Kept& kept = contents_[outermost];
    if (kept.content == nullptr || kept.signature != signature) {
      kept = {std::move(signature), life_of(outermost), std::make_shared<SharedContent>()};
    }
    return kept.content;
  }

 private:
  struct Kept {
    std::vector<std::string> signature;
    std::weak_ptr<const void> life;  ///< expires with the outermost flat_map
    std::shared_ptr<SharedContent> content;
  };

  static std::weak_ptr<const void> life_of(const Node* outermost) {
    return outermost == nullptr ? std::weak_ptr<const void>()
                                : dynamic_cast<const HasInnerDatasets&>(*outermost).life();
  }

  std::mutex mutex_;
  std::map<const Node*, Kept> contents_;
};

/// Decides at its first pull or skip how to do its pass. It reads the complete content, or fills
/// one, or hands its input's elements through. It hands through after a resume, and if an optional
/// cache should keep nothing or finds no room. The elements are the same each way. An optional cache
/// that is filled gives up its content when another stage needs the room. One that is read doesn't:
/// an input whose order differs each time, or whose files have changed, couldn't go on from there.
///
/// Invariants: mutex_ guards what give_up() takes away, in any thread: filled_ and memory_. It also
/// guards the setting of content_ and input_, which do_trace() reads in any thread; they are set once.
/// No other stage is called under it, since one that reserves memory may call give_up().
class MemoryCacheStage final : public Stage {
 public:
  MemoryCacheStage(const StageContext& context, std::shared_ptr<SharedContent> shared,
                   const Node& input, CacheUse use)
      : Stage(context),
        input_context_(context.run.shared_by_all(context)),
        node_(input),
        shared_(std::move(shared)),
        memory_(run().memory(), "cache",
                use == CacheUse::always ? Reservation::Kind::required
                                        : Reservation::Kind::dispensable) {
    if (use == CacheUse::always) return;
    offer_.emplace(run().memory(), [this] { give_up(); });
    knob_.emplace(run().knobs(), counters(), KnobSpec{.kind = KnobKind::cache, .max = 1},
                  [content = shared_](std::int64_t keeps) {
                    if (keeps == 0) content->forget();
                  });
  }
  /// A consumer may stop before the end. The statistics must then no longer count the elements.
  ~MemoryCacheStage() override { release(); }

  Pull do_pull(Chunk& out, std::size_t want) override {
    if (!begun_) begin();
    if (content_ != nullptr) {
      if (content_->read(position(), out, want) > 0) return Pull::values;
      release();
      return Pull::end;
    }
    const Pull pulled = input_->pull(out, want);
    if (pulled == Pull::values && keep(out)) publish();
    if (pulled == Pull::end) {
      publish();
      release();
    }
    return pulled;
  }

 protected:
  std::uint64_t do_skip(std::uint64_t count, Known known) override {
    if (!begun_) {
      // A resume must be quick: its pass isn't kept, and skipped elements aren't even made.
      const bool resuming = known == Known::no_errors;
      begin(resuming ? Absent::hand_through : Absent::fill);
    }
    if (content_ != nullptr) return std::min(count, content_->slots() - position());
    return is_filling() ? Stage::do_skip(count, known) : input_->skip(count, known);
  }

  TracedPlace do_trace(std::uint64_t position) const override {
    std::unique_lock lock(mutex_);
    const Content content = content_;
    const PeekedInput* const input = input_.get();
    lock.unlock();
    if (content == nullptr && input == nullptr) {  // zip asks for both of its sides
      return TracedPlace::unknown(label(), "has not begun");
    }
    if (content == nullptr) return input->trace(position);
    TracedPlace kept = content->places().find(position);
    if (!kept.place && content->places().is_empty()) {
      return TracedPlace::unknown("it was cached while nothing was recorded, or from no file");
    }
    return kept;
  }

 private:
  enum class Absent { fill, hand_through };

  void begin(Absent absent = Absent::fill) {
    begun_ = true;
    const bool keeps = !knob_ || knob_->value() != 0;
    const Content there = keeps ? shared_->get() : nullptr;
    if (there != nullptr && begin_reading(there)) return;
    if (keeps && there == nullptr && absent == Absent::fill) {
      const std::lock_guard lock(mutex_);
      filled_ = std::make_shared<CachedElements>(type());
    }
    auto input = std::make_unique<PeekedInput>(node_.open(input_context_), run(), counters());
    const std::lock_guard lock(mutex_);
    input_ = std::move(input);
  }

  /// Returns false if there is no room for the content.
  bool begin_reading(const Content& content) {
    const std::lock_guard lock(mutex_);
    if (!reserve([&] { memory_.grow(content->bytes()); })) return false;
    run().counters().note_hidden_errors(content->errors_on_the_way());
    run().seeds().note_inner_draws(content->inner_draws(), input_context_.inner);
    publish_level(*content);
    content_ = content;
    return true;
  }

  /// Returns the content that is being filled; null if there is none.
  std::shared_ptr<CachedElements> filling() const { return is_complete_ ? nullptr : filled_; }
  bool is_filling() const {
    const std::lock_guard lock(mutex_);
    return filling() != nullptr;
  }

  /// Appends the elements to the content that is being filled, if there is one. Returns true if
  /// that is all: a consumer may take no more than the input is known to have.
  bool keep(Chunk& out) {
    std::unique_lock lock(mutex_);
    const std::shared_ptr<CachedElements> content = filling();
    if (content == nullptr) return false;
    // The next pass keeps what it gets.
    if (has_passing_error(out) || input_->lacks_elements()) {
      drop();
      return false;
    }
    const std::uint64_t before = content->slots();
    try {
      if (!reserve([&] { content->append(out, memory_); })) return false;
    } catch (const Error&) {
      drop_behind(out, static_cast<std::size_t>(content->slots() - before));
      throw;
    }
    publish_level(*content);
    lock.unlock();
    if (run().keeps_places())
      note_places(run(), content->places(), before, out.size(), input_->stage(), before);
    const Cardinality known = node_.cardinality();
    return known.is_finite() && content->slots() == known.count() && input_->is_over();
  }

  /// Drops the elements after the first `count`.
  static void drop_behind(Chunk& out, std::size_t count) {
    if (count < out.slots()) out.take_error();
    if (count >= out.size()) return;
    out.type().destroy(out.value(count), out.size() - count);
    out.drop_back(out.size() - count);
  }

  /// Makes the content that was filled, if there is one, that of all later passes.
  void publish() {
    const std::lock_guard lock(mutex_);
    const std::shared_ptr<CachedElements> content = filling();
    if (content == nullptr) return;
    if (input_->lacks_elements()) return drop();
    content->note_errors_on_the_way(run().counters().errors_before(counters()));
    content->note_inner_draws(run().seeds().inner_draws(node_, input_context_.inner));
    is_complete_ = true;
    shared_->publish(content);
  }

  /// Releases the content, which this pass needs no longer. It stays with the dataset.
  void release() {
    const std::lock_guard lock(mutex_);
    drop();
  }
  /// Called under mutex_.
  void drop() {
    filled_ = nullptr;
    memory_.shrink(memory_.bytes());
    note_buffered(0, 0);
  }

  /// Forgets what this pass of an optional cache has kept so far.
  void give_up() {
    const std::lock_guard lock(mutex_);
    if (filled_ == nullptr) return;
    shared_->forget(filled_);
    drop();
    knob_->refuse();
  }

  /// Calls `hold`, which asks the account for memory, under mutex_. A refusal is reworded to say
  /// what helps here. Returns false if the pass goes on without a cache.
  template <class Hold>
  bool reserve(const Hold& hold) {
    try {
      hold();
      return true;
    } catch (const Error& error) {
      drop();
      if (knob_) {
        knob_->refuse();
        return false;
      }
      throw error.reworded(
          error.code(),
          fmt::format("the elements can't be kept in memory: {}; or cache less, or in files with "
                      "infeed::cache({{.path = ...}})",
                      error.message()));
    }
  }

  void publish_level(const CachedElements& content) {
    note_buffered(content.slots(), content.bytes());
  }

  const StageContext input_context_;
  const Node& node_;
  const std::shared_ptr<SharedContent> shared_;
  std::optional<Knob> knob_;  ///< only in an optional cache
  bool begun_ = false;
  Content content_;  ///< the content that is read
  std::unique_ptr<PeekedInput> input_;
  mutable std::mutex mutex_;
  std::shared_ptr<CachedElements> filled_;  ///< in this pass, until its end
  bool is_complete_ = false;                ///< filled_ has all elements
  Reservation memory_;
  std::optional<MemoryOffer> offer_;  ///< only in an optional cache; goes before what it gives up
};

bool has_drawn_seeds(const Node& node) {
  const std::optional<Seeds> seeds = node.seeds();
  return (seeds && seeds->drawn) ||
         std::any_of(node.inputs().begin(), node.inputs().end(),
                     [](const NodePointer& input) { return has_drawn_seeds(*input); });
}

class MemoryCacheNode final : public Node {
 public:
  MemoryCacheNode(NodePointer input, CacheUse use)
      : Node(use == CacheUse::always ? "cache" : "optional_cache", input->type(), {input}),
        use_(use),
        draws_(has_drawn_seeds(*input)),
        shared_(std::make_shared<SharedContent>()) {}

  Cardinality cardinality() const override { return input().cardinality(); }
  std::uint64_t buffer_bytes_min() const override {
    if (use_ == CacheUse::as_tuned) return 0;
    return input()
        .cardinality()
        .transform([this](std::uint64_t n) { return bytes_of_elements(n, element_bytes_min()); })
        .count();
  }
  /// A resume hands through what isn't kept, unless elements have failed.
  StreamPlace input_resumed(std::size_t, const ResumedStage& stage) const override {
    return {0, stage.known == Known::no_errors ? stage.place.position : 0, true};
  }
  std::uint64_t element_bytes_min() const override { return input().element_bytes_min(); }

 protected:
  std::unique_ptr<Stage> make_stage(const StageContext& context) const override {
    return std::make_unique<MemoryCacheStage>(context, content_of(context), input(), use_);
  }

 private:
  std::shared_ptr<SharedContent> content_of(const StageContext& context) const {
    const IteratorContext& run = context.run;
    const Node* const outermost = context.inner.outermost;
    const bool draws_by_outermost = outermost != nullptr && draws_;
    if (!draws_by_outermost && !run.seeds().are_others()) return shared_;
    std::vector<std::string> signature = signature_of(input(), run.seeds().adopted());
    if (draws_by_outermost) {
      signature.push_back(std::to_string(run.seeds().of(*outermost).seed));
    } else if (signature == signature_of(input())) {
      return shared_;
    }
    return others_->of(draws_by_outermost ? outermost : nullptr, std::move(signature));
  }

  const CacheUse use_;
  const bool draws_;  ///< by seeds that weren't given
  const std::shared_ptr<SharedContent> shared_;
  const std::shared_ptr<ContentsBySeeds> others_ = std::make_shared<ContentsBySeeds>();
};

}  // namespace

NodePointer make_memory_cache(NodePointer input, CacheUse use) {
  return std::make_shared<MemoryCacheNode>(std::move(input), use);
}

}  // namespace infeed::detail
