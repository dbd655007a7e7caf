#include "cli/side_file.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <fcntl.h>
#include <set>

#include <infeed/records/file.h>
#include <infeed/records/files.h>
#include <infeed/records/record_index.h>

namespace infeed::tools {
namespace {

constexpr std::string_view kIndexEnding = ".index";
constexpr std::string_view kPointsEnding = ".points";
constexpr std::array<std::string_view, 3> kSideEndings{kIndexEnding, kPointsEnding,
                                                       ".idx"};  // DALI
// Costs nothing in size, and 16 threads find work in a shard of 16 MiB.
constexpr std::uint64_t kFlushPointBytes = std::uint64_t{1} << 20;

}  // namespace

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
  File::open(index_file, O_RDONLY).sync();
  sync_folder(folder_of(index_file));
}

std::vector<std::string> match_record_files(const std::vector<std::string>& patterns) {
  std::vector<std::string> files = match_files(patterns);
  const std::set<std::string> found(files.begin(), files.end());
  std::erase_if(files, [&](const std::string& file) {
    return std::any_of(kSideEndings.begin(), kSideEndings.end(), [&](std::string_view ending) {
      return file.ends_with(ending) && found.contains(file.substr(0, file.size() - ending.size()));
    });
  });
  const auto is_manifest = [](const std::string& file) { return file.ends_with(".manifest.json"); };
  if (!std::all_of(files.begin(), files.end(), is_manifest)) std::erase_if(files, is_manifest);
  return files;
}

std::string_view shard_extension(Compression compression) {
  switch (compression) {
    case Compression::gzip:
      return "tfrecord.gz";
    case Compression::lz4:
      return "tfrecord.lz4";
    default:
      return "tfrecord";
  }
}

}  // namespace infeed::tools
