#include "engine/recording/place_log.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace infeed::detail {

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
  push({position, count, nullptr, record, records_each, offset}, file);
}

void PlaceLog::push(Entry entry, std::string_view file) {
  if (entries_.size() == kEntriesMax) {
    entries_.pop_front();
    while (&files_.front() != entries_.front().file) files_.pop_front();
  }
  if (files_.empty() || files_.back() != file) files_.emplace_back(file);
  entry.file = &files_.back();
  entries_.push_back(entry);
}

void PlaceLog::forget_from(std::uint64_t position) {
  const std::lock_guard lock(mutex_);
  while (!entries_.empty() && entries_.back().position >= position) entries_.pop_back();
  if (entries_.empty()) return;
  Entry& last = entries_.back();
  last.count = std::min(last.count, position - last.position);
}

TracedPlace PlaceLog::find(std::uint64_t position) const {
  const std::lock_guard lock(mutex_);
  const auto behind = std::upper_bound(
      entries_.begin(), entries_.end(), position,
      [](std::uint64_t wanted, const Entry& entry) { return wanted < entry.position; });
  const Entry* const entry = behind == entries_.begin() ? nullptr : &*std::prev(behind);
  if (entry == nullptr || position - entry->position >= entry->count) {
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
  const bool is_exact = count == inputs.count;
  const std::uint64_t end = entries_.end();
  if (is_exact && end > 0) {
    const auto last = *entries_.at(end - 1);
    if (last[kInputCount] == kEachIsOne && last[kPosition] + last[kCount] == position &&
        last[kInputPosition] + last[kCount] == inputs.position)
      return entries_.set_last(kCount, last[kCount] + count);
  }
  entries_.push({position, count, inputs.position, is_exact ? kEachIsOne : inputs.count});
  rows_.each = 0;
}

void PositionLog::begin_rows(std::uint64_t position, std::uint64_t count, std::uint64_t input,
                             std::uint64_t each) {
  if (count == 0) return;
  entries_.push({position, count, input, kRows | each});
  rows_ = {position, count, input + 1, count == each ? each : 0};
}

std::optional<PositionLog::Inputs> PositionLog::find(std::uint64_t position) const {
  const auto number = entries_.last_up_to(position, entries_.end());
  const auto entry = number ? entries_.at(*number) : std::nullopt;
  if (!entry || position - (*entry)[kPosition] >= (*entry)[kCount]) return std::nullopt;
  const std::uint64_t behind = position - (*entry)[kPosition];
  const std::uint64_t inputs = (*entry)[kInputCount];
  if (inputs == kEachIsOne) return Inputs{(*entry)[kInputPosition] + behind, 1};
  if ((inputs & kRows) != 0)
    return Inputs{(*entry)[kInputPosition] + behind / (inputs & ~kRows), 1};
  return Inputs{(*entry)[kInputPosition], inputs};
}

void RowLog::end_batch(std::uint64_t position) {
  std::uint64_t row = 0;
  for (const auto& [count, input] : next_) {
    add(position, row, count, input);
    row += count;
  }
  next_.clear();
}

std::uint64_t RowLog::rows_of(std::uint64_t position) const {
  std::uint64_t low = 0;
  std::uint64_t high = rows_max_;
  while (low < high) {
    const std::uint64_t middle = low + (high - low) / 2;
    if (find(position, middle)) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

void ChoiceLog::add(std::span<const std::uint16_t> inputs) {
  const std::lock_guard lock(mutex_);
  for (const std::uint16_t input : inputs) {
    if (last_.size() == kChoicesMax) last_.pop_front();
    last_.push_back(input);
    ++count_;
    if (input == kNone) continue;
    if (input >= taken_.size()) taken_.resize(std::size_t{input} + 1, 0);
    ++taken_[input];
  }
}

void ChoiceLog::begin_behind(std::uint64_t elements, std::vector<std::uint64_t> taken) {
  const std::lock_guard lock(mutex_);
  count_ = elements;
  taken_ = std::move(taken);
}

std::optional<ChoiceLog::Origin> ChoiceLog::find(std::uint64_t position) const {
  const std::lock_guard lock(mutex_);
  if (position >= count_ || count_ - position > last_.size()) return std::nullopt;
  const auto found = last_.end() - static_cast<std::ptrdiff_t>(count_ - position);
  if (*found == kNone) return std::nullopt;
  const auto later = std::count(found, last_.end(), *found);
  return Origin{*found, taken_[*found] - static_cast<std::uint64_t>(later)};
}

}  // namespace infeed::detail
