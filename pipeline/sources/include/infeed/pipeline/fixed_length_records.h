#pragma once

#include <initializer_list>
#include <string>
#include <vector>

#include <infeed/pipeline/dataset.h>
#include <infeed/pipeline/options.h>
#include <infeed/records/compression.h>
#include <infeed/records/record.h>
#include <infeed/records/url_options.h>

namespace infeed {

struct FixedLengthRecordsOptions {
  Count header_bytes = 0;  ///< skipped at the front of each file
  Count footer_bytes = 0;  ///< skipped at the end of each file
  /// gzip, zstd and lz4 are recognised by content. zlib must be named, since data may begin like
  /// it.
  Compression compression = Compression::automatic;
  UrlOptions url = {};  ///< for files named by URLs
  StageName name = {};  ///< as in StageOptions
};

/// Reads files of records that all have the same length, with nothing between them, as CIFAR's are.
/// It is tf.data's FixedLengthRecordDataset.
///
///     auto images = infeed::fixed_length_records("data_batch_*.bin", 3073)
///         | infeed::map([](const infeed::Record& image) { return int(image.bytes()[0]); });
///
/// An element is a Record (records/record.h) that knows its file, its number in the file and its
/// offset. It shows the bytes as they were read, uncopied. Patterns are those of
/// infeed::match_files; they are looked up when the source is described. Files may be plain, .gz,
/// .zst, .lz4 or URLs.
///
/// If all files are local and uncompressed, the number of records is known and skipping (a resume)
/// seeks. Otherwise the skipped bytes are read.
///
/// An error is an element's and costs the rest of its file; the next file follows. The size of an
/// uncompressed file must be header_bytes + k * record_bytes + footer_bytes. Otherwise data_loss
/// takes the place of the whole file, since its records may lie anywhere. For a compressed file
/// that error comes at the end, after its records. Throws when the source is described if nothing
/// matches the pattern, or for records of 0 bytes.
Dataset<Record> fixed_length_records(const std::string& pattern, Count record_bytes,
                                     FixedLengthRecordsOptions options = {});
/// Reads a list of names, in its order. The files need not exist yet.
Dataset<Record> fixed_length_records(std::vector<std::string> files, Count record_bytes,
                                     FixedLengthRecordsOptions options = {});
Dataset<Record> fixed_length_records(std::initializer_list<std::string> files, Count record_bytes,
                                     FixedLengthRecordsOptions options = {});

}  // namespace infeed
