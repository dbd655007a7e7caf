#include "infeed/pipeline/snapshot.h"

#include <algorithm>
#include <filesystem>
#include <fmt/format.h>

#include <infeed/detail/folder_entries.h>
#include <infeed/pipeline/errors_in_flight.h>
#include <infeed/pipeline/iterator.h>
#include <infeed/records/crc32c.h>

#include "cache/file_cache_node.h"
#include "cache/store_journal.h"
#include "cache/store_reader.h"
#include "engine/iterator_context.h"

namespace infeed::detail {
namespace {

struct Snapshot {
  std::string folder;
  StoreContent content;
  ErasedCodec codec;
};

class ReadSnapshotStage final : public Stage {
 public:
  ReadSnapshotStage(const StageContext& context, const Snapshot& snapshot)
      : Stage(context),
        reader_(snapshot.folder, snapshot.content, snapshot.codec, memory(), "read_snapshot") {}

  Pull do_pull(Chunk& out, std::size_t want) override {
    try {
      return reader_.read(out, want) > 0 ? Pull::values : Pull::end;
    } catch (const std::bad_alloc&) {
      throw;  // terminal
    } catch (...) {
      out.set_error(current_error());
      reader_.leave_shard();
      return Pull::values;
    }
  }

 protected:
  std::uint64_t do_skip(std::uint64_t count, Known known) override {
    // A shard that can't be read makes fewer elements, which only reading shows.
    return known == Known::no_errors ? reader_.skip(count) : Stage::do_skip(count, known);
  }
  TracedPlace do_trace(std::uint64_t position) const override { return Stage::do_trace(position); }

 private:
  StoreReader reader_;
};

class ReadSnapshotNode final : public Node {
 public:
  ReadSnapshotNode(const TypeInfo& type, Snapshot snapshot)
      : Node("read_snapshot", type),
        snapshot_(std::move(snapshot)),
        fingerprint_(crc32c(journal_of(snapshot_.content))) {}

  std::string signature() const override {
    return fmt::format("read_snapshot(count={}, crc32c={:08x})", snapshot_.content.slots(),
                       fingerprint_);
  }
  StageTraits traits() const override { return {.reads_files = true}; }
  Cardinality cardinality() const override {
    return Cardinality::finite(snapshot_.content.slots());
  }

 protected:
  std::unique_ptr<Stage> make_stage(const StageContext& context) const override {
    return std::make_unique<ReadSnapshotStage>(context, snapshot_);
  }

 private:
  const Snapshot snapshot_;
  const std::uint32_t fingerprint_;
};

/// Returns `path` itself, or the single folder in it that has a journal.
std::string find_snapshot(const std::string& path) {
  const auto has_journal = [](const std::string& folder) {
    std::error_code ignored;
    return std::filesystem::exists(journal_file(folder), ignored);
  };
  if (has_journal(path)) return path;
  std::error_code failure;
  std::vector<std::string> found;
  for (const auto& [name, type] : detail::folder_entries(path, failure)) {
    const std::string folder = (std::filesystem::path(path) / name).string();
    if (has_journal(folder)) found.push_back(folder);
  }
  if (found.size() == 1) return found.front();
  if (found.empty()) {
    throw Error(ErrorCode::not_found,
                "read_snapshot: there is no snapshot here; give the folder that write_snapshot "
                "has written")
        .at_file(path);
  }
  std::sort(found.begin(), found.end());
  std::string list;
  for (const std::string& folder : found) list += (list.empty() ? "" : ", ") + folder;
  throw Error(ErrorCode::failed_precondition,
              fmt::format("read_snapshot: there are {} snapshots here; give one of their folders: "
                          "{}",
                          found.size(), list))
      .at_file(path);
}

}  // namespace

FileCacheOptions file_cache_options(SnapshotOptions options) {
  return {.path = std::move(options.path),
          .version = std::move(options.version),
          .shard_bytes = options.shard_bytes,
          .compression = options.compression,
          .durability = options.durability,
          .on_event = std::move(options.on_event)};
}

NodePointer make_read_snapshot(const std::string& path, const TypeInfo& type, ErasedCodec codec) {
  const std::string folder = find_snapshot(path);
  std::optional<StoreContent> content = read_journal(folder);
  const auto refuse = [&](std::string message) {
    throw Error(ErrorCode::failed_precondition, "read_snapshot: " + std::move(message))
        .at_file(folder);
  };
  if (!content || !content->complete) {
    refuse(fmt::format("the snapshot is not complete ({} elements are there); write it to its end",
                       content ? content->slots() : 0));
  }
  const std::string layout = "elements " + codec.layout;
  if (content->identity.empty() || content->identity.front() != layout) {
    refuse(fmt::format("the snapshot holds '{}', not '{}'; read it as the type that was written",
                       content->identity.empty() ? "(nothing)" : content->identity.front(),
                       layout));
  }
  return std::make_shared<ReadSnapshotNode>(
      type, Snapshot{folder, std::move(*content), std::move(codec)});
}

SnapshotSummary drain_snapshot(const NodePointer& node, IterateOptions options) {
  const AdoptedSeeds adopted =
      options.resume ? check_signature(*options.resume, *node) : AdoptedSeeds();
  SnapshotSummary summary{
      .folder = static_cast<const FileCacheNode&>(*node).description_with(adopted).folder};
  IteratorCore core(node, std::move(options));
  std::optional<Error> last;
  while (true) {
    try {
      if (!core.refill()) break;
      const std::size_t count = core.chunk().size();
      core.chunk().type().destroy(core.chunk().front(), count);
      core.took(count);
    } catch (const Error& error) {
      if (error.is_terminal()) throw;
      last = error;
    }
  }
  const std::optional<StoreContent> content = read_journal(summary.folder);
  if (!content || !content->complete) {
    if (last) throw Error(*last);
    throw Error(ErrorCode::unavailable,
                "write_snapshot: the snapshot isn't complete: somebody else is writing it, or "
                "stages before have left out errors that may pass (unavailable, "
                "deadline_exceeded); try again")
        .at_file(summary.folder);
  }
  summary.elements = content->slots();
  summary.errors = content->errors.size();
  return summary;
}

}  // namespace infeed::detail
