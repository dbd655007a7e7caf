#include "infeed/records/record_set.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <optional>
#include <utility>

#include "infeed/records/files.h"
#include "infeed/records/shard_manifest.h"
#include "infeed/records/whole_set.h"
#include "io/open_files.h"
#include "tfrecord/indexed_shard.h"
#include "tfrecord/record_damage.h"

namespace infeed {
namespace {

using detail::IndexedShard;

constexpr std::size_t kRowsAtOnce = 256;
constexpr std::uint64_t kBytesAtOnce = std::uint64_t{1} << 20;
// A system call costs about as much as copying this many bytes that nobody wants.
constexpr std::uint64_t kGapBytesMax = 4096;
// A run of this size stays in the second-level cache between the kernel's copy and the checksum.
constexpr std::size_t kRunBytesMax = std::size_t{256} << 10;
// A block of a smaller run has the run's size; one of a larger is used again.
constexpr std::size_t kPooledRunBytesMin = std::size_t{64} << 10;

/// One row of a call, and where it lies.
struct WantedRecord {
  std::uint64_t record;  // in the shard
  std::uint64_t begin;   // in the file
  std::uint64_t end;
  std::uint32_t shard;
  std::uint32_t place;  // in the call
};

bool lies_before(const WantedRecord& a, const WantedRecord& b) {
  return a.shard != b.shard ? a.shard < b.shard : a.begin < b.begin;
}

/// The first of the rows of a call that failed.
struct FirstFailure {
  std::size_t place = kRowsAtOnce;
  std::optional<Error> error = std::nullopt;

  void note(std::size_t failed_place, const Error& failed) {
    if (failed_place >= place) return;
    place = failed_place;
    error = failed;
  }
};

/// How many of the sorted `wanted` are read at once.
std::size_t length_of_run(std::span<const WantedRecord> wanted) {
  std::size_t length = 1;
  while (length < wanted.size()) {
    const WantedRecord& next = wanted[length];
    const bool joins = next.shard == wanted[0].shard &&
                       next.begin <= wanted[length - 1].end + kGapBytesMax &&
                       next.end - wanted[0].begin <= kRunBytesMax;
    if (!joins) break;
    ++length;
  }
  return length;
}

/// Where the bytes lie in their cache line as in their file, the kernel copies quicker (README.md).
std::size_t lead_of(std::uint64_t offset) {
  return static_cast<std::size_t>(offset % detail::kBlockLeadBytes);
}

detail::BlockReference block_for(std::uint64_t begin, std::size_t bytes,
                                 const std::shared_ptr<detail::BlockPool>& pool) {
  const bool is_pooled = bytes >= kPooledRunBytesMin && bytes <= kRunBytesMax;
  detail::BlockReference block(
      is_pooled ? pool->take(kRunBytesMax + detail::kBlockLeadBytes)
                : detail::make_lone_block(bytes + lead_of(begin), pool->shared_file()));
  block->stream_offset = begin - lead_of(begin);
  return block;
}

std::vector<std::string> require_local(std::vector<std::string> files) {
  for (const std::string& file : files) {
    if (!is_url(file)) continue;
    throw Error(ErrorCode::invalid_argument,
                "records by rows are read from local files only; copy the files, or read URLs in "
                "order (records())")
        .at_file(redacted_url(file));
  }
  return files;
}

}  // namespace

class RecordSet::Shards {
 public:
  Shards(std::vector<std::string> list, const RecordSetOptions& set_options)
      : files(require_local(std::move(list))),
        options(set_options),
        open_(files.size(), options.open_files_max.of("RecordSet", "open_files_max")) {
    find_all();
  }

  std::uint64_t size() const { return first_rows_.back(); }
  std::uint64_t places_bytes_max() const {
    std::uint64_t total = 0;
    for (const auto& shard : shards_) total += detail::RecordPlaces::bytes_of(shard->size());
    return total;
  }
  std::size_t read(std::span<const std::uint64_t> rows, const std::vector<std::uint64_t>* selected,
                   std::span<Record> out) const;
  RecordSet::Place place_of(std::uint64_t row) const {
    const std::size_t shard = shard_of(row);
    return {files[shard], row - first_rows_[shard]};
  }

  const std::vector<std::string> files;
  const RecordSetOptions options;

 private:
  void find_all();
  std::size_t shard_of(std::uint64_t row) const {
    const auto after = std::upper_bound(first_rows_.begin(), first_rows_.end(), row);
    return static_cast<std::size_t>(after - first_rows_.begin()) - 1;
  }
  /// Fills in all but the place; `shard` is where the last one was found. It writes where the result
  /// stays: to copy a row costs more than to find it.
  void locate(std::uint64_t row, std::uint32_t shard, WantedRecord& wanted) const;
  void read_run(std::span<const WantedRecord> run, std::span<Record> out,
                FirstFailure& failure) const;
  Error cut(const WantedRecord& wanted, std::uint64_t file_bytes) const;

  std::vector<std::unique_ptr<IndexedShard>> shards_;
  std::vector<std::uint64_t> first_rows_{0};  // each shard's, and their end
  mutable detail::OpenFiles open_;
};

void RecordSet::Shards::find_all() {
  constexpr std::size_t kSpareBytes = std::size_t{4} << 20;
  const auto spare = std::make_shared<SpareBlocks>(kSpareBytes);
  ShardManifests manifests;
  std::vector<std::string> unknown;
  for (const std::string& file : files) {
    shards_.push_back(IndexedShard::find(file, manifests.find(file), options.without_index, spare));
    if (shards_.back() == nullptr) {
      if (!side_ending_of(file).empty()) {
        throw Error(ErrorCode::invalid_argument,
                    "the file lies beside a record file and holds no records: name the record "
                    "files alone, as with '/*.tfrecord' instead of '/*'")
            .at_file(file);
      }
      unknown.push_back(file);
    } else {
      first_rows_.push_back(first_rows_.back() + shards_.back()->size());
    }
  }
  if (unknown.empty()) return;
  const std::string others =
      unknown.size() == 1 ? std::string() : fmt::format(" (nor of {} others)", unknown.size() - 1);
  throw Error(ErrorCode::failed_precondition,
              fmt::format("nothing says where the records of this file are{}: there is neither "
                          "'{}.index' nor a manifest; write indices with infeed index, or give "
                          "{{.without_index = WithoutIndex::scan}}, which reads all headers first, "
                          "each time",
                          others, unknown.front()))
      .at_file(unknown.front());
}

void RecordSet::Shards::locate(std::uint64_t row, std::uint32_t shard, WantedRecord& wanted) const {
  if (row < first_rows_[shard] || row >= first_rows_[shard + 1]) {
    shard = static_cast<std::uint32_t>(shard_of(row));
  }
  const IndexedShard& found = *shards_[shard];
  const std::uint64_t record = row - first_rows_[shard];
  const IndexedShard::Places* places = found.places();
  if (places == nullptr) places = &found.load(*open_.get(shard, found.name()));
  if (record >= places->records.size()) {
    Error error = *places->rest;
    if (error.file() == found.name()) error.at_record(record);  // not of what lies beside it
    throw error;
  }
  wanted.record = record;
  wanted.begin = places->records.offset(record);
  wanted.end = places->records.offset(record + 1);
  wanted.shard = shard;
  // Nothing is allocated on an index's word alone.
  if (wanted.end > places->file_bytes) throw cut(wanted, places->file_bytes);
}

Error RecordSet::Shards::cut(const WantedRecord& wanted, std::uint64_t file_bytes) const {
  return detail::lost_record(
      files[wanted.shard], {wanted.record, wanted.begin},
      fmt::format("record is cut: its index has it end at byte {}, but the file ends at byte {}; "
                  "take the file from a copy, or make the index anew (infeed index)",
                  wanted.end, file_bytes));
}

void RecordSet::Shards::read_run(std::span<const WantedRecord> run, std::span<Record> out,
                                 FirstFailure& failure) const {
  const std::uint64_t begin = run.front().begin;
  const auto bytes = static_cast<std::size_t>(run.back().end - begin);
  const IndexedShard& shard = *shards_[run.front().shard];
  detail::BlockReference block;
  std::size_t got = 0;
  try {
    const auto file = open_.get(run.front().shard, shard.name());
    block = block_for(begin, bytes, shard.blocks());
    got = file->read_at(begin, {block->data + lead_of(begin), bytes});
  } catch (const Error& error) {
    if (run.size() == 1) return failure.note(run.front().place, error);
    // The part that can't be read may be one sector of all these.
    for (std::size_t i = 0; i < run.size(); ++i) read_run(run.subspan(i, 1), out, failure);
    return;
  }
  const char* const front = block->data + lead_of(begin);
  // All at once, since each would be a locked addition; those that weren't used are taken back.
  block->references.fetch_add(run.size(), std::memory_order_relaxed);
  std::uint64_t unused = run.size();
  for (const WantedRecord& wanted : run) {
    try {
      if (wanted.end - begin > got) throw cut(wanted, begin + got);
      const std::string_view payload = detail::require_record(
          front + (wanted.begin - begin), wanted.end - wanted.begin, options.verify,
          files[wanted.shard], {wanted.record, wanted.begin});
      out[wanted.place] = Record::adopt(block.get(), payload, wanted.record);
      --unused;
    } catch (const Error& error) {
      failure.note(wanted.place, error);
    }
  }
  if (unused > 0) block->references.fetch_sub(unused, std::memory_order_acq_rel);
}

std::size_t RecordSet::Shards::read(std::span<const std::uint64_t> rows,
                                    const std::vector<std::uint64_t>* selected,
                                    std::span<Record> out) const {
  std::array<WantedRecord, kRowsAtOnce> all;
  std::size_t count = 0;
  try {
    std::uint64_t bytes = 0;
    std::uint32_t shard = 0;
    for (; count < std::min({rows.size(), out.size(), kRowsAtOnce}); ++count) {
      locate(selected == nullptr ? rows[count] : (*selected)[rows[count]], shard, all[count]);
      all[count].place = static_cast<std::uint32_t>(count);
      shard = all[count].shard;
      bytes += all[count].end - all[count].begin;
      if (count > 0 && bytes > kBytesAtOnce) break;
    }
  } catch (const Error&) {
    if (count == 0) throw;  // else it comes with the next call, which begins with this row
  }
  std::span<const WantedRecord> wanted(all.data(), count);
  if (!std::is_sorted(wanted.begin(), wanted.end(), lies_before)) {
    std::sort(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(count), lies_before);
  }
  FirstFailure failure;
  while (!wanted.empty()) {
    const std::size_t length = length_of_run(wanted);
    read_run(wanted.first(length), out, failure);
    wanted = wanted.subspan(length);
  }
  if (!failure.error) return count;
  if (failure.place == 0) throw Error(*failure.error);
  for (Record& record : out.subspan(failure.place, count - failure.place)) record = Record();
  return failure.place;
}

RecordSet::RecordSet(const std::string& pattern, RecordSetOptions options)
    : RecordSet(is_url(pattern) ? std::vector{pattern} : match_whole_sets(pattern), options) {}

RecordSet::RecordSet(std::vector<std::string> files, RecordSetOptions options)
    : shards_(std::make_shared<const Shards>(std::move(files), options)) {}

RecordSet::RecordSet(std::initializer_list<std::string> files, RecordSetOptions options)
    : RecordSet(std::vector(files), options) {}

std::uint64_t RecordSet::size() const { return rows_ == nullptr ? shards_->size() : rows_->size(); }

std::uint64_t RecordSet::memory_bytes_max() const {
  const std::uint64_t selected = rows_ == nullptr ? 0 : rows_->size() * sizeof(std::uint64_t);
  return selected + shards_->places_bytes_max();
}

void RecordSet::require_row(std::uint64_t row) const {
  if (row < size()) return;
  throw Error(
      ErrorCode::invalid_argument,
      fmt::format("row {} is asked for, but there are {} (they count from 0)", row, size()));
}

Record RecordSet::at(std::uint64_t row) const {
  Record record;
  read({&row, 1}, {&record, 1});
  return record;
}

std::size_t RecordSet::read(std::span<const std::uint64_t> rows, std::span<Record> out) const {
  if (!rows.empty()) require_row(*std::max_element(rows.begin(), rows.end()));
  return rows.empty() || out.empty() ? 0 : shards_->read(rows, rows_.get(), out);
}

RecordSet RecordSet::select(std::vector<std::uint64_t> rows) const {
  for (std::uint64_t& row : rows) {
    require_row(row);
    if (rows_ != nullptr) row = (*rows_)[row];
  }
  RecordSet chosen(*this);
  chosen.rows_ = std::make_shared<const std::vector<std::uint64_t>>(std::move(rows));
  return chosen;
}

const std::vector<std::string>& RecordSet::files() const { return shards_->files; }

RecordSet::Place RecordSet::place_of(std::uint64_t row) const {
  require_row(row);
  return shards_->place_of(rows_ == nullptr ? row : (*rows_)[row]);
}

const RecordSetOptions& RecordSet::options() const { return shards_->options; }

}  // namespace infeed
