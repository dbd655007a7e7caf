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

/// What the readers of one iterator's files share.
///
/// Thread-safety: all functions may be called from any thread.
class ReaderResources {
 public:
  explicit ReaderResources(MemoryAccount& memory) : memory_(memory) {}

  /// Of the readers of record files, one after the other; made when it is asked for first. Null
  /// where the account has no room for it.
  std::shared_ptr<SpareBlocks> spare_blocks();
  /// At the end of the run.
  void drop_spare_blocks();
  /// What a manifest says of a record file. Each manifest is read once, however many of its shards
  /// are opened one by one.
  std::optional<ManifestShard> find_in_manifest(const std::string& file);
  /// Of the readers of files by URL.
  const std::shared_ptr<SharedCredentials>& shared_credentials() const { return credentials_; }

 private:
  MemoryAccount& memory_;
  const std::shared_ptr<SharedCredentials> credentials_ = share_credentials();
  std::mutex mutex_;
  std::shared_ptr<SpareBlocks> spare_blocks_;  // what it may keep is in the account
  std::mutex manifests_mutex_;
  ShardManifests manifests_;
};

}  // namespace infeed::detail
