#include "convert/inputs/found_dataset.h"

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fmt/format.h>
#include <optional>
#include <unistd.h>

#include <infeed/error.h>
#include <infeed/records/file.h>
#include <infeed/records/files.h>

namespace infeed::tools {
namespace {

namespace fs = std::filesystem;

/// "train-00003-of-00016.tfrecord" from that, from its index and from the partial file of either.
bool is_shard_of(const std::string& name, std::string_view file) {
  constexpr std::string_view kPartial = ".partial";
  if (file.starts_with('.') && file.ends_with(kPartial)) {
    file.remove_prefix(1);
    file.remove_suffix(kPartial.size());
  }
  const std::optional<ShardName> shard = parse_shard_name(file);
  return shard && shard->prefix == name && shard->extension.starts_with("tfrecord");
}

bool exists(const std::string& file) {
  std::error_code ignored;
  return fs::exists(file, ignored);
}

std::string wrong_shard(const Manifest& manifest, const DatasetNames& names) {
  for (const ShardEntry& entry : manifest.shards) {
    std::error_code error;
    const std::string file = (fs::path(names.folder) / entry.file).string();
    const auto bytes = fs::file_size(file, error);
    if (error) return fmt::format("its shard '{}' is missing", entry.file);
    if (bytes != entry.sum.bytes) {
      return fmt::format("its shard '{}' has {} bytes instead of {}", entry.file, bytes,
                         entry.sum.bytes);
    }
  }
  return {};
}

void judge_finished(FoundDataset& found, const DatasetNames& names, const ConversionPlan& plan) {
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
  const std::string wrong = wrong_shard(found.manifest, names);
  if (wrong.empty()) {
    found.kind = FoundDataset::Kind::finished;
  } else {
    found.description = fmt::format("the same dataset, but {}", wrong);
  }
}

void remove_file(const std::string& file) {
  if (::unlink(file.c_str()) != 0 && errno != ENOENT) throw system_error("remove", file, errno);
}

}  // namespace

std::vector<std::string> list_dataset_files(const DatasetNames& names) {
  std::vector<std::string> files;
  std::error_code error;
  fs::directory_iterator entries(names.folder, error);
  if (error == std::errc::no_such_file_or_directory) return files;
  if (error) throw system_error("list", names.folder, error.value());
  for (const fs::directory_entry& entry : entries) {
    if (is_shard_of(names.name, entry.path().filename().string())) {
      files.push_back(entry.path().string());
    }
  }
  std::sort(files.begin(), files.end());
  return files;
}

FoundDataset find_dataset(const DatasetNames& names, const ConversionPlan& plan) {
  FoundDataset found;
  found.files = list_dataset_files(names);
  if (exists(names.manifest_file)) {
    judge_finished(found, names, plan);
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
