#include "convert/conversion_checks.h"

#include <filesystem>
#include <fmt/format.h>
#include <string_view>
#include <unordered_set>
#include <utility>

#include <infeed/error.h>
#include <infeed/records/file.h>
#include <infeed/records/files.h>

namespace infeed::tools {
namespace {

namespace fs = std::filesystem;

/// Returns what to do about files of another plan.
std::string advice_for(const ConvertOptions& options) {
  if (!options.share && !options.finish_only) {
    return fmt::format("use {} to replace it, or choose another folder", options.words.replace);
  }
  return "all parts and --finish must have the same arguments and see the same input files; "
         "repeat those, or choose another folder";
}

/// Objects by URL that are asked for their version at the end. Each is a request.
constexpr std::size_t kUrlsAskedMax = 1'000;

/// True if the name shows all of the URL: what may be secret isn't kept.
bool is_whole_url(std::string_view shown) { return !shown.ends_with("..."); }

bool is_regular_file(const std::string& path) {
  std::error_code ignored;
  return fs::is_regular_file(path, ignored);
}

/// Refuses names under which the dataset's own files would be taken for others.
void require_sound_name(const std::string& name) {
  const auto refuse = [&](std::string_view why) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("the dataset's name '{}' {}: choose another one", name, why));
  };
  if (name.empty()) refuse("is empty, so that its manifest would be a hidden file");
  if (name.starts_with('.')) {
    refuse("begins with a dot, as the names of unfinished files do, which are removed at the end");
  }
  if (parse_shard_name(name)) {
    refuse("is one of a shard, so that its manifest would be taken for one");
  }
}

/// Returns a file of the input as it was when the input was opened, and as it is now, if they differ.
std::optional<std::pair<InputFile, InputFile>> find_change(const ExampleInput& input) {
  std::size_t urls = 0;
  for (const InputFile& before : input.files()) {
    const bool is_asked = is_url(before.path) ? is_whole_url(before.path) && ++urls <= kUrlsAskedMax
                                              : is_regular_file(before.path);
    if (!is_asked) continue;
    InputFile now = examine_input_file(before.path);
    if (now.bytes != before.bytes || now.modified_ns != before.modified_ns ||
        now.version != before.version) {
      return std::pair(before, std::move(now));
    }
  }
  return std::nullopt;
}

void require_unchanged(const ExampleInput& input, const ConvertOptions& options) {
  const auto change = find_change(input);
  if (!change) return;
  const auto& [before, now] = *change;
  const std::string again =
      options.finish_only ? "use " + options.words.replace : "convert it again";
  throw Error(ErrorCode::failed_precondition,
              fmt::format("the file has changed while it was converted ({} bytes then, {} now), so "
                          "the shards made of it don't count; {} when nobody writes to it",
                          before.bytes, now.bytes, again))
      .at_file(before.path);
}

bool may_be_mixed(const ExampleInput& input, const Error& error) try {
  return error.code() != ErrorCode::cancelled && find_change(input).has_value();
} catch (const Error&) {
  return false;
}

}  // namespace

void require_sound(const ConvertOptions& options) {
  const bool is_part = options.share || options.finish_only;
  const auto refuse = [](const std::string& text) {
    throw Error(ErrorCode::invalid_argument, text);
  };
  require_sound_name(DatasetNames(options.prefix).name);
  if (options.share && options.finish_only) refuse("a share makes shards, finishing makes none");
  if (is_part && options.existing != ExistingDataset::refuse) {
    refuse(
        "a share can't replace a dataset that others are making: remove it first, or choose "
        "another folder");
  }
  if (!options.store_url.empty() && options.existing != ExistingDataset::refuse) {
    refuse(
        "a dataset in a store isn't replaced: others may be reading it; write into another folder "
        "of the store, or remove it first");
  }
  if (options.share && options.share->index >= options.share->count) {
    refuse(fmt::format("there is no share {} of {}: the first is 0", options.share->index,
                       options.share->count));
  }
}

ConversionPlan choose_plan(const ExampleInput& input, const ConvertOptions& options,
                           const DatasetNames& names) {
  ConversionPlan plan = make_plan(input, options);
  const bool is_free = options.shard_count == 0 && options.shard_bytes == 0;
  if (!is_free || options.existing == ExistingDataset::replace) return plan;
  const std::optional<std::string> begun = find_plan(names);
  if (!begun || *begun == plan.text) return plan;
  const std::optional<std::uint32_t> shards = shards_of_plan(*begun);
  if (!shards) return plan;
  ConvertOptions same = options;
  same.shard_count = *shards;
  ConversionPlan as_begun = make_plan(input, same);
  return as_begun.text == *begun ? as_begun : plan;
}

void require_permission(const FoundDataset& found, const ConvertOptions& options) {
  if (found.kind != FoundDataset::Kind::other) return;
  if (options.existing != ExistingDataset::refuse) return;
  throw Error(ErrorCode::already_exists,
              fmt::format("'{}' is there already: {}; nothing was written: {}", options.prefix,
                          found.description, advice_for(options)));
}

void require_other_files(const FoundDataset& found, const ExampleInput& input,
                         const ConvertOptions& options) {
  if (found.files.empty()) return;
  std::unordered_set<std::string> paths;
  for (const std::string& file : found.files) {
    paths.insert(fs::absolute(file).lexically_normal().string());
  }
  for (const InputFile& read : input.files()) {
    if (!paths.contains(read.path)) continue;
    throw Error(ErrorCode::invalid_argument,
                fmt::format("this input has the name of a shard that would be written; choose "
                            "another folder or {}",
                            options.words.name))
        .at_file(read.path);
  }
}

void make_of_unchanged(const ExampleInput& input, const ConvertOptions& options,
                       const std::function<void()>& make, const std::function<void()>& forget) {
  try {
    make();
    require_unchanged(input, options);
  } catch (const Error& error) {
    if (!options.finish_only && may_be_mixed(input, error)) forget();
    throw;
  }
}

void require_few_bad(const Manifest& manifest, const ConvertOptions& options) {
  const std::size_t count = manifest.quarantined.size();
  if (count <= options.quarantine_max) return;
  throw Error(ErrorCode::failed_precondition,
              fmt::format("{} bad example{} left out of the dataset, but at most {} may be ({}); "
                          "the first is {}: {}",
                          count, count == 1 ? " was" : "s were", options.quarantine_max,
                          options.words.quarantine_max, manifest.quarantined.front().input,
                          manifest.quarantined.front().error));
}

std::optional<Manifest> find_stored_manifest(const DatasetStore& store, const DatasetNames& names,
                                             const ConversionPlan& plan) {
  std::optional<Manifest> there = store.find_manifest(names);
  if (!there || there->plan_text == plan.text) return there;
  throw Error(ErrorCode::already_exists,
              fmt::format("another dataset is there already ({}); nothing was written: choose "
                          "another folder of the store or --name",
                          describe_difference(there->plan_text, plan.text)))
      .at_file(store.place_of(names.manifest_file));
}

void sync_side_files(const DatasetNames& names, const std::vector<ShardEntry>& shards) {
  for (const ShardEntry& entry : shards) {
    if (!entry.side_file) continue;
    const std::string file = entry.file + entry.side_file->ending;
    File::open_to_read((fs::path(names.folder) / file).string()).sync();
  }
  sync_folder(names.folder);
}

}  // namespace infeed::tools
