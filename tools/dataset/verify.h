#pragma once

#include <cstdint>
#include <functional>
#include <stop_token>
#include <string>
#include <vector>

/// Why: disks, copies and people damage files in silence. This reads every byte of a dataset and
/// compares it with what was written.
namespace infeed::tools {

struct VerifyOptions {
  int threads = 0;  ///< 0: one a core
  std::stop_token stop = {};
  /// About ten times a second: files so far, of how many.
  std::function<void(std::size_t done, std::size_t total)> on_progress = {};
};

struct Problem {
  std::string file;
  std::string text;
};

struct Verification {
  std::size_t files = 0;
  std::uint64_t records = 0;
  std::uint64_t bytes = 0;
  double seconds = 0;
  std::vector<Problem> problems = {};  ///< in the order of the files; none: all is as it should be
};

/// Every shard, and what lies beside it, against the manifest: there, size, CRC-32C; where a shard
/// differs, its records are read to say which are damaged. Also names shards that don't belong to
/// it but that a pattern for its shards would find. Throws what read_manifest() does.
Verification verify_manifest(const std::string& manifest_file, const VerifyOptions& options = {});

/// Record files without a manifest, by the records' own checksums: a file that lost records at its
/// end can't be told from a shorter one.
Verification verify_records(const std::vector<std::string>& files,
                            const VerifyOptions& options = {});

}  // namespace infeed::tools
