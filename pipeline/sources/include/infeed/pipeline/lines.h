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
  /// A longer line is damage; the rest of the file is dropped then.
  Count line_bytes_max = std::size_t{16} << 20;
  Compression compression = Compression::automatic;  ///< gzip and lz4 are told by content
  UrlOptions url = {};                               ///< where files are named by URLs
  StageName name = {};                               ///< as in StageOptions
};

/// Why: gives the lines of text files, one file after the other, without copying them.
///
///     infeed::lines("corpus-*.txt.gz")
///         | infeed::map([](const infeed::Record& line) { return line.size(); })
///
/// An element is a Record (records/record.h) that shows the line without its LF or CRLF, and knows
/// its file, its number in it (from 0) and its offset. Empty lines are lines, too; the last one need
/// not end with a line break. A byte order mark is passed over, UTF-16 is an Error; apart from that
/// the bytes are not looked into. Patterns are those of infeed::match_files, looked up when the
/// source is described; plain files, .gz, .lz4, URLs.
///
/// Skipping (a resume) finds line ends at gigabytes a second. What goes wrong with a file (not_found,
/// permission_denied, data_loss, ...) is an element's error and costs the rest of it; the next file
/// follows. A pattern that nothing matches is thrown when the source is described.
Dataset<Record> lines(const std::string& pattern, LinesOptions options = {});
/// A list of names, in its order; none of them needs to exist yet.
Dataset<Record> lines(std::vector<std::string> files, LinesOptions options = {});
Dataset<Record> lines(std::initializer_list<std::string> files, LinesOptions options = {});

}  // namespace infeed
