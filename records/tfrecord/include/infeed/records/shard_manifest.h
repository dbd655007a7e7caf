#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "infeed/records/file_sum.h"

/// Why: a file that is cut between two records looks whole, and a folder of shards doesn't say
/// whether one is missing. The manifest that `infeed convert` writes beside them (PREFIX.manifest
/// .json) does: which shards there are, and how many records and bytes each has.
///
///     infeed::ShardManifest manifest = infeed::read_shard_manifest("data/train.manifest.json");
///     for (const infeed::ManifestShard& shard : manifest.shards) read(shard.file);
///
/// This is the part of it that readers need; what else stands there (plan, columns, classes) is in
/// the JSON and belongs to those who write it (tools/convert/manifest.h). The JSON as a whole is an
/// object with "format": "infeed-manifest 1", "shards", and "checksum": CRC-32C of the compact JSON
/// of the rest. JSON is UTF-8: bytes of names that aren't stand there as `\xNN`.
///
/// Errors: data_loss when it is damaged, failed_precondition when it is no manifest or one of
/// another version, and what read_file() throws.
/// Thread-safety: values; ShardManifests is for one thread at a time.
namespace infeed {

/// A file that lies beside a shard.
struct SideFile {
  std::string ending;  ///< ".index" or ".points": its name is the shard's with that behind
  FileSum sum;
  bool operator==(const SideFile&) const = default;
};

/// Returns the ending of a file that lies beside a record file: ".index", ".points", or DALI's ".idx";
/// empty for another file.
std::string_view side_ending_of(std::string_view file);

struct ManifestShard {
  std::string file;  ///< in the manifest's folder; anything else but a file's name is data_loss
  FileSum sum;
  std::uint64_t examples = 0;
  std::optional<SideFile> side_file;
};

/// One object of JSON and back. data_loss for a text that is not one of to_json().
std::string to_json(const ManifestShard& shard);
ManifestShard parse_manifest_shard(const std::string& json);

struct ShardManifest {
  std::vector<ManifestShard> shards;
  std::string json;  ///< all of it, without the checksum
};

/// Where the manifest of the set would lie that a file belongs to by its name: "data/train.manifest
/// .json". Nothing for files that aren't named like shards, and for URLs. Looks at no file.
std::optional<std::string> manifest_of(const std::string& shard);

ShardManifest read_shard_manifest(const std::string& file);

/// The manifests beside record files: each is looked for, and read, once.
class ShardManifests {
 public:
  /// Returns what they say of this file; nothing for a file that none lists.
  std::optional<ManifestShard> find(const std::string& file);

 private:
  std::unordered_map<std::string, std::unordered_map<std::string, ManifestShard>> sets_;
};

/// For those who write one: the text of the file for a JSON object with "shards" and whatever else.
std::string seal_manifest(const std::string& json);

}  // namespace infeed
