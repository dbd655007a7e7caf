#include "tfrecord/indexed_shard.h"

#include <array>
#include <filesystem>
#include <fmt/format.h>
#include <limits>
#include <utility>

#include "io/byte_source.h"
#include "io/file_ends.h"
#include "tfrecord/index_header.h"

namespace infeed::detail {
namespace {

/// A compressed file has no places; to say "make an index" of one would be bad advice.
void require_plain_file(const std::string& name) {
  const auto file = open_input_file(name);
  require_regular(*file);
  std::array<char, kCompressionPrefixBytes> front{};
  const std::size_t got = file->read_at(0, front);
  const Compression compression = recognise_compression({front.data(), got});
  if (compression == Compression::none) return;
  throw Error(ErrorCode::failed_precondition,
              fmt::format("a {} file can't be read by rows: its records are not at fixed places; "
                          "write it plain (infeed reshard --compression none), or read it in order "
                          "(records())",
                          to_string(compression)))
      .at_file(name);
}

/// Goes through the headers as far as they are good, and no further than one record too many.
IndexedShard::Places walk_headers(const std::string& name, std::uint64_t records_max) {
  std::vector<std::uint64_t> offsets{0};
  std::optional<Error> damage;
  try {
    RecordReader reader(name, {.compression = Compression::none, .verify = Verify::lengths});
    while (offsets.size() - 1 <= records_max && reader.skip(1) == 1) {
      offsets.push_back(reader.position().offset);
    }
  } catch (const Error& error) {
    if (error.code() != ErrorCode::data_loss) throw;
    damage = error;
  }
  return {.records = RecordPlaces(std::move(offsets)), .rest = std::move(damage)};
}

}  // namespace

RecordPlaces::RecordPlaces(std::vector<std::uint64_t> offsets) : size_(offsets.size() - 1) {
  within_.reserve(offsets.size());
  for (std::size_t i = 0; i < offsets.size(); ++i) {
    if (i % kGroup == 0) bases_.push_back(offsets[i]);
    const std::uint64_t within = offsets[i] - bases_.back();
    if (within > std::numeric_limits<std::uint32_t>::max()) {
      wide_ = std::move(offsets);
      bases_ = std::vector<std::uint64_t>();  // {} would keep the memory
      within_ = std::vector<std::uint32_t>();
      return;
    }
    within_.push_back(static_cast<std::uint32_t>(within));
  }
}

std::unique_ptr<IndexedShard> IndexedShard::find(const std::string& name,
                                                 const std::optional<ManifestShard>& listed,
                                                 WithoutIndex without_index,
                                                 const std::shared_ptr<SpareBlocks>& spare) {
  const auto make = [&](Source source, std::uint64_t size) {
    std::unique_ptr<IndexedShard> shard(new IndexedShard(name, source, spare));
    shard->size_ = size;
    return shard;
  };
  const std::string index_file = name + ".index";
  std::error_code ignored;
  if (std::filesystem::exists(index_file, ignored)) {
    const auto header = read_index_header(*open_input_file(index_file));
    // A file that is no index of ours is DALI's, or read_index() says what is wrong with it.
    return make(Source::index, header ? header->count : read_index(index_file).size());
  }
  require_plain_file(name);
  if (listed) return make(Source::manifest, listed->examples);
  if (without_index == WithoutIndex::refuse) return nullptr;
  Places places = walk_headers(name, std::numeric_limits<std::uint64_t>::max());
  if (places.rest) {
    throw Error(*places.rest)
        .reworded(places.rest->code(),
                  fmt::format("{}; what follows can't be counted without an index: infeed repair "
                              "saves what is whole",
                              places.rest->message()));
  }
  auto shard = make(Source::headers, places.records.size());
  places.file_bytes = places.records.offset(places.records.size());
  shard->set_places(std::move(places));
  return shard;
}

void IndexedShard::set_places(Places places) const {
  places_ = std::make_unique<const Places>(std::move(places));
  ready_.store(places_.get(), std::memory_order_release);
}

const IndexedShard::Places& IndexedShard::load(const InputFile& file) const {
  const std::lock_guard lock(mutex_);
  if (places_ != nullptr) return *places_;
  try {
    set_places(source_ == Source::index ? by_index(file) : by_headers(file));
  } catch (const Error& error) {
    // These stay as they are; the index need not be read again for each record.
    const bool stays =
        error.code() == ErrorCode::data_loss || error.code() == ErrorCode::failed_precondition;
    if (!stays) throw;
    set_places({.records = {}, .rest = error});
  }
  return *places_;
}

IndexedShard::Places IndexedShard::by_index(const InputFile& file) const {
  RecordIndex index = read_index(index_file());
  if (index.size() != size_) {
    throw Error(ErrorCode::failed_precondition,
                fmt::format("the index has {} records, but had {} when the set of files was made; "
                            "make the set anew",
                            index.size(), size_))
        .at_file(index_file());
  }
  const std::uint64_t bytes = require_regular(file);
  if (bytes > index.file_bytes()) {
    throw Error(ErrorCode::failed_precondition,
                fmt::format("the index is for {} bytes, but the file has {}: records were added, "
                            "or it is another one; make the index anew (infeed index)",
                            index.file_bytes(), bytes))
        .at_file(name());
  }
  return {.records = RecordPlaces(std::move(index.offsets)), .file_bytes = bytes};
}

IndexedShard::Places IndexedShard::by_headers(const InputFile& file) const {
  Places places = walk_headers(name(), size_);
  places.file_bytes = require_regular(file);
  const std::uint64_t found = places.records.size();
  if (found > size_) {
    throw Error(ErrorCode::failed_precondition,
                fmt::format("the file has more than the {} records that its manifest says: it was "
                            "replaced since; convert it again, or make an index (infeed index)",
                            size_))
        .at_file(name());
  }
  if (found < size_ && !places.rest) {
    places.rest =
        Error(ErrorCode::data_loss,
              fmt::format("the file ends behind {} records at byte {}, but its manifest says {}: "
                          "it was cut or replaced; take it from a copy, or convert it again",
                          found, places.file_bytes, size_))
            .at_file(name());
  }
  return places;
}

}  // namespace infeed::detail
