#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include <infeed/pipeline/memory_account.h>
#include <infeed/records/shard_manifest.h>
#include <infeed/records/spare_blocks.h>
#include <infeed/records/url_options.h>

namespace infeed::detail {

/// The resources that the readers of one iterator's files share.
///
/// Thread-safety: all functions may be called from any thread.
class ReaderResources {
 public:
  explicit ReaderResources(MemoryAccount& memory) : memory_(memory) {}

  /// Returns the blocks that each reader leaves to the next, for the reader of `file`. Null if the
  /// account has no room for them, and for a small file, which is read as quickly without them.
  std::shared_ptr<SpareBlocks> spare_blocks(const std::string& file);
  /// Gives the blocks and their memory back at the end of the run.
  void drop_spare_blocks();
  /// Returns the manifest's entry for a record file. Each manifest is read once, however many of
  /// its shards are opened one by one.
  std::optional<ManifestShard> find_in_manifest(const std::string& file);
  /// Returns the credentials that all readers of files by URL share.
  const std::shared_ptr<SharedCredentials>& shared_credentials() const { return credentials_; }

 private:
  MemoryAccount& memory_;
  const std::shared_ptr<SharedCredentials> credentials_ = share_credentials();
  std::mutex mutex_;
  std::shared_ptr<SpareBlocks> spare_blocks_;  // all that it may keep counts in the account
  std::mutex manifests_mutex_;
  ShardManifests manifests_;
};

}  // namespace infeed::detail
