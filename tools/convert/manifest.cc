#include "convert/manifest.h"

#include <new>
#include <nlohmann/json.hpp>

#include <infeed/detail/printable_text.h>
#include <infeed/error.h>
#include <infeed/records/detail/json_depth.h>
#include <infeed/records/detail/json_integers.h>

namespace infeed::tools {
namespace {

using Json = nlohmann::json;

/// Decodes names and quoted texts, which may be any bytes, from JSON's UTF-8.
std::string bytes_at(const Json& json, const char* key) {
  return detail::bytes_of_utf8_name(json.at(key).get<std::string>());
}

Json describe(const std::vector<QuarantinedExample>& quarantined) {
  Json list = Json::array();
  for (const QuarantinedExample& example : quarantined) {
    list.push_back(
        {{"input", detail::utf8_name(example.input)}, {"error", detail::utf8_name(example.error)}});
  }
  return list;
}

std::vector<QuarantinedExample> parse_quarantined(const Json& json) {
  std::vector<QuarantinedExample> list;
  for (const Json& item : json) {
    list.push_back({bytes_at(item, "input"), bytes_at(item, "error")});
  }
  return list;
}

std::string dump(const Json& json) { return json.dump(); }

}  // namespace

std::string to_text(const ShardEntry& entry) {
  Json json = Json::parse(to_json(entry));
  json["shard"] = entry.shard;
  json["statistics"] = entry.statistics.to_json();
  json["quarantined"] = describe(entry.quarantined);
  return dump(json);
}

std::optional<ShardEntry> parse_shard_entry(const std::string& text) try {
  if (detail::exceeds_json_limits(text)) return std::nullopt;
  const Json json = Json::parse(text);
  ShardEntry entry(parse_manifest_shard(text));
  entry.shard = detail::json_integer<std::uint32_t>(json, "shard");
  entry.statistics = ColumnStatistics::from_json(json.at("statistics"));
  entry.quarantined = parse_quarantined(json.at("quarantined"));
  return entry;
} catch (const std::bad_alloc&) {
  throw;  // is no damage
} catch (const std::exception&) {
  return std::nullopt;
}

std::uint64_t Manifest::examples() const {
  std::uint64_t sum = 0;
  for (const ShardEntry& entry : shards) sum += entry.examples;
  return sum;
}

std::uint64_t Manifest::bytes() const {
  std::uint64_t sum = 0;
  for (const ShardEntry& entry : shards) sum += entry.sum.bytes;
  return sum;
}

Manifest make_manifest(std::string plan_text, std::string plan_id, std::vector<ShardEntry> shards) {
  Manifest manifest{.plan_text = std::move(plan_text),
                    .plan_id = std::move(plan_id),
                    .shards = std::move(shards),
                    .statistics = ColumnStatistics(),
                    .quarantined = {}};
  for (const ShardEntry& entry : manifest.shards) {
    manifest.statistics.merge(entry.statistics);
    manifest.quarantined.insert(manifest.quarantined.end(), entry.quarantined.begin(),
                                entry.quarantined.end());
  }
  return manifest;
}

std::string to_text(const Manifest& manifest) {
  const Json statistics = manifest.statistics.to_json();
  Json json{{"plan", Json::parse(manifest.plan_text)},
            {"plan_id", manifest.plan_id},
            {"examples", manifest.examples()},
            {"bytes", manifest.bytes()},
            {"columns", statistics.at("columns")},
            {"opaque_records", statistics.at("opaque_records")},
            {"quarantined", describe(manifest.quarantined)},
            {"shards", Json::array()}};
  for (Json& column : json["columns"]) {
    const auto shape = manifest.shapes.find(bytes_at(column, "name"));
    if (shape != manifest.shapes.end() && !shape->second.empty()) column["shape"] = shape->second;
  }
  for (const std::string& name : manifest.classes) {
    json["classes"].push_back(detail::utf8_name(name));
  }
  for (const ShardEntry& entry : manifest.shards) {
    json["shards"].push_back(Json::parse(to_json(entry)));
  }
  return seal_manifest(dump(json));
}

Manifest read_manifest(const std::string& file) {
  ShardManifest checked = read_shard_manifest(file);
  const Json json = Json::parse(checked.json);
  try {
    Manifest manifest;
    manifest.plan_text = json.at("plan").dump(1) + "\n";
    manifest.plan_id = json.at("plan_id").get<std::string>();
    for (ManifestShard& shard : checked.shards) {
      manifest.shards.emplace_back(std::move(shard));
      manifest.shards.back().shard = static_cast<std::uint32_t>(manifest.shards.size() - 1);
    }
    manifest.statistics = ColumnStatistics::from_json(json);
    manifest.quarantined = parse_quarantined(json.at("quarantined"));
    for (const Json& column : json.at("columns")) {
      if (!column.contains("shape")) continue;
      manifest.shapes[bytes_at(column, "name")] =
          detail::json_integers<std::uint64_t>(column["shape"]);
    }
    for (const std::string& name : json.value("classes", std::vector<std::string>())) {
      manifest.classes.push_back(detail::bytes_of_utf8_name(name));
    }
    return manifest;
  } catch (const std::bad_alloc&) {
    throw;  // is no damage
  } catch (const std::exception&) {
    throw Error(ErrorCode::data_loss,
                "the manifest doesn't say what one of this version does; take it from a copy, or "
                "make the dataset anew")
        .at_file(file);
  }
}

}  // namespace infeed::tools
