#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "infeed/count.h"
#include "infeed/records/compression.h"
#include "infeed/records/left_out.h"
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
/// Reads ustar, pax and GNU headers, and tar files that stand one behind the other (`cat a.tar
/// b.tar`). Reads plain files, .gz, .zst, .lz4 and URLs. Members that are no fields are left out and
/// listed (left_out()): hidden ones (._7.jpg, .DS_Store), those without an extension (README),
/// devices and pipes. Folders are passed over.
namespace infeed {

struct TarField {
  std::string extension;  ///< name behind the first dot, in lower case: "jpg", "seg.png"
  Record content;         ///< bytes in place, without a copy; knows file and offset
};

struct TarSample {
  std::string key;  ///< path up to the first dot of its last part: "train/7"
  std::vector<TarField> fields;

  /// Returns the field with that extension in upper or lower case, or null.
  const Record* find(std::string_view extension) const;
};

struct TarOptions {
  Compression compression =
      Compression::automatic;  ///< gzip, zstd and lz4 are recognised by content
  /// Most bytes of a member. A sample with a larger one is replaced by an error.
  Count member_bytes_max = std::size_t{1} << 30;
  UrlOptions url = {};
};

/// Reads samples front to back. Errors: those of opening a file.
/// | data_loss or resource_exhausted, with file and offset                        | costs            |
/// |------------------------------------------------------------------------------|------------------|
/// | a field that comes twice or is too large; a member that is a link            | its sample       |
/// | members of one sample that don't follow each other                           | the later ones   |
/// | a file that is no tar file, damaged or cut; a sparse member; other bytes     | what follows     |
/// | behind the end                                                               |                  |
/// The error comes in the place of the sample. Thread-safety: one thread at a time. Remembers each
/// sample's key, in 56 bytes.
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
  /// Lists the members that were left out so far.
  const Omissions& left_out() const;

 private:
  class State;
  std::unique_ptr<State> state_;
};

/// A member's name, split by WebDataset's rule. A name without a dot has no extension.
struct TarName {
  std::string_view key;
  std::string extension;  ///< in lower case
};
TarName split_tar_name(std::string_view name);

struct TarMember {
  std::string name;
  std::uint64_t offset = 0;  ///< place of the content in the file
  std::uint64_t bytes = 0;
};

struct TarSampleMembers {
  std::string key;
  std::vector<TarMember> members;
};

struct TarList {
  std::vector<TarSampleMembers> samples;
  Omissions left_out;
};

/// Lists all samples, to be read in place. Throws each error of TarSampleReader but the limit's.
TarList list_tar(const SeekableFile& file);

}  // namespace infeed
