#include "train_shards.h"

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>
#include <system_error>

#include "atomic_file.h"
#include "convert.h"

namespace infeed::tools {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

constexpr int kFormat = 1;

/// Changes when the file does.
Json describe_file(const std::string& file) {
  std::error_code error;
  const auto size = fs::file_size(file, error);
  const auto time = fs::last_write_time(file, error);
  if (error) return nullptr;
  return {{"file", file}, {"bytes", size}, {"time", time.time_since_epoch().count()}};
}

/// What must be the same for the shards to be used again.
Json describe_set(const IdxPair& source, const std::vector<std::string>& shards) {
  Json set{{"format", kFormat},
           {"source", {describe_file(source.images_file), describe_file(source.labels_file)}}};
  for (const std::string& shard : shards) set["shards"].push_back(describe_file(shard));
  return set;
}

Json read_json(const std::string& file) {
  std::ifstream in(file);
  return in ? Json::parse(in, nullptr, false) : Json();
}

std::optional<TrainShards> find_shards(const std::string& description_file, const IdxPair& source,
                                       const std::vector<std::string>& files) {
  const Json found = read_json(description_file);
  if (!found.is_object() || !found.contains("examples")) return std::nullopt;
  Json expected = describe_set(source, files);
  expected["examples"] = found["examples"];
  if (found != expected) return std::nullopt;
  TrainShards shards{
      .files = files, .examples = found["examples"].get<std::uint64_t>(), .reused = true};
  for (const std::string& file : files) shards.bytes += fs::file_size(file);
  return shards;
}

}  // namespace

TrainShards prepare_shards(const TrainShardsOptions& options) {
  const IdxPair source = find_idx_pair(options.data_folder, options.split);
  const std::string prefix =
      (fs::path(options.shard_folder) / std::string(to_string(options.split))).string();
  const std::string description_file = prefix + ".shards.json";
  ConvertOptions conversion{.prefix = prefix,
                            .shard_count = options.shard_count,
                            .compression = options.compression,
                            .existing = ExistingFile::replace,
                            .threads = options.threads,
                            .stop = options.stop};
  if (auto found = find_shards(description_file, source, shard_files(conversion))) return *found;

  const auto input = open_idx_pair(source.images_file, source.labels_file);
  const double total = static_cast<double>(input->size());
  conversion.on_progress = [&](std::uint64_t done) {
    if (options.on_progress) options.on_progress(static_cast<double>(done) / total);
  };
  const ConvertResult converted = convert(*input, conversion);
  Json set = describe_set(source, converted.files);
  set["examples"] = converted.examples;
  replace_file(description_file, set.dump(1) + "\n");
  return {.files = converted.files,
          .bytes = converted.bytes,
          .examples = converted.examples,
          .seconds = converted.seconds};
}

}  // namespace infeed::tools
