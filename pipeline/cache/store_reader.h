#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <infeed/pipeline/chunk.h>
#include <infeed/pipeline/detail/erased_codec.h>
#include <infeed/pipeline/reservation.h>
#include <infeed/records/record_reader.h>

#include "cache/store_journal.h"

namespace infeed::detail {

/// Reads stored elements in order.
class StoreReader {
 public:
  /// Counts the content's errors in `memory`, for `stage`. Throws Error(resource_exhausted).
  StoreReader(std::string folder, StoreContent content, ErasedCodec codec, MemoryAccount& memory,
              std::string stage);

  /// Appends 1..want elements to `out`, which is empty, errors included. Returns how many; 0: the
  /// end. Throws Error(data_loss, not_found, ...) if they can't be read; position() is then the
  /// position of the first lost element.
  std::size_t read(Chunk& out, std::size_t want);
  std::uint64_t skip(std::uint64_t count);

  std::uint64_t position() const { return position_; }
  const StoreContent& content() const { return content_; }
  /// The index of the shard that position() lies in.
  std::size_t shard() const { return shard_; }
  /// Passes over the rest of a shard that can't be read.
  void leave_shard();

 private:
  void read_values(Chunk& out, std::size_t want);
  std::uint64_t values_until_error() const;

  const std::string folder_;
  const StoreContent content_;
  const ErasedCodec codec_;
  Reservation memory_;
  std::uint64_t position_ = 0;
  std::size_t next_error_ = 0;
  std::size_t shard_ = 0;
  std::uint64_t read_in_shard_ = 0;  ///< values of the shard that were read
  std::optional<RecordReader> reader_;
  std::vector<Record> records_;
};

}  // namespace infeed::detail
