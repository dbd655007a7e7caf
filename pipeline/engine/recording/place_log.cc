#include "engine/recording/place_log.h"

#include <algorithm>

namespace infeed::detail {
namespace {

/// The entry that holds the position; null when none does.
template <class Entries>
const auto* entry_of(const Entries& entries, std::uint64_t position) {
  const auto behind = std::upper_bound(
      entries.begin(), entries.end(), position,
      [](std::uint64_t wanted, const auto& entry) { return wanted < entry.position; });
  if (behind == entries.begin()) return static_cast<const decltype(&*behind)>(nullptr);
  const auto* const entry = &*std::prev(behind);
  return position - entry->position < entry->count ? entry : nullptr;
}

}  // namespace

void PlaceLog::add(std::uint64_t position, std::uint64_t count, std::string_view file,
                   std::uint64_t record, std::uint64_t records_each,
                   std::optional<std::uint64_t> offset) {
  if (count == 0) return;
  const std::lock_guard lock(mutex_);
  if (!entries_.empty()) {
    Entry& last = entries_.back();
    if (*last.file == file && last.position + last.count == position &&
        last.records_each == records_each && last.record + last.count * records_each == record) {
      last.count += count;
      return;
    }
  }
  if (entries_.size() == kEntriesMax) {
    entries_.pop_front();
    while (&files_.front() != entries_.front().file) files_.pop_front();
  }
  if (files_.empty() || files_.back() != file) files_.emplace_back(file);
  entries_.push_back({position, count, &files_.back(), record, records_each, offset});
}

TracedPlace PlaceLog::find(std::uint64_t position) const {
  const std::lock_guard lock(mutex_);
  const Entry* const entry = entry_of(entries_, position);
  if (entry == nullptr) {
    const bool is_older = entries_.empty() || position < entries_.front().position;
    return TracedPlace::unknown(is_older ? "it lies too far back"
                                         : "the records that it was made of are no neighbours");
  }
  RecordPlace place{*entry->file,
                    entry->record + (position - entry->position) * entry->records_each,
                    entry->records_each};
  if (position == entry->position) place.offset = entry->offset;
  return {std::move(place), {}};
}

void PositionLog::add(std::uint64_t position, std::uint64_t count, const Inputs& inputs) {
  if (count == 0) return;
  const std::lock_guard lock(mutex_);
  if (!entries_.empty()) {
    Entry& last = entries_.back();
    const bool is_exact = last.count == last.inputs.count && count == inputs.count;
    if (is_exact && last.position + last.count == position &&
        last.inputs.position + last.count == inputs.position) {
      last.count += count;
      last.inputs.count += count;
      return;
    }
  }
  if (entries_.size() == kEntriesMax) entries_.pop_front();
  entries_.push_back({position, count, inputs});
}

std::optional<PositionLog::Inputs> PositionLog::find(std::uint64_t position) const {
  const std::lock_guard lock(mutex_);
  const Entry* const entry = entry_of(entries_, position);
  if (entry == nullptr) return std::nullopt;
  if (entry->count != entry->inputs.count) return entry->inputs;
  return Inputs{entry->inputs.position + (position - entry->position), 1};
}

}  // namespace infeed::detail
