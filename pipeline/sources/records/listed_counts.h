#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <infeed/error.h>
#include <infeed/pipeline/cardinality.h>
#include <infeed/records/shard_manifest.h>

#include "engine/iterator_context.h"

namespace infeed::detail {

/// The entries for a records source's files in the manifests beside them.
///
/// Thread-safety: any threads at once.
class ListedCounts {
 public:
  /// None of them is asked.
  ListedCounts() = default;
  /// Throws when a manifest can't be used.
  explicit ListedCounts(const std::vector<std::string>& files);

  /// Returns the records of all files together, if each of them is listed. A sum beyond 2^64 is
  /// infinite.
  Cardinality sum() const;
  /// Returns the entry of file number `i`, whose name is `file`.
  std::optional<ManifestShard> of(std::size_t i, const std::string& file,
                                  IteratorContext& run) const;

 private:
  std::vector<std::optional<ManifestShard>> files_;
  bool asks_when_opened_ = false;
};

/// Returns the error for a file that gave `found` records and is over.
Error wrong_count(const std::string& file, const ManifestShard& listed, std::uint64_t found,
                  std::optional<std::uint64_t> file_bytes);

}  // namespace infeed::detail
