#include "convert/conversion_plan.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <infeed/detail/format_version.h>
#include <infeed/detail/printable_text.h>
#include <infeed/error.h>
#include <infeed/records/crc32c.h>
#include <infeed/records/detail/json_depth.h>
#include <infeed/records/detail/record_frame.h>
#include <infeed/records/files.h>

#include "cli/side_file.h"
#include "convert/example_split.h"

namespace infeed::tools {
namespace {

using Json = nlohmann::json;

constexpr std::string_view kPlanName = "infeed-plan";
constexpr std::uint32_t kPlanVersion = 1;
constexpr std::uint32_t kShardsMax = 99'999;  // more don't fit the names' five digits
// Large enough that opening a file costs nothing, small enough that hosts can share them.
constexpr double kShardBytesWanted = 128.0 * 1024 * 1024;
constexpr double kShardsMaxWanted = 4096;  // beyond it shards get larger
constexpr std::size_t kFilesListedMax = 64;
constexpr std::uint64_t kSampledExamples = 64;

/// Lists few files by name, so that a message can say which one changed; many by one checksum.
Json describe_files(const std::vector<InputFile>& files) {
  std::uint64_t bytes = 0;
  std::uint32_t crc = 0;
  Json list = Json::object();
  for (const InputFile& file : files) {
    const std::string state =
        is_url(file.path) ? fmt::format("{} bytes, version {}", file.bytes, file.version)
                          : fmt::format("{} bytes, modified {} ns", file.bytes, file.modified_ns);
    bytes += file.bytes;
    crc = extend_crc32c(crc, fmt::format("{}\n{}\n", file.path, state));
    if (files.size() <= kFilesListedMax)
      list[detail::utf8_name(file.path)] = detail::utf8_name(state);
  }
  return {{"count", files.size()},
          {"bytes", bytes},
          {"crc32c", fmt::format("{:08x}", crc)},
          {"listed", list}};
}

std::string describe_part(const ConvertOptions& options) {
  if (options.part == SplitPart::all) return "all";
  const std::string by =
      options.split_column.empty() ? "" : fmt::format(" of column '{}'", options.split_column);
  return fmt::format("{} of a split by hash{}, {} for validation",
                     options.part == SplitPart::train ? "train" : "validation", by,
                     options.validation_share);
}

std::uint32_t choose_shard_count(const ExampleInput& input, const ConvertOptions& options) {
  if (options.shard_bytes == 0 && options.shard_count > 0) {
    if (options.shard_count <= kShardsMax) return options.shard_count;
    throw Error(ErrorCode::invalid_argument,
                fmt::format("{} shards were asked for, but at most {} can be named",
                            options.shard_count, kShardsMax));
  }
  const double bytes = sample_size(input).bytes_per_example * static_cast<double>(input.size()) *
                       share_of_part(options);
  const bool is_size_given = options.shard_bytes > 0;
  const double wanted =
      is_size_given ? static_cast<double>(options.shard_bytes) : kShardBytesWanted;
  double count = std::min(std::ceil(bytes / wanted), static_cast<double>(input.size()));
  if (!is_size_given) count = std::min(count, kShardsMaxWanted);
  if (count > kShardsMax) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("shards of {} bytes would be {:.0f}, but at most {} can be named; make "
                            "them larger",
                            options.shard_bytes, count, kShardsMax));
  }
  return static_cast<std::uint32_t>(std::max(count, 1.0));
}

void add_differences(const Json& there, const Json& now, const std::string& name,
                     std::vector<std::string>& differences) {
  if (there == now) return;
  if (there.is_object() && now.is_object()) {
    Json names = there;
    names.update(now);
    for (const auto& item : names.items()) {
      const std::string& key = item.key();
      const auto part = [&key](const Json& json) {
        return json.contains(key) ? json[key] : Json();
      };
      add_differences(part(there), part(now), name.empty() ? key : name + " " + key, differences);
    }
    return;
  }
  const auto text = [](const Json& json) { return json.is_null() ? "none" : json.dump(); };
  differences.push_back(fmt::format("{}: {} there, {} now", name, text(there), text(now)));
}

}  // namespace

DatasetNames::DatasetNames(const std::string& prefix)
    : folder(std::filesystem::path(prefix).parent_path().string()),
      name(std::filesystem::path(prefix).filename().string()) {
  if (folder.empty()) folder = ".";
  const std::filesystem::path path(folder);
  plan_file = (path / ("." + name + ".plan.json")).string();
  journal_file = (path / ("." + name + ".journal")).string();
  manifest_file = (path / (name + ".manifest.json")).string();
  aside_folder = (path / ("." + name + ".aside")).string();
}

ConversionPlan make_plan(const ExampleInput& input, const ConvertOptions& options) {
  require_split_column(input, options);
  ConversionPlan plan;
  plan.shard_count = choose_shard_count(input, options);
  for (std::uint32_t i = 0; i < plan.shard_count; ++i) {
    plan.shards.push_back(shard_name(options.prefix, {.count = plan.shard_count, .index = i},
                                     shard_extension(options.compression)));
  }
  Json json{
      {"format", fmt::format("{} {}", kPlanName, kPlanVersion)},
      {"infeed", INFEED_VERSION},
      {"name", detail::utf8_name(DatasetNames(options.prefix).name)},
      {"input", detail::utf8_name(input.describe())},
      {"input_examples", input.size()},
      {"files", describe_files(input.files())},
      {"settings", detail::utf8_name(input.settings())},
      {"shards", plan.shard_count},
      {"compression", to_string(options.compression)},
      {"order", options.seed ? fmt::format("shuffled with seed {}", *options.seed) : "the input's"},
      {"part", detail::utf8_name(describe_part(options))},
  };
  if (options.compression_level) json["compression_level"] = *options.compression_level;
  plan.text = json.dump(1) + "\n";
  plan.id = fmt::format("{:08x}", crc32c(plan.text));
  return plan;
}

double share_of_part(const ConvertOptions& options) {
  switch (options.part) {
    case SplitPart::train:
      return 1 - options.validation_share;
    case SplitPart::validation:
      return options.validation_share;
    case SplitPart::all:
      break;
  }
  return 1;
}

std::string describe_difference(const std::string& there, const std::string& now) {
  if (detail::exceeds_json_limits(there)) return "its plan can't be read";
  const Json found = Json::parse(there, nullptr, false);
  if (!found.is_object()) return "its plan can't be read";
  const Json format = found.value("format", Json());
  const std::uint32_t version =
      format.is_string() ? detail::format_version(format.get<std::string>(), kPlanName) : 0;
  if (version > kPlanVersion) return detail::later_format_text("its plan", version, kPlanVersion);
  std::vector<std::string> differences;
  add_differences(found, Json::parse(now), "", differences);
  if (differences.empty()) return "its plan is written differently";
  // If a changed file is named, sums over all files add nothing.
  const auto begins = [](std::string_view begin) {
    return [begin](const std::string& text) { return text.starts_with(begin); };
  };
  if (std::any_of(differences.begin(), differences.end(), begins("files listed"))) {
    for (const char* const sum : {"files bytes", "files count", "files crc32c"}) {
      std::erase_if(differences, begins(sum));
    }
  }
  constexpr std::size_t kShownMax = 3;
  const std::size_t count = differences.size();
  if (count > kShownMax) {
    differences.resize(kShownMax);
    differences.push_back(fmt::format("and {} more", count - kShownMax));
  }
  return fmt::format("{}", fmt::join(differences, "; "));
}

std::optional<std::uint32_t> shards_of_plan(const std::string& text) {
  if (detail::exceeds_json_limits(text)) return std::nullopt;
  const Json json = Json::parse(text, nullptr, false);
  if (!json.is_object()) return std::nullopt;
  const auto shards = json.find("shards");
  if (shards == json.end() || !shards->is_number_unsigned()) return std::nullopt;
  const auto count = shards->get<std::uint64_t>();
  if (count == 0 || count > kShardsMax) return std::nullopt;
  return static_cast<std::uint32_t>(count);
}

SampledSize sample_size(const ExampleInput& input) {
  const std::uint64_t count = std::min(input.size(), kSampledExamples);
  SampledSize result;
  result.statistics.declare(input.kinds());
  if (count == 0) return result;
  const auto begin = std::chrono::steady_clock::now();
  const auto reader = input.open_reader();
  std::string bytes;
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::uint64_t index = input.size() * i / count;
    try {
      reader->read(index, bytes);
    } catch (const Error& error) {
      if (error.code() == ErrorCode::cancelled) throw;
      if (result.bad_examples++ > 0) continue;
      result.first_bad = fmt::format("{}: {}", input.location_of(index), error.what());
      continue;
    }
    result.bytes_per_example += static_cast<double>(bytes.size() + detail::RecordFrame::kBytes);
    result.statistics.add(bytes);
  }
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  const std::uint64_t good = count - result.bad_examples;
  result.bytes_per_example /= static_cast<double>(std::max<std::uint64_t>(good, 1));
  result.statistics.add_counts(reader->take_counts());
  result.seconds_per_example = seconds / static_cast<double>(count);
  return result;
}

}  // namespace infeed::tools
