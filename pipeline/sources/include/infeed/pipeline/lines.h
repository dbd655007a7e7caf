#pragma once

#include <cstddef>
#include <initializer_list>
#include <string>
#include <vector>

#include <infeed/pipeline/dataset.h>
#include <infeed/pipeline/options.h>
#include <infeed/records/compression.h>
#include <infeed/records/record.h>
#include <infeed/records/url_options.h>

namespace infeed {

struct LinesOptions {
  /// The longest line. A longer one is damage, and costs the rest of the file.
  Count line_bytes_max = std::size_t{16} << 20;
  Compression compression =
      Compression::automatic;  ///< gzip, zstd and lz4 are recognised by content
  UrlOptions url = {};         ///< for files named by URLs
  StageName name = {};         ///< as in StageOptions
};

/// Reads the lines of text files, one file after the other, without copying them.
///
///     infeed::lines("corpus-*.txt.gz")
///         | infeed::map([](const infeed::Record& line) { return line.size(); })
///
/// An element is a Record (records/record.h) that shows the line without its LF or CRLF. It knows
/// its file, its number in the file (from 0) and its offset. Empty lines are lines, too; the last
/// line needs no line break. A byte order mark is skipped, and UTF-16 is an Error; otherwise the
/// bytes aren't checked. Patterns are those of infeed::match_files; they are looked up when the
/// source is described. Files may be plain, .gz, .zst, .lz4 or URLs.
///
/// Skipping (a resume) finds line ends at gigabytes a second. A failure of a file (not_found,
/// permission_denied, data_loss, ...) is an element's error and costs the rest of the file; the
/// next file follows. Throws when the source is described if nothing matches the pattern.
Dataset<Record> lines(const std::string& pattern, LinesOptions options = {});
/// Reads a list of names, in its order. The files need not exist yet.
Dataset<Record> lines(std::vector<std::string> files, LinesOptions options = {});
Dataset<Record> lines(std::initializer_list<std::string> files, LinesOptions options = {});

}  // namespace infeed
