#include "convert/manifest.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <utility>

#include <infeed/error.h>
#include <infeed/records/crc32c.h>
#include <infeed/records/file.h>

namespace infeed::tools {
namespace {

using Json = nlohmann::json;

constexpr std::string_view kFormat = "infeed-manifest 1";

std::string hexadecimal(std::uint32_t value) { return fmt::format("{:08x}", value); }

Json describe(const FileSum& sum) {
  return {{"bytes", sum.bytes}, {"crc32c", hexadecimal(sum.crc32c)}};
}

FileSum parse_sum(const Json& json) {
  return {.bytes = json.at("bytes").get<std::uint64_t>(),
          .crc32c = static_cast<std::uint32_t>(
              std::stoul(json.at("crc32c").get<std::string>(), nullptr, 16))};
}

Json describe(const std::vector<QuarantinedExample>& quarantined) {
  Json list = Json::array();
  for (const QuarantinedExample& example : quarantined) {
    list.push_back({{"input", example.input}, {"error", example.error}});
  }
  return list;
}

std::vector<QuarantinedExample> parse_quarantined(const Json& json) {
  std::vector<QuarantinedExample> list;
  for (const Json& item : json) {
    list.push_back({item.at("input").get<std::string>(), item.at("error").get<std::string>()});
  }
  return list;
}

/// What journal and manifest both say of a shard.
Json describe_shard(const ShardEntry& entry) {
  Json json = describe(entry.sum);
  json["file"] = entry.file;
  json["examples"] = entry.examples;
  if (entry.side_file) json[entry.side_file->ending.substr(1)] = describe(entry.side_file->sum);
  return json;
}

ShardEntry parse_shard(const Json& json) {
  ShardEntry entry;
  entry.file = json.at("file").get<std::string>();
  entry.sum = parse_sum(json);
  entry.examples = json.at("examples").get<std::uint64_t>();
  for (const std::string name : {"index", "points"}) {
    if (json.contains(name)) entry.side_file = SideFile{"." + name, parse_sum(json[name])};
  }
  return entry;
}

/// Bytes of an input may stand in messages, and JSON is UTF-8.
std::string dump(const Json& json, int indent) {
  return json.dump(indent, ' ', false, Json::error_handler_t::replace);
}

}  // namespace

std::string to_text(const ShardEntry& entry) {
  Json json = describe_shard(entry);
  json["shard"] = entry.shard;
  json["statistics"] = entry.statistics.to_json();
  json["quarantined"] = describe(entry.quarantined);
  return dump(json, -1);
}

std::optional<ShardEntry> parse_shard_entry(const std::string& text) try {
  const Json json = Json::parse(text);
  ShardEntry entry = parse_shard(json);
  entry.shard = json.at("shard").get<std::uint32_t>();
  entry.statistics = ColumnStatistics::from_json(json.at("statistics"));
  entry.quarantined = parse_quarantined(json.at("quarantined"));
  return entry;
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
  Json json{{"format", kFormat},
            {"plan", Json::parse(manifest.plan_text)},
            {"plan_id", manifest.plan_id},
            {"examples", manifest.examples()},
            {"bytes", manifest.bytes()},
            {"columns", statistics.at("columns")},
            {"opaque_records", statistics.at("opaque_records")},
            {"quarantined", describe(manifest.quarantined)},
            {"shards", Json::array()}};
  for (Json& column : json["columns"]) {
    const auto shape = manifest.shapes.find(column.at("name").get<std::string>());
    if (shape != manifest.shapes.end() && !shape->second.empty()) column["shape"] = shape->second;
  }
  if (!manifest.classes.empty()) json["classes"] = manifest.classes;
  for (const ShardEntry& entry : manifest.shards) json["shards"].push_back(describe_shard(entry));
  json["checksum"] = hexadecimal(crc32c(dump(json, -1)));
  return dump(json, 1) + "\n";
}

Manifest read_manifest(const std::string& file) {
  const std::string text = read_file(file);
  Json json = Json::parse(text, nullptr, false);
  if (json.is_object() && json.value("format", std::string()) != kFormat) {
    throw Error(ErrorCode::failed_precondition,
                fmt::format("this is no manifest of this version ('{}')", kFormat))
        .at_file(file);
  }
  try {
    const std::string checksum = json.at("checksum").get<std::string>();
    json.erase("checksum");
    if (checksum != hexadecimal(crc32c(dump(json, -1)))) throw std::runtime_error("checksum");
    Manifest manifest;
    manifest.plan_text = json.at("plan").dump(1) + "\n";
    manifest.plan_id = json.at("plan_id").get<std::string>();
    for (const Json& shard : json.at("shards")) {
      manifest.shards.push_back(parse_shard(shard));
      manifest.shards.back().shard = static_cast<std::uint32_t>(manifest.shards.size() - 1);
    }
    manifest.statistics = ColumnStatistics::from_json(json);
    manifest.quarantined = parse_quarantined(json.at("quarantined"));
    for (const Json& column : json.at("columns")) {
      if (!column.contains("shape")) continue;
      manifest.shapes[column.at("name").get<std::string>()] =
          column["shape"].get<std::vector<std::uint64_t>>();
    }
    manifest.classes = json.value("classes", std::vector<std::string>());
    return manifest;
  } catch (const std::exception&) {
    throw Error(ErrorCode::data_loss,
                "the manifest is damaged: its checksum does not match what it says; take it from a "
                "copy, or make the dataset anew")
        .at_file(file);
  }
}

}  // namespace infeed::tools
