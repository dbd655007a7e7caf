#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <infeed/records/compression.h>
#include <infeed/records/record_writer.h>
#include <infeed/records/whole_set.h>

/// Why: a record file can be read at random, or by several threads, if the places of its records
/// are known. A plain file has NAME.index beside it, a gzip file NAME.points (flush points); an lz4
/// file contains them. All commands that write record files use these functions.
namespace infeed::tools {

/// Returns the compression of a record file, of which it reads the front. Refuses a pipe or a device,
/// which would have lost that when the records are read.
Compression compression_of_file(const std::string& file);

/// Returns ".index", ".points", or nothing if there is no such file.
std::string_view side_file_ending(Compression compression);

/// Returns the writer's options, needed before the first record: a plain file is indexed, gzip gets
/// its flush points, and RecordWriter then writes their file.
RecordWriterOptions shard_options(Compression compression, ExistingFile existing,
                                  Durability durability);

/// Writes a plain file's index, after the writer, made with shard_options(), has been closed.
void write_side_file(const RecordWriter& writer, Compression compression, Durability durability);

/// Returns the record files directly in `folder`, sorted by name: x.tfrecord, with .gz or .lz4
/// behind it, and shards (x-00000-of-00004). Error not_found if there are none.
std::vector<std::string> list_record_files(const std::string& folder);

/// True if the folder has any.
bool holds_record_files(const std::string& folder);

/// True if a file of that name is a record file of its folder, lies beside one, or is a manifest. A name
/// that ends in another .json is none: x.tfrecord.json is a report about x.tfrecord.
bool is_dataset_file_name(const std::string& file);

/// Returns the names before the shards' numbers, sorted; "" for files that aren't named like
/// shards.
std::vector<std::string> sets_of_files(const std::vector<std::string>& files);

struct FoundRecordFiles {
  std::vector<std::string> files;
  std::vector<SetProblem> set_problems;  ///< in sets found by a folder or a pattern
};

/// The files that are found: all that match, or only what 'data/*' means where it is for records: without
/// those that lie beside another one (an index), and without manifests unless there is nothing else.
enum class FilesFound : std::uint8_t { record_files, all };

/// Returns the files of names, patterns (match_files()) and folders (list_record_files()), each once.
FoundRecordFiles find_record_files(const std::vector<std::string>& names,
                                   FilesFound found = FilesFound::record_files);

/// The same for a command that reads whole sets: throws their first problem.
std::vector<std::string> match_record_files(const std::vector<std::string>& names,
                                            FilesFound found = FilesFound::record_files);

/// Returns the ending of shard names: "tfrecord", "tfrecord.gz", "tfrecord.lz4".
std::string_view shard_extension(Compression compression);

}  // namespace infeed::tools
