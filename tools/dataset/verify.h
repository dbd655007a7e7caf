#pragma once

#include <cstdint>
#include <functional>
#include <stop_token>
#include <string>
#include <vector>

/// Why: disks, copies and people damage files in silence. Verifying reads every byte of a dataset
/// and compares it with the recorded checksums.
namespace infeed::tools {

struct VerifyOptions {
  int threads = 0;  ///< 0: one a core
  std::stop_token stop = {};
  /// Called about ten times a second with the files done and their total number.
  std::function<void(std::size_t done, std::size_t total)> on_progress = {};
};

struct Problem {
  std::string file;
  std::string text;
  bool is_known = true;  ///< false: it can't be read now, as without a network
};

struct Verification {
  std::size_t files = 0;
  std::uint64_t records = 0;
  std::uint64_t bytes = 0;
  double seconds = 0;
  std::vector<Problem> problems = {};  ///< in the order of the files; none: all is well
};

/// Compares every shard, and the files beside it, with the manifest: existence, size, CRC-32C. The
/// records of a shard that differs are read to find the damaged ones. Also reports shards that
/// don't belong to the dataset but match a pattern for its shards. Throws the errors of
/// read_manifest().
Verification verify_manifest(const std::string& manifest_file, const VerifyOptions& options = {});

/// Verifies record files without a manifest, by the records' own checksums. It can't tell a file
/// that lost records at its end from a shorter one.
Verification verify_records(const std::vector<std::string>& files,
                            const VerifyOptions& options = {});

}  // namespace infeed::tools
