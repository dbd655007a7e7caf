#include "infeed/pipeline/indexed_records.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <memory>
#include <new>
#include <numeric>
#include <utility>

#include <infeed/pipeline/errors_in_flight.h>
#include <infeed/pipeline/hand_over.h>
#include <infeed/pipeline/reservation.h>
#include <infeed/records/crc32c.h>
#include <infeed/records/files.h>
#include <infeed/records/whole_set.h>

#include "sources/data_identity.h"

namespace infeed {
namespace {

class IndexedRecordsStage final : public Stage {
 public:
  IndexedRecordsStage(const StageContext& context, RecordSet set)
      : Stage(context), set_(std::move(set)) {
    places_.grow(set_.memory_bytes_max());
  }

  Pull do_pull(Chunk& out, std::size_t want) override {
    const auto count =
        static_cast<std::size_t>(std::min<std::uint64_t>(want, set_.size() - position_));
    if (count == 0) return Pull::end;
    std::array<std::uint64_t, kChunkElementsMax> rows;
    std::iota(rows.begin(), rows.begin() + count, position_);
    read(out, {rows.data(), count});
    position_ += out.slots();
    return Pull::values;
  }

 protected:
  std::uint64_t do_skip(std::uint64_t count, Known) override {
    count = std::min(count, set_.size() - position_);
    position_ += count;
    return count;
  }
  TracedPlace do_trace(std::uint64_t position) const override {
    if (position >= set_.size()) return TracedPlace::unknown(label(), "has ended before");
    const auto [file, record] = set_.place_of(position);
    return {RecordPlace{.file = file, .record = record}, {}};
  }
  Pull do_pull_at(Chunk& out, std::span<const std::uint64_t> positions) override {
    read(out, positions);
    return Pull::values;
  }

 private:
  static constexpr std::size_t kStepMin = 8;

  /// As many as come before it is time to hand over; an error is the last of them. A disk may take
  /// long for each row, and many are asked for at once only where few take no time.
  void read(Chunk& out, std::span<const std::uint64_t> rows) {
    HandOver hand_over(out);
    while (!rows.empty()) {
      const std::size_t asked = std::min(step_, rows.size());
      const std::size_t got = read_some(out, rows.first(asked));
      rows = rows.subspan(got);
      const bool is_due = hand_over.is_due();
      step_ = got < asked || is_due ? std::max(step_ / 2, kStepMin)
                                    : std::min(step_ * 2, kChunkElementsMax);
      if (out.has_error() || is_due || cancelled()) return;
    }
  }

  /// How many slots it appended.
  std::size_t read_some(Chunk& out, std::span<const std::uint64_t> rows) {
    auto* const records = static_cast<Record*>(out.back());
    std::uninitialized_default_construct_n(records, rows.size());
    std::size_t got = 0;
    ErrorPointer error;
    try {
      got = set_.read(rows, {records, rows.size()});
    } catch (const std::bad_alloc&) {
      std::destroy_n(records, rows.size());
      throw;  // terminal
    } catch (...) {
      error = current_error();
    }
    std::destroy_n(records + got, rows.size() - got);
    out.grow(got);
    if (error != nullptr) out.set_error(std::move(error));
    return out.has_error() ? got + 1 : got;
  }

  const RecordSet set_;
  Reservation places_{memory(), "indexed_records"};
  std::uint64_t position_ = 0;
  std::size_t step_ = kStepMin;
};

class IndexedRecordsNode final : public Node {
 public:
  explicit IndexedRecordsNode(RecordSet set)
      : Node("indexed_records", type_info<Record>()),
        set_(std::move(set)),
        identity_(set_.files()) {}

  std::string signature() const override {
    std::string text = fmt::format("indexed_records({}, records={}", identity_.text(), set_.size());
    if (const auto* const rows = set_.selected()) {
      const std::string_view bytes(reinterpret_cast<const char*>(rows->data()),
                                   rows->size() * sizeof(rows->front()));
      text += fmt::format(", selected crc32c={:08x}", crc32c(bytes));
    }
    if (set_.options().verify == Verify::lengths) text += ", verify=lengths";
    return text + ")";
  }
  Cardinality cardinality() const override { return Cardinality::finite(set_.size()); }
  bool is_indexable() const override { return true; }
  /// Returns the bytes of the places of its records.
  std::uint64_t buffer_bytes_min() const override { return set_.memory_bytes_max(); }

 protected:
  std::unique_ptr<Stage> make_stage(const StageContext& context) const override {
    return std::make_unique<IndexedRecordsStage>(context, set_);
  }

 private:
  const RecordSet set_;
  const detail::DataIdentity identity_;
};

RecordSetOptions set_options(const IndexedRecordsOptions& options) {
  options.open_files_max.of("indexed_records", "open_files_max");
  return {.verify = options.verify,
          .without_index = options.without_index,
          .open_files_max = options.open_files_max};
}

}  // namespace

Dataset<Record> indexed_records(const RecordSet& set, StageOptions options) {
  return Dataset<Record>(detail::named(std::make_shared<IndexedRecordsNode>(set), options.name));
}

Dataset<Record> indexed_records(const std::string& pattern, IndexedRecordsOptions options) {
  // A URL is refused before anybody lists its store.
  return indexed_records(is_url(pattern) ? std::vector{pattern} : match_whole_sets(pattern),
                         std::move(options));
}

Dataset<Record> indexed_records(std::vector<std::string> files, IndexedRecordsOptions options) {
  return indexed_records(RecordSet(std::move(files), set_options(options)), {.name = options.name});
}

Dataset<Record> indexed_records(std::initializer_list<std::string> files,
                                IndexedRecordsOptions options) {
  return indexed_records(std::vector(files), std::move(options));
}

}  // namespace infeed
