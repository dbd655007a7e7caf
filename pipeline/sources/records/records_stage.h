#pragma once

#include <atomic>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <infeed/pipeline/records.h>
#include <infeed/pipeline/stage.h>
#include <infeed/records/detail/mapped_files.h>

#include "sources/records/listed_counts.h"

namespace infeed::detail {

inline constexpr std::uint64_t kNotCounted = std::numeric_limits<std::uint64_t>::max();

/// Elements of a file, once somebody has gone through it without an error.
struct FileCount {
  std::atomic<std::uint64_t> read{kNotCounted};
  /// Payloads were passed over unseen: right as long as none of them is damaged.
  std::atomic<std::uint64_t> skipped{kNotCounted};
};

/// The state that all iterators of one source share.
struct RecordSources {
  RecordSources(std::vector<std::string> list, RecordsOptions reader_options)
      : files(std::move(list)),
        options(std::move(reader_options)),
        listed(options.manifest == ManifestUse::check ? ListedCounts(files) : ListedCounts()),
        counts(files.size()),
        mapped_files(options.map_files ? std::make_shared<MappedFiles>() : nullptr) {}

  const std::vector<std::string> files;
  const RecordsOptions options;
  const ListedCounts listed;
  std::vector<FileCount> counts;
  const std::shared_ptr<MappedFiles> mapped_files;  ///< may be null
};

/// Gives the records of the files, pulled or in blocks.
std::unique_ptr<Stage> make_records_stage(const StageContext& context,
                                          std::shared_ptr<RecordSources> sources);

}  // namespace infeed::detail
