#include "infeed/pipeline/file_cache.h"

#include <algorithm>
#include <atomic>
#include <fmt/format.h>

#include "cache/file_cache_node.h"
#include "cache/peeked_input.h"
#include "cache/store_reader.h"
#include "cache/store_writer.h"
#include "cache/stored_draws.h"
#include "engine/iterator_context.h"
#include "engine/seeds/signature.h"

namespace infeed::detail {
namespace {

/// True for errors that say nothing of a file's bytes: a network, memory or rights that fail for a
/// moment mustn't cost what was stored.
bool may_pass(ErrorCode code) {
  return code == ErrorCode::unavailable || code == ErrorCode::resource_exhausted ||
         code == ErrorCode::permission_denied;
}

/// Does one pass: reads the stored elements and, if it may, writes the missing ones.
class FileCacheStage final : public Stage {
 public:
  FileCacheStage(const StageContext& context, StoreDescription description, const Node& input)
      : Stage(context),
        input_context_(context.run.shared_by_all(context)),
        node_(input),
        store_(std::move(description)) {}

  Pull do_pull(Chunk& out, std::size_t want) override {
    if (mode_ == Mode::undecided) begin(Absent::write);
    if (mode_ == Mode::read) {
      if (read(out, want)) return Pull::values;
      if (mode_ == Mode::read && reader_->content().complete) return Pull::end;
      if (mode_ == Mode::read) go_on_writing();
    }
    return pull_input(out, want);
  }

 protected:
  std::uint64_t do_skip(std::uint64_t count, Known known) override {
    // A resume must be quick: skipped elements aren't made, so this pass writes nothing.
    if (mode_ == Mode::undecided) {
      begin(known == Known::no_errors ? Absent::hand_through : Absent::write);
    }
    if (mode_ == Mode::read && reader_->content().complete) return reader_->skip(count);
    return mode_ == Mode::hand_through ? input_->skip(count, known) : Stage::do_skip(count, known);
  }

  TracedPlace do_trace(std::uint64_t position) const override {
    if (const PeekedInput* const input = traced_input_; input != nullptr)
      return input->trace(position);
    return TracedPlace::unknown(counters().label +
                                " read it from its store, and the stages before did not run");
  }

 private:
  enum class Mode { undecided, read, write, hand_through };
  enum class Absent { write, hand_through };

  void begin(Absent absent) {
    std::optional<StoreContent> content = readable_content();
    if (!content) {
      const bool has_begun = absent == Absent::write && begin_writing();
      if (!has_begun) go_without();
      return;
    }
    tell(StoreEvent::Kind::reading, content->slots(), "the elements are read from files");
    open_reader(std::move(*content));
  }

  /// Returns the content if it is complete, intact and this pipeline's. Throws if it is another
  /// pipeline's and may not be rewritten.
  std::optional<StoreContent> readable_content() {
    std::optional<StoreContent> content = read_journal(store_.folder);
    if (!content || !is_ours(*content) || !content->complete) return std::nullopt;
    if (content->intact_shards(store_.folder) < content->shards.size()) return std::nullopt;
    if (!are_of_run(content->draws, input_context_, node_)) return std::nullopt;
    return content;
  }

  bool is_ours(const StoreContent& content) const {
    if (content.identity == store_.identity) return true;
    if (store_.options.mismatch == FileCacheOptions::Mismatch::rewrite) return false;
    const auto [theirs, ours] = std::mismatch(content.identity.begin(), content.identity.end(),
                                              store_.identity.begin(), store_.identity.end());
    throw Error(ErrorCode::failed_precondition,
                fmt::format("the folder holds the elements of another pipeline: it has '{}' where "
                            "this one has '{}'; give another path, remove the folder, or allow "
                            "Mismatch::rewrite",
                            theirs == content.identity.end() ? "(nothing)" : *theirs,
                            ours == store_.identity.end() ? "(nothing)" : *ours))
        .at_file(store_.folder);
  }

  /// Returns false if this pass goes without the store.
  bool begin_writing() {
    try {
      lock_ = StoreLock::try_lock(store_.folder);
      if (!lock_) {
        tell(StoreEvent::Kind::busy, 0, "another iteration is writing the elements");
        return false;
      }
      // The previous owner of the lock may have finished.
      if (std::optional<StoreContent> content = readable_content(); content) {
        lock_.reset();
        open_reader(std::move(*content));
        return true;
      }
      if (holds_other_draws()) return false;
      StoreContent content = content_to_go_on_from();
      writer_ = make_writer(content);
      open_reader(std::move(content));
      return true;
    } catch (const Error& error) {
      if (error.code() == ErrorCode::failed_precondition) throw;
      give_up(error);
    }
  }

  bool holds_other_draws() {
    const std::optional<StoreContent> content = read_journal(store_.folder);
    if (!content || !is_ours(*content)) return false;
    if (are_of_run(content->draws, input_context_, node_)) return false;
    lock_.reset();
    tell(StoreEvent::Kind::other_draws, content->slots(),
         "inner datasets drew by other seeds for the elements that are there than in this run, "
         "which goes without them");
    return true;
  }

  StoreContent content_to_go_on_from() {
    std::optional<StoreContent> content = read_journal(store_.folder);
    if (content && !is_ours(*content)) {
      tell(StoreEvent::Kind::rewriting, 0,
           "the folder held the elements of another pipeline, which are thrown away");
      content = std::nullopt;
    } else if (content) {
      content->cut(content->intact_shards(store_.folder));
      content->complete = false;
      tell(StoreEvent::Kind::resuming, content->slots(),
           fmt::format("{} elements are there; writing goes on behind them", content->slots()));
    } else {
      tell(StoreEvent::Kind::writing, 0, "the elements are written to files");
    }
    if (content) return std::move(*content);
    StoreContent nothing;
    nothing.identity = store_.identity;
    nothing.errors_on_the_way = 0;
    return nothing;
  }

  void open_reader(StoreContent content) {
    run().counters().note_hidden_errors(content.errors_on_the_way.value_or(1));
    note_in_run(content.draws, input_context_, node_);
    reader_.emplace(store_.folder, std::move(content), store_.codec, memory(),
                    store_.has_own_folder ? "snapshot" : "cache");
    mode_ = Mode::read;
  }

  /// Returns false at the end of the stored elements, or if they can't be read.
  bool read(Chunk& out, std::size_t want) {
    try {
      return reader_->read(out, want) > 0;
    } catch (const Error& error) {
      const std::uint64_t position = reader_->position();
      tell(StoreEvent::Kind::damaged, position,
           fmt::format("the stored elements can't be read from element {} on ({}); they are made "
                       "anew",
                       position, error.what()));
      writer_ = nullptr;
      if (!may_pass(error.code())) forget_damaged();
      lock_.reset();
      go_without(position);
      return false;
    }
  }

  /// Cuts off the damaged shard, so that it isn't read again. The next pass makes it anew.
  void forget_damaged() {
    const std::string& damaged = reader_->content().shards[reader_->shard()].file;
    try {
      if (!lock_) lock_ = StoreLock::try_lock(store_.folder);
      if (!lock_) return;
      std::optional<StoreContent> content = read_journal(store_.folder);
      // Somebody may have repaired it since.
      const bool is_there = content && content->shards.size() > reader_->shard() &&
                            content->shards[reader_->shard()].file == damaged;
      if (is_there) {
        content->cut(reader_->shard());
        make_writer(std::move(*content));
      }
    } catch (const Error& error) {
      tell(StoreEvent::Kind::gave_up, 0, error.what());
    }
  }

  std::unique_ptr<StoreWriter> make_writer(StoreContent content) const {
    return std::make_unique<StoreWriter>(
        store_.folder, std::move(content), store_.codec,
        StoreWriterOptions{store_.options.shard_bytes, store_.options.compression,
                           store_.options.durability,
                           [this] { return run().counters().errors_before(counters()); },
                           [this] { return draws_of_run(input_context_, node_); }});
  }

  /// Goes on with the input after the stored part.
  void go_on_writing() {
    open_input_behind(reader_->position());
    mode_ = Mode::write;
  }

  /// Opens the input after the stored elements.
  void open_input_behind(std::uint64_t stored) {
    input_ = std::make_unique<PeekedInput>(node_.open(input_context_), run(), counters());
    traced_input_ = input_.get();
    const std::uint64_t skipped = input_->skip(stored, Known::nothing);
    if (skipped == stored || run().cancelled()) return;
    throw Error(ErrorCode::failed_precondition,
                fmt::format("the folder holds the first {} elements, but the stages before now end "
                            "after {}; they have changed: remove the folder, or give them another "
                            "version",
                            stored, skipped))
        .at_file(store_.folder);
  }

  Pull pull_input(Chunk& out, std::size_t want) {
    const Pull pulled = input_->pull(out, want);
    if (mode_ == Mode::hand_through || pulled == Pull::cancelled) return pulled;
    try {
      if (input_->lacks_elements() || (pulled == Pull::values && !writer_->append(out))) {
        writer_->stop();
        end_writing(
            StoreEvent::Kind::gave_up,
            "elements are stored; behind them comes an error that may pass, or one was left "
            "out, so the next pass goes on there");
      } else if (pulled == Pull::end || has_all()) {
        finish();
      }
    } catch (const Error& error) {
      give_up(error);
    }
    return pulled;
  }

  /// Returns true if all elements are written. A consumer may take no more than the input is known
  /// to have.
  bool has_all() {
    const Cardinality known = node_.cardinality();
    return known.is_finite() && writer_->slots() == known.count() && input_->is_over() &&
           !input_->lacks_elements();
  }

  void finish() {
    writer_->finish();
    end_writing(StoreEvent::Kind::finished, "elements are stored");
  }

  void end_writing(StoreEvent::Kind kind, std::string_view what) {
    const std::uint64_t elements = writer_->slots();
    mode_ = Mode::hand_through;
    writer_ = nullptr;
    lock_.reset();
    tell(kind, elements, fmt::format("{} {}", elements, what));
  }

  [[noreturn]] void give_up(const Error& error) {
    writer_ = nullptr;
    lock_.reset();
    tell(StoreEvent::Kind::gave_up, 0, error.what());
    Error told = error.reworded(
        error.code(), fmt::format("the elements can't be stored: {}; make room or give another "
                                  "path, or leave the cache out",
                                  error.message()));
    if (told.file().empty()) told.at_file(store_.folder);
    throw told;
  }

  void go_without(std::uint64_t position = 0) {
    mode_ = Mode::hand_through;
    open_input_behind(position);
  }

  void tell(StoreEvent::Kind kind, std::uint64_t elements, std::string message) const {
    if (!store_.options.on_event) return;
    store_.options.on_event({kind, store_.folder, elements, std::move(message)});
  }

  const StageContext input_context_;
  const Node& node_;
  const StoreDescription store_;
  Mode mode_ = Mode::undecided;
  std::optional<StoreLock> lock_;
  std::optional<StoreReader> reader_;
  std::unique_ptr<StoreWriter> writer_;  ///< destroyed before lock_
  std::unique_ptr<PeekedInput> input_;
  std::atomic<const PeekedInput*> traced_input_{nullptr};  ///< input_, for any thread
};

std::uint64_t hash_of(const std::vector<std::string>& lines) {
  std::uint64_t hash = 0xCBF29CE484222325;  // FNV-1a
  for (const std::string& line : lines) {
    for (const char c : line + "\n") {
      hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3;
    }
  }
  return hash;
}

/// Sets the identity of the elements, and for a snapshot the folder. `drawn_by` says by what stages
/// draw whose seeds in `adopted` aren't their own.
void identify(StoreDescription& description, const Node& input, const AdoptedSeeds& adopted = {},
              const std::string& drawn_by = {}) {
  description.identity = {"elements " + description.codec.layout};
  // Seeds of inner datasets aren't part of the identity: the next process draws others.
  AdoptedSeeds shown = adopted;
  std::erase_if(shown, [](const auto& entry) { return entry.second.inner; });
  for (const std::string& stage : signature_of(input, shown)) {
    description.identity.push_back("stage " + stage);
  }
  if (!drawn_by.empty()) description.identity.push_back("drawn by " + drawn_by);
  const std::string& version = description.options.version;
  if (!version.empty()) description.identity.push_back("version " + version);
  description.folder = description.options.path;
  if (description.has_own_folder) {
    description.folder += fmt::format("/{:016x}", hash_of(description.identity));
  }
}

/// Adds seeds of 0 for the stages that have drawn theirs.
void hide_drawn_seeds(const Node& node, AdoptedSeeds& shown) {
  const std::optional<Seeds> seeds = node.seeds();
  if (seeds && seeds->drawn && !seeds->inner) shown.emplace(&node, Seeds{});
  for (const NodePointer& input : node.inputs()) hide_drawn_seeds(*input, shown);
}

/// Sets the identity of elements of an inner dataset. It is described anew for each outer element, and
/// nobody draws by the seeds of its descriptions. The seed that counts is that of the outermost
/// flat_map, which is stored with the elements.
void identify_inside(StoreDescription& description, const Node& input) {
  AdoptedSeeds shown;
  hide_drawn_seeds(input, shown);
  if (!shown.empty()) identify(description, input, shown, "the dataset around it");
}

bool draws_inside(const Node& node) {
  const std::optional<Seeds> seeds = node.seeds();
  return (seeds && seeds->inner) ||
         std::any_of(node.inputs().begin(), node.inputs().end(),
                     [](const NodePointer& input) { return draws_inside(*input); });
}

}  // namespace

FileCacheNode::FileCacheNode(std::string name, StoreDescription description, NodePointer input)
    : Node(std::move(name), input->type(), {input}), description_(std::move(description)) {}

std::unique_ptr<Stage> FileCacheNode::make_stage(const StageContext& context) const {
  StoreDescription description = description_with(context.run.seeds().adopted());
  if (context.inner.outermost != nullptr) identify_inside(description, input());
  return std::make_unique<FileCacheStage>(context, std::move(description), input());
}

StoreDescription FileCacheNode::description_with(const AdoptedSeeds& adopted) const {
  StoreDescription description = description_;
  if (!adopted.empty()) identify(description, input(), adopted);
  return description;
}

AdoptedSeeds FileCacheNode::kept_seeds(const AdoptedSeeds& adopted) const {
  if (!draws_inside(input())) return {};
  try {
    const StoreDescription store = description_with(adopted);
    const std::optional<StoreContent> content = read_journal(store.folder);
    if (!content || content->identity != store.identity) return {};
    return seeds_in(content->draws, input());
  } catch (const Error&) {  // the stage meets the error again, and reports it
    return {};
  }
}

NodePointer make_file_cache(std::string name, FileCacheOptions options, ErasedCodec codec,
                            NodePointer input) {
  if (options.path.empty()) {
    throw Error(ErrorCode::invalid_argument, name + ": path is empty; give a folder");
  }
  options.shard_bytes.of(name, "shard_bytes");
  StoreDescription description{.options = std::move(options),
                               .codec = std::move(codec),
                               .has_own_folder = name == "snapshot"};
  identify(description, *input);
  return std::make_shared<FileCacheNode>(std::move(name), std::move(description), std::move(input));
}

}  // namespace infeed::detail
