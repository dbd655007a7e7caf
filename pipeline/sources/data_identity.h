#pragma once

#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include <infeed/records/url_options.h>

/// Why: a checkpoint, a cache or a snapshot must not go on with other data than it was made from,
/// and must go on with data that was copied or moved. So a source is bound to the names of its
/// files without their folders, to their sizes, and to their content, but not to their times: a copy
/// has others.
///
/// Files of up to 1 GiB together are read whole, which one core does in 0.3 s from the page cache. In
/// larger data each file has a part of that GiB, at least 64 KiB, which is read in 4 to 256 blocks
/// from its begin to its end. A change elsewhere in such a file isn't seen. At most 10,000 files are
/// read, evenly chosen; the others count with their names and sizes. An object by URL counts with
/// its size and ETag (or date); at most 64 are asked, evenly chosen.
namespace infeed::detail {

class DataIdentity {
 public:
  /// Notes the sizes and times of the files as they are now.
  explicit DataIdentity(std::vector<std::string> files, UrlOptions url = {});
  /// Notes nothing, so describing millions of files takes no longer.
  DataIdentity(std::size_t count, std::function<std::string(std::size_t index)> path_of);

  /// Returns "16 files, 47040192 bytes, names=1a2b3c4d, content=5e6f7a8b". The first call reads the
  /// files, since most pipelines are never asked. A file that changed between the constructor and
  /// that call counts as one that no other run has. Any thread may call. A file that is missing or
  /// can't be read has 0 bytes. Throws what may pass, as unavailable: a server or a file system that
  /// can't tell now.
  const std::string& text() const;

 private:
  /// The state of a file, in which any change shows.
  struct Seen {
    std::uint64_t bytes = 0;
    std::int64_t modified_ns = 0;
    friend bool operator==(const Seen&, const Seen&) = default;
  };

  static std::optional<Seen> see(const std::string& file);
  std::string make_text() const;

  const std::size_t count_;
  const std::function<std::string(std::size_t index)> path_of_;
  const UrlOptions url_;
  std::vector<std::optional<Seen>> seen_;  ///< empty where nothing was noted
  mutable std::once_flag is_made_;
  mutable std::string text_;
};

}  // namespace infeed::detail
