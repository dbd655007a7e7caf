#include "sources/records/listed_counts.h"

#include <fmt/format.h>

#include <infeed/records/files.h>

namespace infeed::detail {
namespace {

/// interleave describes a source for each file. Reading the manifest of ten thousand shards for
/// each of them would take longer than reading many a shard.
bool is_one_of_several(const std::vector<std::string>& files) {
  if (files.size() != 1) return false;
  const std::optional<ShardName> name = parse_shard_name(files.front());
  return name && name->shard.count > 1;
}

template <class Find>
std::optional<ManifestShard> find_listed(Find find) try {
  return find();
} catch (const Error& error) {
  throw error.reworded(error.code(),
                       fmt::format("{}; {{.manifest = ManifestUse::ignore}} reads the records "
                                   "without it",
                                   error.message()));
}

std::string records_and_bytes(std::uint64_t records, std::optional<std::uint64_t> bytes) {
  return fmt::format("{} records{}", records, bytes ? fmt::format(" ({} bytes)", *bytes) : "");
}

}  // namespace

ListedCounts::ListedCounts(const std::vector<std::string>& files)
    : asks_when_opened_(is_one_of_several(files)) {
  if (asks_when_opened_) return;
  ShardManifests manifests;
  files_.reserve(files.size());
  for (const std::string& file : files) {
    files_.push_back(find_listed([&] { return manifests.find(file); }));
  }
}

Cardinality ListedCounts::sum() const {
  if (files_.empty()) return Cardinality::unknown();
  std::uint64_t records = 0;
  bool is_beyond = false;
  for (const auto& file : files_) {
    if (!file) return Cardinality::unknown();
    is_beyond |= __builtin_add_overflow(records, file->examples, &records);
  }
  return is_beyond ? Cardinality::infinite() : Cardinality::finite(records);
}

std::optional<ManifestShard> ListedCounts::of(std::size_t i, const std::string& file,
                                              IteratorContext& run) const {
  if (asks_when_opened_) return find_listed([&] { return run.readers().find_in_manifest(file); });
  return i < files_.size() ? files_[i] : std::nullopt;
}

Error wrong_count(const std::string& file, const ManifestShard& listed, std::uint64_t found,
                  std::optional<std::uint64_t> file_bytes) {
  const bool is_short = found < listed.examples;
  Error error(
      ErrorCode::data_loss,
      fmt::format("the file ends behind {}, but its manifest '{}' says {}: it was {} since that "
                  "was written; take it from a copy or convert it again, or, if it is as it should "
                  "be, read it with {{.manifest = ManifestUse::ignore}}",
                  records_and_bytes(found, file_bytes), manifest_of(file).value_or(std::string()),
                  records_and_bytes(listed.examples, listed.sum.bytes),
                  is_short ? "cut between two records, or replaced," : "replaced"));
  error.at_file(file);
  if (is_short) error.losing({.records = listed.examples - found - 1});
  return error;
}

}  // namespace infeed::detail
