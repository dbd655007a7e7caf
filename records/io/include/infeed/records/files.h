#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "infeed/error.h"

/// Why: a dataset is a set of files. These functions find files by pattern, in an order that no
/// machine or locale changes, and name shards the way other tools expect.
///
///     infeed::match_files("data/train-*.tfrecord")              // sorted by bytes
///     infeed::shard_name("data/train", {.count = 16, .index = 3})
///         // "data/train-00003-of-00016.tfrecord"
///
/// Thread-safety: pure functions of the file system (and the stores).
namespace infeed {

/// Finds the regular files (and pipes) whose path matches `pattern`, sorted by bytes. A name that
/// exists is that file, whatever characters it holds.
///
/// | in a pattern          | matches                                                             |
/// |-----------------------|---------------------------------------------------------------------|
/// | `*`, `?`, `[a-z]`     | characters of one name, but no leading dot: partial files stay out  |
/// | `**` between slashes  | any number of folders, and none; at the end: all files in them      |
/// | `{a,b}`, `{000..015}` | each of them, in this order; one that isn't there is an error       |
/// | backslash             | the next character as it is                                         |
///
/// Nothing found is an Error not_found that says what lies there instead; a folder that can't be
/// listed is permission_denied.
///
/// URLs (url_options.h): objects of a bucket are found in the same way, s3://bucket/train-*. A web
/// server can't be asked for a list, so a name http(s)://... is taken as it is, but for braces; in
/// `train-*-of-00016.tfrecord` (or with ????? for the star) the star stands for all the numbers.
std::vector<std::string> match_files(const std::string& pattern);

/// The same for several patterns, in their order; a file that several match comes once ("./x" is
/// "x").
std::vector<std::string> match_files(const std::vector<std::string>& patterns);
std::vector<std::string> match_files(std::initializer_list<std::string> patterns);

/// Removes names of files that came before, also by another spelling: "./x" is "x".
void remove_repeated_files(std::vector<std::string>& files);

/// True if `name` begins as a URL does ("scheme://"), also if URLs of that kind can't be read.
bool is_url(std::string_view name);

/// Returns a name for people to see, the only form in which a URL may be printed: without user and
/// password, and with "?..." in the place of its whole query (a signature, a token). Any other name
/// stays as it is. Error::at_file() redacts by itself.
std::string redacted_url(std::string_view name);

/// True if `name` names one file in a given folder: no path, not "." or "..", not empty. A name
/// from a manifest or a journal is opened only if this is true.
bool is_file_name(std::string_view name);

/// A shard's number. Its members stand in the order of ShardOptions (pipeline/shard.h).
struct Shard {
  std::uint32_t count = 1;
  std::uint32_t index = 0;
  bool operator==(const Shard&) const = default;
};

/// Returns prefix-SSSSS-of-NNNNN.extension. Throws invalid_argument unless index < count.
std::string shard_name(std::string_view prefix, Shard shard,
                       std::string_view extension = "tfrecord");

struct ShardName {
  std::string prefix;
  Shard shard;
  std::string extension;  ///< without its dot; may have several parts ("tfrecord.gz")
};

/// Returns the parts of a shard's name; empty when `file` is not named that way. The number may be the
/// count or above, since other programs' shards may count from 1.
std::optional<ShardName> parse_shard_name(std::string_view file);

}  // namespace infeed
