#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "infeed/count.h"
#include "infeed/records/compression.h"
#include "infeed/records/record.h"
#include "infeed/records/seekable_file.h"
#include "infeed/records/spare_blocks.h"
#include "infeed/records/url_options.h"

/// Why: many datasets come as tar files in WebDataset's form: the files of one sample follow each
/// other and have the same name up to their first dot.
///
///     infeed::TarSampleReader reader("shard-000.tar.gz");
///     infeed::TarSample sample;                      // "train/7.jpg" and "train/7.cls"
///     while (reader.read(sample)) {
///       if (const infeed::Record* image = sample.find("jpg")) use(sample.key, image->bytes());
///     }
///
/// Reads ustar, pax and GNU headers. Only regular files are members; folders and links are passed
/// over. Reads plain files, .gz, .lz4 and URLs.
namespace infeed {

struct TarField {
  std::string extension;  ///< name behind the first dot: "jpg", "seg.png"; else "content"
  Record content;         ///< bytes in place, without a copy; knows file and offset
};

struct TarSample {
  std::string key;  ///< path up to the first dot of its last part: "train/7"
  std::vector<TarField> fields;

  /// Returns the field with that extension, or null.
  const Record* find(std::string_view extension) const {
    for (const TarField& field : fields) {
      if (field.extension == extension) return &field.content;
    }
    return nullptr;
  }
};

struct TarOptions {
  Compression compression = Compression::automatic;  ///< gzip and lz4 are recognised by content
  /// Most bytes of a member. A sample with a larger one is replaced by an error.
  Count member_bytes_max = std::size_t{1} << 30;
  UrlOptions url = {};
};

/// Reads samples front to back. Errors: those of opening a file. data_loss, with file and offset,
/// for a file that is no tar file, damaged (a header's checksum) or cut: it comes in the place of
/// the sample there, and the file is over behind it. A field that comes twice or is too large costs
/// only its sample; reading goes on behind it. Thread-safety: one thread at a time.
class TarSampleReader {
 public:
  explicit TarSampleReader(const std::string& file, const TarOptions& options = {},
                           std::shared_ptr<SpareBlocks> spare_blocks = nullptr);
  TarSampleReader(TarSampleReader&&) noexcept;
  ~TarSampleReader();

  /// Reads the next sample. Returns false at the end.
  bool read(TarSample& out);
  /// Passes over the next sample, looking at headers only, also where its fields are wrong. Returns
  /// false at the end.
  bool skip();

 private:
  class State;
  std::unique_ptr<State> state_;
};

/// A member's name, split by WebDataset's rule.
struct TarName {
  std::string_view key;
  std::string_view extension;
};
TarName split_tar_name(std::string_view name);

struct TarMember {
  std::string name;
  std::uint64_t offset = 0;  ///< place of the content in the file
  std::uint64_t bytes = 0;
};

/// Lists all members, to be read in place. Errors as for TarSampleReader.
std::vector<TarMember> list_tar(const SeekableFile& file);

}  // namespace infeed
