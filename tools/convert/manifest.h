#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <infeed/convert/example_input.h>
#include <infeed/records/shard_manifest.h>

#include "convert/column_statistics.h"

/// Why: a folder of shards doesn't show whether it is whole. The manifest beside them
/// (NAME.manifest.json) does: the shards, their examples and bytes, CRC-32C of every file, the
/// columns with statistics, the examples that were left out. It is written last: if it exists,
/// everything does.
///
/// The JSON: format, shards and checksum as in infeed/records/shard_manifest.h, where an entry of a
/// gzip shard has "points" instead of "index", and one of an lz4 shard neither; "plan": the plan's
/// own JSON (conversion_plan.h) and "plan_id"; "examples", "bytes"; "columns": ColumnStatistics,
/// and "shape" if all examples have the same; "classes": meanings of the labels 0, 1..., if the
/// input knows them; "quarantined": input, error.
namespace infeed::tools {

/// An example that could not be read and was left out.
struct QuarantinedExample {
  std::string input;  ///< its name in the input
  std::string error;
  bool operator==(const QuarantinedExample&) const = default;
};

/// A finished shard, as the journal has it.
struct ShardEntry : ManifestShard {
  ShardEntry() = default;
  explicit ShardEntry(ManifestShard of_manifest) : ManifestShard(std::move(of_manifest)) {}

  std::uint32_t shard = 0;
  ColumnStatistics statistics;
  std::vector<QuarantinedExample> quarantined;
};

/// Convert to one line of JSON and back. Returns nothing if the text isn't from to_text(). The
/// journal has checked the text, so it is then of another version.
std::string to_text(const ShardEntry& entry);
std::optional<ShardEntry> parse_shard_entry(const std::string& text);

struct Manifest {
  std::string plan_text;
  std::string plan_id;
  std::vector<ShardEntry> shards;  ///< their statistics and quarantined are in the sums below
  ColumnStatistics statistics;
  std::vector<QuarantinedExample> quarantined;
  ColumnShapes shapes = {};
  std::vector<std::string> classes = {};

  std::uint64_t examples() const;
  std::uint64_t bytes() const;  ///< sum over the shards, without indices
};

/// Sums up finished shards, which must be in order.
Manifest make_manifest(std::string plan_text, std::string plan_id, std::vector<ShardEntry> shards);
std::string to_text(const Manifest& manifest);
/// Throws data_loss if it is damaged, failed_precondition if it is no manifest.
Manifest read_manifest(const std::string& file);

}  // namespace infeed::tools
