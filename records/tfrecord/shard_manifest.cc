#include "infeed/records/shard_manifest.h"

#include <filesystem>
#include <fmt/format.h>
#include <new>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <utility>

#include "infeed/detail/format_version.h"
#include "infeed/detail/printable_text.h"
#include "infeed/error.h"
#include "infeed/records/crc32c.h"
#include "infeed/records/detail/json_depth.h"
#include "infeed/records/detail/json_integers.h"
#include "infeed/records/file.h"
#include "infeed/records/files.h"

namespace infeed {
namespace {

using Json = nlohmann::json;

constexpr std::string_view kManifestName = "infeed-manifest";
constexpr std::uint32_t kManifestVersion = 1;
constexpr std::string_view kManifestEnding = ".manifest.json";

std::string hexadecimal(std::uint32_t value) { return fmt::format("{:08x}", value); }

Json describe_sum(const FileSum& sum) {
  return {{"bytes", sum.bytes}, {"crc32c", hexadecimal(sum.crc32c)}};
}

FileSum parse_sum(const Json& json) {
  return {.bytes = detail::json_integer<std::uint64_t>(json, "bytes"),
          .crc32c = static_cast<std::uint32_t>(
              std::stoul(json.at("crc32c").get<std::string>(), nullptr, 16))};
}

/// A shard that isn't one file in the manifest's own folder.
struct StrangeName : std::runtime_error {
  using std::runtime_error::runtime_error;
};

ManifestShard parse_shard(const Json& json) {
  ManifestShard shard;
  shard.file = detail::bytes_of_utf8_name(json.at("file").get<std::string>());
  // Whoever wrote the manifest could write its checksum as well.
  if (!is_file_name(shard.file)) throw StrangeName(shard.file);
  shard.sum = parse_sum(json);
  shard.examples = detail::json_integer<std::uint64_t>(json, "examples");
  for (const std::string name : {"index", "points"}) {
    if (json.contains(name)) shard.side_file = SideFile{"." + name, parse_sum(json[name])};
  }
  return shard;
}

/// Bytes of an input may stand in messages, and JSON is UTF-8.
std::string dump_json(const Json& json, int indent) {
  return json.dump(indent, ' ', false, Json::error_handler_t::replace);
}

/// Discarded where it is no JSON. The depth is looked at first, as no checksum has been checked yet.
Json parse_manifest(const std::string& text, const std::string& file) {
  if (!detail::exceeds_json_limits(text)) return Json::parse(text, nullptr, false);
  throw Error(ErrorCode::data_loss,
              fmt::format("the manifest is damaged: {}", detail::json_limits_text()))
      .at_file(file);
}

std::string format_text() { return fmt::format("{} {}", kManifestName, kManifestVersion); }

void check_format(const Json& format, const std::string& file) {
  const std::string text = format.is_string() ? format.get<std::string>() : "";
  const std::uint32_t version = detail::format_version(text, kManifestName);
  if (version == kManifestVersion) return;
  if (version > kManifestVersion) {
    throw detail::later_format("the manifest", version, kManifestVersion, "make the dataset anew")
        .at_file(file);
  }
  throw Error(ErrorCode::failed_precondition,
              fmt::format("this is no manifest of infeed: its \"format\" is {}, and '{}' was "
                          "expected; give the manifest that infeed convert wrote",
                          dump_json(format, -1), format_text()))
      .at_file(file);
}

using ListedShards = std::unordered_map<std::string, ManifestShard>;

/// By name; none where there is no manifest.
ListedShards list_shards(const std::string& manifest_file) {
  ListedShards shards;
  std::error_code ignored;
  if (!std::filesystem::exists(manifest_file, ignored)) return shards;
  for (ManifestShard& shard : read_shard_manifest(manifest_file).shards) {
    std::string name = shard.file;
    shards.emplace(std::move(name), std::move(shard));
  }
  return shards;
}

}  // namespace

std::string_view side_ending_of(std::string_view file) {
  for (const std::string_view ending : {".index", ".points", ".idx"}) {
    if (file.ends_with(ending)) return ending;
  }
  return {};
}

std::string to_json(const ManifestShard& shard) {
  Json json = describe_sum(shard.sum);
  json["file"] = detail::utf8_name(shard.file);
  json["examples"] = shard.examples;
  if (shard.side_file) json[shard.side_file->ending.substr(1)] = describe_sum(shard.side_file->sum);
  return dump_json(json, -1);
}

ManifestShard parse_manifest_shard(const std::string& json) try {
  if (detail::exceeds_json_limits(json)) throw std::runtime_error("depth");
  return parse_shard(Json::parse(json));
} catch (const std::bad_alloc&) {
  throw;  // is no damage
} catch (const std::exception&) {
  throw Error(ErrorCode::data_loss, fmt::format("'{}' describes no shard of a manifest", json));
}

std::optional<std::string> manifest_of(const std::string& shard) {
  if (is_url(shard)) return std::nullopt;
  const std::optional<ShardName> name = parse_shard_name(shard);
  if (!name) return std::nullopt;
  return std::string(name->prefix).append(kManifestEnding);
}

ShardManifest read_shard_manifest(const std::string& file) {
  Json json = parse_manifest(read_file(file), file);
  if (json.is_object()) check_format(json.value("format", Json()), file);
  try {
    const std::string checksum = json.at("checksum").get<std::string>();
    json.erase("checksum");
    ShardManifest manifest{.shards = {}, .json = dump_json(json, -1)};
    if (checksum != hexadecimal(crc32c(manifest.json))) throw std::runtime_error("checksum");
    for (const Json& shard : json.at("shards")) manifest.shards.push_back(parse_shard(shard));
    return manifest;
  } catch (const StrangeName& name) {
    throw Error(ErrorCode::data_loss,
                fmt::format("the manifest names '{}' as a shard, which is no name of a file in its "
                            "own folder; that was not read, and who made the manifest should not "
                            "be trusted",
                            name.what()))
        .at_file(file);
  } catch (const std::bad_alloc&) {
    throw;  // is no damage
  } catch (const std::exception&) {
    throw Error(ErrorCode::data_loss,
                "the manifest is damaged: its checksum does not match what it says; take it from a "
                "copy, or make the dataset anew")
        .at_file(file);
  }
}

std::optional<ManifestShard> ShardManifests::find(const std::string& file) {
  const std::optional<std::string> manifest = manifest_of(file);
  if (!manifest) return std::nullopt;
  auto set = sets_.find(*manifest);
  if (set == sets_.end()) set = sets_.emplace(*manifest, list_shards(*manifest)).first;
  const auto shard = set->second.find(std::filesystem::path(file).filename().string());
  return shard == set->second.end() ? std::nullopt : std::optional(shard->second);
}

std::string seal_manifest(const std::string& json) {
  Json sealed = Json::parse(json);
  sealed["format"] = format_text();
  sealed["checksum"] = hexadecimal(crc32c(dump_json(sealed, -1)));
  return dump_json(sealed, 1) + "\n";
}

}  // namespace infeed
