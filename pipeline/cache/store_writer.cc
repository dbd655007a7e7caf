#include "cache/store_writer.h"

#include <algorithm>
#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <unordered_set>
#include <utility>

#include <infeed/detail/folder_entries.h>
#include <infeed/pipeline/detail/seeds.h>

#include "engine/work/passing_error.h"

namespace infeed::detail {
namespace {

// The errors of an input of which hardly anything succeeds would fill the memory before a shard ends.
constexpr std::size_t kPendingLinesMax = 1024;

bool is_shard_name(std::string_view name) {
  if (name.starts_with('.')) name.remove_prefix(1);
  if (name.ends_with(".partial")) name.remove_suffix(std::string_view(".partial").size());
  return name.starts_with("data-") && name.ends_with(".tfrecord");
}

/// Removes shards that no journal names, left by a writer that was killed.
void remove_unnamed(const std::string& folder, const StoreContent& content) {
  std::unordered_set<std::string> named;
  for (const StoredShard& shard : content.shards) named.insert(shard.file);
  std::error_code failure;
  // A shard that can't be found or removed only takes space.
  for (const auto& [name, type] : detail::folder_entries(folder, failure)) {
    if (!is_shard_name(name) || named.contains(name)) continue;
    std::filesystem::remove(std::filesystem::path(folder) / name, failure);
  }
}

/// Replaces the journal in one step. Returns it, open for appending.
File replace_journal(const std::string& folder, const std::string& text, Durability durability) {
  const std::string name = journal_file(folder);
  replace_file(name, text, durability);
  return File::open_own(name, O_RDWR | O_APPEND);
}

}  // namespace

std::optional<StoreLock> StoreLock::try_lock(const std::string& folder) {
  make_folder(folder);
  std::optional<File> file = File::open_locked(folder + "/lock", O_RDWR | O_CREAT);
  if (!file) return std::nullopt;
  return StoreLock(std::move(*file));
}

StoreWriter::StoreWriter(std::string folder, StoreContent content, ErasedCodec codec,
                         const StoreWriterOptions& options)
    : folder_(std::move(folder)),
      codec_(std::move(codec)),
      options_(options),
      run_(fmt::format("{:016x}", random_seed())),
      journal_(replace_journal(folder_, journal_of(content), options_.durability), kJournalChecksum,
               options_.durability),
      shard_count_(content.shards.size()),
      slots_(content.slots()),
      errors_(content.errors.size()),
      draws_(content.draws) {
  remove_unnamed(folder_, content);
}

bool StoreWriter::append(const Chunk& chunk) {
  const auto* const first = static_cast<const std::byte*>(chunk.front());
  for (std::size_t i = 0; i < chunk.size(); ++i) append_value(first + i * chunk.type().size);
  if (!chunk.has_error()) return true;
  if (has_passing_error(chunk)) return false;
  pending_lines_.push_back(journal_error(slots_++, *chunk.error()));
  ++errors_;
  // They don't count in the journal until a shard or the end follows them.
  if (pending_lines_.size() == kPendingLinesMax) journal_.append(std::exchange(pending_lines_, {}));
  return true;
}

void StoreWriter::append_value(const void* element) {
  if (!writer_) {
    shard_file_ = fmt::format("data-{}-{:05}.tfrecord", run_, shard_count_);
    writer_.emplace(folder_ + "/" + shard_file_,
                    RecordWriterOptions{.compression = options_.compression,
                                        .durability = options_.durability});
  }
  buffer_.clear();
  codec_.encode(element, buffer_);
  writer_->write(buffer_);
  ++slots_;
  if (writer_->position().offset >= options_.shard_bytes) close_shard();
}

void StoreWriter::close_shard() {
  if (!writer_) return;
  const std::uint64_t values = writer_->position().record;
  writer_->close();
  writer_.reset();
  ++shard_count_;
  const std::string file = folder_ + "/" + shard_file_;
  const StoredShard shard{shard_file_, values, std::filesystem::file_size(file)};
  append_to_journal(journal_shard(shard));
}

void StoreWriter::finish() {
  close_shard();
  append_to_journal(journal_end(slots_));
}

void StoreWriter::append_to_journal(std::string line) {
  std::vector<std::string> lines = std::exchange(pending_lines_, {});
  // A stage that passes over the stored elements may see their errors again, or not (map).
  lines.push_back(journal_seen(std::max(errors_, options_.errors_seen())));
  for (const StoredDraw& draw : options_.draws()) {
    if (std::find(draws_.begin(), draws_.end(), draw) != draws_.end()) continue;
    draws_.push_back(draw);
    lines.push_back(journal_draw(draw));
  }
  lines.push_back(std::move(line));
  journal_.append(lines);
}

}  // namespace infeed::detail
