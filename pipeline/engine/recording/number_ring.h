#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

namespace infeed::detail {

/// The last entries of a log that one thread at a time writes, a few numbers each, and that any
/// thread may read meanwhile. A lock at each entry would cost 20 ns, a tenth of a pull of 256 small
/// elements. It grows by pages: most logs of a short inner dataset have one entry.
///
/// Invariants: the writer moves first_ past an entry before it writes over it, and moves end_ past
/// an entry when it is whole. A reader looks at first_ again when it has read an entry. The numbers
/// are released and acquired, which keeps both orders. An entry becomes visible with end_, and so does
/// its page, which then stays.
template <std::size_t kNumbers, std::size_t kEntries>
class NumberRing {
 public:
  using Entry = std::array<std::uint64_t, kNumbers>;

  /// Only the writer calls these.
  void push(const Entry& entry) {
    const std::uint64_t end = end_.load(std::memory_order_relaxed);
    if (end < kEntries && end % kPageEntries == 0) add_page(end / kPageEntries);
    if (end >= kEntries) first_.store(end - kEntries + 1, std::memory_order_relaxed);
    for (std::size_t i = 0; i < kNumbers; ++i)
      number(end, i).store(entry[i], std::memory_order_release);
    end_.store(end + 1, std::memory_order_release);
  }
  /// Changes one number of the last entry. There must be an entry.
  void set_last(std::size_t index, std::uint64_t value) {
    number(end_.load(std::memory_order_relaxed) - 1, index).store(value, std::memory_order_release);
  }

  /// Any thread may call these.
  std::uint64_t end() const { return end_.load(std::memory_order_acquire); }
  std::uint64_t first() const { return first_.load(std::memory_order_acquire); }
  /// Returns an entry; nothing if it was written over. `at` is below end().
  std::optional<Entry> at(std::uint64_t at) const {
    Entry entry;
    for (std::size_t i = 0; i < kNumbers; ++i)
      entry[i] = number(at, i).load(std::memory_order_acquire);
    if (at < first_.load(std::memory_order_relaxed)) return std::nullopt;
    return entry;
  }
  /// Returns the last entry before `end` whose first number is at most `value`. The first numbers
  /// must ascend.
  std::optional<std::uint64_t> last_up_to(std::uint64_t value, std::uint64_t end) const {
    std::uint64_t low = first();
    std::uint64_t high = end;
    while (low < high) {
      const std::uint64_t middle = low + (high - low) / 2;
      const auto entry = at(middle);
      if (entry && (*entry)[0] > value) {
        high = middle;
      } else {
        low = middle + 1;
      }
    }
    if (low <= first()) return std::nullopt;
    return low - 1;
  }

 private:
  static constexpr std::size_t kPageEntries = std::min<std::size_t>(kEntries, 64);
  static_assert(kEntries % kPageEntries == 0);
  using Page = std::array<std::atomic<std::uint64_t>, kNumbers * kPageEntries>;
  using Pages = std::array<std::unique_ptr<Page>, kEntries / kPageEntries>;

  void add_page(std::size_t page) {
    if (pages_ == nullptr) pages_ = std::make_unique<Pages>();
    (*pages_)[page] = std::make_unique<Page>();
  }
  std::atomic<std::uint64_t>& number(std::uint64_t at, std::size_t index) const {
    const std::size_t slot = at % kEntries;
    return (*(*pages_)[slot / kPageEntries])[slot % kPageEntries * kNumbers + index];
  }

  std::unique_ptr<Pages> pages_;
  std::atomic<std::uint64_t> first_{0};
  std::atomic<std::uint64_t> end_{0};
};

}  // namespace infeed::detail
