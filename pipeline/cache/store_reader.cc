#include "cache/store_reader.h"

#include <algorithm>
#include <fmt/format.h>
#include <limits>
#include <utility>

#include <infeed/records/file.h>

#include "engine/work/error_bytes.h"

namespace infeed::detail {
namespace {

constexpr std::size_t kRecordsAtOnce = 64;

}  // namespace

StoreReader::StoreReader(std::string folder, StoreContent content, ErasedCodec codec,
                         MemoryAccount& memory, std::string stage)
    : folder_(std::move(folder)),
      content_(std::move(content)),
      codec_(std::move(codec)),
      memory_(memory, std::move(stage)),
      records_(kRecordsAtOnce) {
  for (const StoredError& stored : content_.errors)
    memory_.grow(sizeof(stored) + bytes_when_kept(*stored.error));
}

std::uint64_t StoreReader::values_until_error() const {
  return next_error_ == content_.errors.size() ? std::numeric_limits<std::uint64_t>::max()
                                               : content_.errors[next_error_].position - position_;
}

std::size_t StoreReader::read(Chunk& out, std::size_t want) {
  while (out.size() < want) {
    const std::uint64_t values = values_until_error();
    if (values == 0) {
      out.set_error(content_.errors[next_error_++].error);
      ++position_;
      break;
    }
    if (shard_ == content_.shards.size()) break;
    const std::size_t count = static_cast<std::size_t>(
        std::min<std::uint64_t>({want - out.size(), values, kRecordsAtOnce}));
    try {
      read_values(out, count);
    } catch (...) {
      // Elements that were read before the failure come first; the next call fails again.
      if (out.empty()) throw;
      reader_.reset();
      break;
    }
  }
  return out.slots();
}

void StoreReader::read_values(Chunk& out, std::size_t want) {
  const StoredShard& shard = content_.shards[shard_];
  if (!reader_) {
    const std::string name = folder_ + "/" + shard.file;
    File::open_to_read(name);  // refuses a pipe in its place, which the reader would wait for
    reader_.emplace(name);
    reader_->skip(read_in_shard_);
  }
  want = static_cast<std::size_t>(std::min<std::uint64_t>(want, shard.values - read_in_shard_));
  const std::size_t count = reader_->read({records_.data(), want});
  if (count == 0) {
    throw Error(ErrorCode::data_loss,
                fmt::format("the shard ends after {} of the {} elements that the journal promises",
                            read_in_shard_, shard.values))
        .at_file(reader_->file());
  }
  for (std::size_t i = 0; i < count; ++i) {
    codec_.decode(records_[i], out.back());
    out.grow(1);
    ++position_;
    ++read_in_shard_;
  }
  if (read_in_shard_ == shard.values) {
    reader_.reset();
    read_in_shard_ = 0;
    ++shard_;
  }
}

std::uint64_t StoreReader::skip(std::uint64_t count) {
  const std::uint64_t target = position_ + std::min(content_.slots() - position_, count);
  const std::uint64_t passed = target - position_;
  while (position_ < target) {
    const std::uint64_t values = values_until_error();
    if (values == 0) {
      ++next_error_;
      ++position_;
      continue;
    }
    const std::uint64_t in_shard = content_.shards[shard_].values - read_in_shard_;
    const std::uint64_t step = std::min({values, target - position_, in_shard});
    position_ += step;
    read_in_shard_ += step;
    reader_.reset();
    if (step == in_shard) {
      read_in_shard_ = 0;
      ++shard_;
    }
  }
  return passed;
}

void StoreReader::leave_shard() {
  const std::size_t left = shard_;
  while (shard_ == left) {
    const std::uint64_t in_shard = content_.shards[shard_].values - read_in_shard_;
    skip(std::clamp<std::uint64_t>(values_until_error(), 1, in_shard));
  }
}

}  // namespace infeed::detail
