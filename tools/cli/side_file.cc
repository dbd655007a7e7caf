#include "cli/side_file.h"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fmt/format.h>
#include <optional>
#include <set>
#include <system_error>
#include <utility>

#include <infeed/detail/folder_entries.h>
#include <infeed/error.h>
#include <infeed/records/file.h>
#include <infeed/records/files.h>
#include <infeed/records/record_index.h>
#include <infeed/records/record_reader.h>
#include <infeed/records/shard_manifest.h>

namespace infeed::tools {
namespace {

constexpr std::string_view kIndexEnding = ".index";
constexpr std::string_view kPointsEnding = ".points";
constexpr std::string_view kManifestEnding = ".manifest.json";
// Distance of flush points. They cost no size, and 16 threads find work in a shard of 16 MiB.
constexpr std::uint64_t kFlushPointBytes = std::uint64_t{1} << 20;

namespace fs = std::filesystem;

bool is_record_file_name(const std::string& name) {
  if (name.starts_with('.') || !side_ending_of(name).empty()) return false;
  return name.find(".tfrecord") != std::string::npos || parse_shard_name(name).has_value();
}

std::vector<std::string> record_files_in(const std::string& folder) {
  std::vector<std::string> files;
  std::error_code error;
  for (const std::string& name : detail::names_in_folder(folder)) {
    const fs::path file = fs::path(folder) / name;
    if (is_record_file_name(name) && fs::is_regular_file(file, error))
      files.push_back(file.string());
  }
  std::sort(files.begin(), files.end());
  return files;
}

bool is_folder(const std::string& name) {
  std::error_code ignored;
  return !is_url(name) && fs::is_directory(name, ignored);
}

/// Removes files that lie beside another one of them, and manifests unless there is nothing else.
void leave_out_side_files(std::vector<std::string>& files) {
  const std::set<std::string> found(files.begin(), files.end());
  std::erase_if(files, [&](const std::string& file) {
    const std::string_view ending = side_ending_of(file);
    return !ending.empty() && found.contains(file.substr(0, file.size() - ending.size()));
  });
  const auto is_manifest = [](const std::string& file) { return file.ends_with(kManifestEnding); };
  if (!std::all_of(files.begin(), files.end(), is_manifest)) std::erase_if(files, is_manifest);
}

}  // namespace

std::vector<std::string> list_record_files(const std::string& folder) {
  std::vector<std::string> files = record_files_in(folder);
  if (!files.empty()) return files;
  throw Error(ErrorCode::not_found,
              fmt::format("there are no record files in the folder '{0}' (x.tfrecord, "
                          "x-00000-of-00004); if they have other names, name them: '{0}/*'",
                          folder));
}

bool holds_record_files(const std::string& folder) { return !record_files_in(folder).empty(); }

bool is_dataset_file_name(const std::string& file) {
  const std::string name = fs::path(file).filename().string();
  if (name.ends_with(kManifestEnding) || !side_ending_of(name).empty()) return true;
  return is_record_file_name(name) && !name.ends_with(".json");
}

std::vector<std::string> sets_of_files(const std::vector<std::string>& files) {
  std::set<std::string> sets;
  for (const std::string& file : files) {
    const std::optional<ShardName> shard = parse_shard_name(file);
    sets.insert(shard ? shard->prefix : "");
  }
  return {sets.begin(), sets.end()};
}

Compression compression_of_file(const std::string& file) {
  std::error_code ignored;
  const fs::file_status status = is_url(file) ? fs::file_status() : fs::status(file, ignored);
  if (fs::exists(status) && !fs::is_regular_file(status) && !fs::is_directory(status)) {
    throw Error(
        ErrorCode::failed_precondition,
        "it is a pipe or a device, which can be read only once, and this reads its file more "
        "than once; copy it into a file first")
        .at_file(file);
  }
  return RecordReader(file).compression();
}

std::string_view side_file_ending(Compression compression) {
  if (compression == Compression::none) return kIndexEnding;
  return compression == Compression::gzip ? kPointsEnding : "";
}

RecordWriterOptions shard_options(Compression compression, ExistingFile existing,
                                  Durability durability) {
  return {.compression = compression,
          .flush_point_bytes = compression == Compression::gzip ? kFlushPointBytes : 0,
          .index = compression == Compression::none,
          .file_sum = true,
          .existing = existing,
          .durability = durability};
}

void write_side_file(const RecordWriter& writer, Compression compression, Durability durability) {
  if (compression != Compression::none) return;
  const std::string index_file = writer.file() + std::string(kIndexEnding);
  write_index(writer.index(), index_file);
  if (durability == Durability::leave_to_system) return;
  File::open_to_read(index_file).sync();
  sync_folder(folder_of(index_file));
}

FoundRecordFiles find_record_files(const std::vector<std::string>& names, FilesFound found) {
  std::vector<std::string> all;
  std::vector<std::string> of_sets;
  for (const std::string& name : names) {
    const bool is_whole = is_folder(name);
    std::vector<std::string> files = is_whole ? list_record_files(name) : match_files(name);
    if (is_whole || !lists_files(name, files))
      of_sets.insert(of_sets.end(), files.begin(), files.end());
    all.insert(all.end(), files.begin(), files.end());
  }
  remove_repeated_files(all);
  if (found == FilesFound::record_files) leave_out_side_files(all);
  return {.files = std::move(all), .set_problems = find_set_problems(of_sets)};
}

std::vector<std::string> match_record_files(const std::vector<std::string>& names,
                                            FilesFound found) {
  FoundRecordFiles files = find_record_files(names, found);
  throw_set_problems(files.set_problems);
  return std::move(files.files);
}

std::string_view shard_extension(Compression compression) {
  switch (compression) {
    case Compression::gzip:
      return "tfrecord.gz";
    case Compression::lz4:
      return "tfrecord.lz4";
    case Compression::automatic:
    case Compression::none:
    case Compression::zlib:
    case Compression::zstd:  // read, never written
      break;
  }
  return "tfrecord";
}

}  // namespace infeed::tools
