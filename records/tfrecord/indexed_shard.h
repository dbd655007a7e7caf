#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "infeed/error.h"
#include "infeed/records/record_index.h"
#include "infeed/records/record_set.h"
#include "infeed/records/shard_manifest.h"
#include "io/input_file.h"
#include "memory/block.h"

namespace infeed::detail {

/// Offsets in half of their room: 32 bits each, from that of every 64th on.
class RecordPlaces {
 public:
  RecordPlaces() = default;
  /// As RecordIndex has them: one more than there are records.
  explicit RecordPlaces(std::vector<std::uint64_t> offsets);

  std::uint64_t size() const { return size_; }
  /// Memory for the places of so many records.
  static constexpr std::uint64_t bytes_of(std::uint64_t records) {
    const std::uint64_t offsets = records + 1;
    return offsets * sizeof(std::uint32_t) + (offsets / kGroup + 1) * sizeof(std::uint64_t);
  }
  /// The begin of a record; that of number size() is the end of the last one.
  std::uint64_t offset(std::uint64_t record) const {
    return wide_.empty() ? bases_[record / kGroup] + within_[record] : wide_[record];
  }

 private:
  static constexpr std::uint64_t kGroup = 64;

  std::uint64_t size_ = 0;
  std::vector<std::uint64_t> bases_;
  std::vector<std::uint32_t> within_;
  std::vector<std::uint64_t> wide_;  // in their place, where 64 records have more than 4 GiB
};

/// A file of a RecordSet: how many records it has is known from the start, where they are from when
/// the first of them is asked for.
///
/// Thread-safety: any threads at once.
class IndexedShard {
 public:
  struct Places {
    RecordPlaces records;
    std::uint64_t file_bytes = 0;
    std::optional<Error> rest = std::nullopt;  // for those that `records` doesn't have
  };

  /// Null when nothing says where the records are. Throws what a RecordSet does.
  static std::unique_ptr<IndexedShard> find(const std::string& name,
                                            const std::optional<ManifestShard>& listed,
                                            WithoutIndex without_index,
                                            const std::shared_ptr<SpareBlocks>& spare);

  const std::string& name() const { return blocks_->file(); }
  std::uint64_t size() const { return size_; }
  /// The pool that its records' blocks come from.
  const std::shared_ptr<BlockPool>& blocks() const { return blocks_; }

  /// Null before load().
  const Places* places() const { return ready_.load(std::memory_order_acquire); }
  /// `file` is the shard's own. What is wrong with the file as a whole is `rest`; it throws what
  /// may be better the next time.
  const Places& load(const InputFile& file) const;

 private:
  enum class Source { index, manifest, headers };

  IndexedShard(const std::string& name, Source source, const std::shared_ptr<SpareBlocks>& spare)
      : source_(source),
        blocks_(std::make_shared<BlockPool>(name, FreeBlocks{.blocks_max = 0}, spare)) {}

  std::string index_file() const { return name() + ".index"; }
  Places by_index(const InputFile& file) const;
  Places by_headers(const InputFile& file) const;
  void set_places(Places places) const;

  const Source source_;
  const std::shared_ptr<BlockPool> blocks_;
  std::uint64_t size_ = 0;
  mutable std::mutex mutex_;
  mutable std::unique_ptr<const Places> places_;
  mutable std::atomic<const Places*> ready_ = nullptr;
};

}  // namespace infeed::detail
