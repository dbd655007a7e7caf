#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <infeed/records/compression.h>
#include <infeed/records/record_writer.h>

/// Why: a record file can be read at random, or by several threads, when something says where its
/// records lie. A plain file has NAME.index beside it, a gzip file NAME.points (flush points); an
/// lz4 file has that inside. All commands that write record files do it by these.
namespace infeed::tools {

/// ".index", ".points", or nothing for what has no such file.
std::string_view side_file_ending(Compression compression);

/// What is to be known before the first record: a plain file is indexed, gzip gets its flush
/// points, and RecordWriter then writes their file.
RecordWriterOptions shard_options(Compression compression, ExistingFile existing,
                                  Durability durability);

/// What can only be done when the writer, which has shard_options(), is closed: a plain file's
/// index.
void write_side_file(const RecordWriter& writer, Compression compression, Durability durability);

/// Record files directly in `folder`, by their names: x.tfrecord, with .gz or .lz4 behind it, and
/// shards (x-00000-of-00004); sorted. Error not_found when there are none.
std::vector<std::string> list_record_files(const std::string& folder);

/// Whether there are any.
bool holds_record_files(const std::string& folder);

/// What stands before the shards' numbers, sorted; "" for files that aren't named like shards.
std::vector<std::string> sets_of_files(const std::vector<std::string>& files);

/// match_files(), and for a folder list_record_files(), without what lies beside another file that was found, and without manifests unless
/// they are all: 'data/*' means the records.
std::vector<std::string> match_record_files(const std::vector<std::string>& patterns);

/// "tfrecord", "tfrecord.gz", "tfrecord.lz4": what the names of shards end in.
std::string_view shard_extension(Compression compression);

}  // namespace infeed::tools
