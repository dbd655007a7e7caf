#include "convert/manifest.h"

#include <nlohmann/json.hpp>

#include <infeed/error.h>
#include <infeed/records/files.h>

#include "fuzz.h"

/// Manifests of any text, with a right checksum, too: refused, or good, with shards in their own
/// folder, and the same after being written again.
namespace infeed::fuzz {
namespace {

/// The first byte chooses whether the rest gets a checksum.
std::string text_of(Input input) {
  const bool is_sealed = input.byte() % 2 != 0;
  std::string text(input.rest());
  if (!is_sealed || std::count(text.begin(), text.end(), '[') > 50) return text;
  const auto json = nlohmann::json::parse(text, nullptr, false);
  return json.is_object() ? seal_manifest(text) : text;
}

}  // namespace

void check(Input input) {
  static const MemoryFile memory;
  const std::string file = memory.write(text_of(input));
  try {
    const tools::Manifest manifest = tools::read_manifest(file);
    for (const tools::ShardEntry& shard : manifest.shards) {
      require(is_file_name(shard.file), "a shard is a file in the manifest's folder");
    }
    const tools::Manifest again = tools::read_manifest(memory.write(to_text(manifest)));
    require(again.shards.size() == manifest.shards.size(), "as many shards as were written");
    for (std::size_t i = 0; i < manifest.shards.size(); ++i) {
      require(again.shards[i].file == manifest.shards[i].file &&
                  again.shards[i].sum == manifest.shards[i].sum &&
                  again.shards[i].examples == manifest.shards[i].examples,
              "a shard is what was written");
    }
    require(again.quarantined == manifest.quarantined && again.classes == manifest.classes &&
                again.plan_text == manifest.plan_text,
            "what else it says is what was written");
  } catch (const Error& error) {
    require(error.code() == ErrorCode::data_loss || error.code() == ErrorCode::failed_precondition,
            "a bad manifest is refused as what it is");
  }
}

}  // namespace infeed::fuzz
