#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "infeed/count.h"
#include "infeed/records/compression.h"
#include "infeed/records/record.h"
#include "infeed/records/spare_blocks.h"
#include "infeed/records/url_options.h"

/// Why: CIFAR, dumps of simulations and token files are records of one length, one behind the
/// other, with nothing between them. A FixedLengthReader cuts a file into them without copying.
///
///     infeed::FixedLengthReader images("data_batch_1.bin", {.record_bytes = 3073});
///     std::array<infeed::Record, 64> some;
///     while (const std::size_t got = images.read(some)) use(std::span(some).first(got));
///
/// A file is its header, any number of records and its footer. An uncompressed file whose size
/// doesn't fit is refused as a whole, since nobody can say where its records are. With a compressed
/// file a misfit shows only at its end.
///
/// Errors, with the file: those of opening a file; data_loss for a size that doesn't fit, and for a
/// damaged stream. Behind an error there is nothing more. Thread-safety: one thread at a time.
namespace infeed {

struct FixedLengthFormat {
  Count record_bytes;
  Count header_bytes = 0;  ///< bytes passed over at the front of each file
  Count footer_bytes = 0;  ///< bytes passed over at the end of each file
  /// Compression of the files. gzip, zstd and lz4 are recognised by content; zlib has to be named, since
  /// data may begin like it.
  Compression compression = Compression::automatic;
  UrlOptions url = {};
};

class FixedLengthReader {
 public:
  /// Opens the file. `spare_blocks` may be null. Throws invalid_argument for records of 0 bytes.
  FixedLengthReader(const std::string& file, const FixedLengthFormat& format,
                    std::shared_ptr<SpareBlocks> spare_blocks = nullptr);
  FixedLengthReader(FixedLengthReader&&) noexcept;
  ~FixedLengthReader();

  /// Reads the next records, at least one; returns 0 at the end. Records know their file, number
  /// and offset.
  std::size_t read(std::span<Record> out);
  /// Passes over records, and returns how many: fewer than `count` only at the end and in front of
  /// an error. Seeks where it can.
  std::uint64_t skip(std::uint64_t count);

 private:
  class State;
  std::unique_ptr<State> state_;
};

/// Returns the number of records in a file. Empty for a file that would have to be read to know it
/// (a URL, a compressed file, a pipe), can't be read, or doesn't fit.
std::optional<std::uint64_t> count_fixed_length_records(const std::string& file,
                                                        const FixedLengthFormat& format);

}  // namespace infeed
