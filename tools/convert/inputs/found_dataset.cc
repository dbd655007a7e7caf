#include "convert/inputs/found_dataset.h"

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fmt/format.h>
#include <unistd.h>

#include <infeed/detail/folder_entries.h>
#include <infeed/error.h>
#include <infeed/records/file.h>
#include <infeed/records/file_sum.h>
#include <infeed/records/files.h>

#include "cli/parallel.h"
#include "cli/side_file.h"

namespace infeed::tools {
namespace {

namespace fs = std::filesystem;

/// True for a shard of `name`, such as "train-00003-of-00016.tfrecord", its index, and the partial
/// file of either.
bool is_shard_of(const std::string& name, std::string_view file) {
  constexpr std::string_view kPartial = ".partial";
  if (file.starts_with('.') && file.ends_with(kPartial)) {
    file.remove_prefix(1);
    file.remove_suffix(kPartial.size());
  }
  const std::optional<ShardName> shard = parse_shard_name(file);
  return shard && shard->prefix == name && shard->extension.starts_with("tfrecord");
}

/// Returns the difference to the manifest; empty if there is none.
std::string compare(const std::string& folder, const std::string& name, const FileSum& wanted,
                    const ConvertOptions& options) {
  const FileCheck check = options.check_content ? FileCheck::content : FileCheck::size;
  const auto wrong = compare_file((fs::path(folder) / name).string(), wanted, check, options.stop);
  return wrong ? fmt::format("'{}' {}", name, wrong->text) : "";
}

std::vector<WrongShard> wrong_shards(const Manifest& manifest, const DatasetNames& names,
                                     const ConvertOptions& options) {
  std::vector<std::string> found(manifest.shards.size());
  const auto judge = [&](std::size_t i) {
    const ShardEntry& entry = manifest.shards[i];
    found[i] = compare(names.folder, entry.file, entry.sum, options);
    if (!found[i].empty() || !entry.side_file) return;
    found[i] =
        compare(names.folder, entry.file + entry.side_file->ending, entry.side_file->sum, options);
  };
  const int threads = options.check_content ? options.threads : 1;
  for_each_in_parallel(found.size(), threads, options.stop, judge);
  std::vector<WrongShard> wrong;
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (!found[i].empty()) wrong.push_back({static_cast<std::uint32_t>(i), std::move(found[i])});
  }
  return wrong;
}

void judge_finished(FoundDataset& found, const DatasetNames& names, const ConversionPlan& plan,
                    const ConvertOptions& options) {
  found.kind = FoundDataset::Kind::other;
  try {
    found.manifest = read_manifest(names.manifest_file);
  } catch (const Error& error) {
    found.description = fmt::format("a dataset whose manifest can't be used ({})", error.message());
    return;
  }
  if (found.manifest.plan_text != plan.text) {
    found.description = fmt::format("another dataset ({})",
                                    describe_difference(found.manifest.plan_text, plan.text));
    return;
  }
  found.wrong = wrong_shards(found.manifest, names, options);
  found.kind = found.wrong.empty() ? FoundDataset::Kind::finished : FoundDataset::Kind::damaged;
}

void remove_file(const std::string& file) {
  if (::unlink(file.c_str()) != 0 && errno != ENOENT) throw system_error("remove", file, errno);
}

}  // namespace

bool exists(const std::string& path) {
  std::error_code ignored;
  return fs::exists(path, ignored);
}

std::vector<std::string> list_dataset_files(const DatasetNames& names) {
  std::vector<std::string> files;
  std::error_code error;
  const auto entries = infeed::detail::folder_entries(names.folder, error);
  if (error == std::errc::no_such_file_or_directory) return files;
  if (error) throw system_error("list", names.folder, error.value());
  for (const infeed::detail::FolderEntry& entry : entries) {
    if (!is_shard_of(names.name, entry.name)) continue;
    files.push_back((fs::path(names.folder) / entry.name).string());
  }
  std::sort(files.begin(), files.end());
  return files;
}

std::optional<Manifest> find_manifest(const std::vector<std::string>& shards) try {
  const std::vector<std::string> sets = sets_of_files(shards);
  if (sets.size() != 1 || sets.front().empty() || is_url(sets.front())) return std::nullopt;
  const DatasetNames names(sets.front());
  if (!exists(names.manifest_file)) return std::nullopt;
  return read_manifest(names.manifest_file);
} catch (const Error&) {
  return std::nullopt;
}

bool is_unfinished(const DatasetNames& names) {
  return exists(names.plan_file) && !exists(names.manifest_file);
}

std::optional<std::string> find_plan(const DatasetNames& names) try {
  if (exists(names.manifest_file)) return read_manifest(names.manifest_file).plan_text;
  if (exists(names.plan_file)) return read_file(names.plan_file);
  return std::nullopt;
} catch (const Error&) {
  return std::nullopt;
}

FoundDataset find_dataset(const DatasetNames& names, const ConversionPlan& plan,
                          const ConvertOptions& options) {
  FoundDataset found;
  found.files = list_dataset_files(names);
  if (exists(names.manifest_file)) {
    judge_finished(found, names, plan, options);
    return found;
  }
  if (exists(names.plan_file)) {
    const std::string there = read_file(names.plan_file);
    const bool is_same = there == plan.text;
    found.kind = is_same ? FoundDataset::Kind::unfinished : FoundDataset::Kind::other;
    if (!is_same) {
      found.description =
          fmt::format("an unfinished conversion ({})", describe_difference(there, plan.text));
    }
    return found;
  }
  if (found.files.empty()) return found;
  found.kind = FoundDataset::Kind::other;
  const auto is_there = [&](const std::string& shard) {
    return std::binary_search(found.files.begin(), found.files.end(), shard);
  };
  found.description =
      fmt::format("{} of the {} shards without a plan or a manifest ('{}' is the first file)",
                  std::count_if(plan.shards.begin(), plan.shards.end(), is_there),
                  plan.shards.size(), found.files.front());
  return found;
}

void remove_dataset(const DatasetNames& names, const std::vector<std::string>& files) {
  remove_file(names.manifest_file);
  remove_file(names.plan_file);
  for (const std::string& file : files) remove_file(file);
}

}  // namespace infeed::tools
