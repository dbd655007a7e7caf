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

/// Why: many datasets come as tar files, in WebDataset's form: files that belong to one sample stand
/// behind each other and have the same name up to their first dot.
///
///     infeed::TarSampleReader reader("shard-000.tar.gz");
///     infeed::TarSample sample;                      // of "train/7.jpg", "train/7.cls"
///     while (reader.read(sample)) {
///       if (const infeed::Record* image = sample.find("jpg")) use(sample.key, image->bytes());
///     }
///
/// ustar, pax and GNU headers; only regular files are members, folders and links are passed over.
/// Plain files, .gz, .lz4, URLs.
namespace infeed {

struct TarField {
  std::string extension;  ///< what stands behind the first dot: "jpg", "seg.png"; else "content"
  Record content;         ///< without copying, where it lies in the file; knows file and offset
};

struct TarSample {
  std::string key;  ///< the path up to the first dot of its last part: "train/7"
  std::vector<TarField> fields;

  /// Null when there is none of that extension.
  const Record* find(std::string_view extension) const {
    for (const TarField& field : fields) {
      if (field.extension == extension) return &field.content;
    }
    return nullptr;
  }
};

struct TarOptions {
  Compression compression = Compression::automatic;  ///< gzip and lz4 are told by content
  /// A sample with a larger member is an error in its place.
  Count member_bytes_max = std::size_t{1} << 30;
  UrlOptions url = {};
};

/// Errors: those of opening a file; data_loss for what is no tar file, damaged (a header's checksum)
/// or cut, with file and offset, in the place of the sample that stands there: behind it the file is
/// over. A field that comes twice, or is too large, costs its sample only; reading goes on behind it.
/// Thread-safety: one thread at a time.
class TarSampleReader {
 public:
  explicit TarSampleReader(const std::string& file, const TarOptions& options = {},
                           std::shared_ptr<SpareBlocks> spare_blocks = nullptr);
  TarSampleReader(TarSampleReader&&) noexcept;
  ~TarSampleReader();

  /// False at the end.
  bool read(TarSample& out);
  /// Passes over the next sample, or its error where its fields are wrong, looking at headers only;
  /// false at the end.
  bool skip();

 private:
  class State;
  std::unique_ptr<State> state_;
};

/// WebDataset's rule.
struct TarName {
  std::string_view key;
  std::string_view extension;
};
TarName split_tar_name(std::string_view name);

struct TarMember {
  std::string name;
  std::uint64_t offset = 0;  ///< of its content in the file
  std::uint64_t bytes = 0;
};

/// All members, to be read in place. Errors as above.
std::vector<TarMember> list_tar(const SeekableFile& file);

}  // namespace infeed
