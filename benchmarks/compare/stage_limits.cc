#include <array>
#include <cstdint>
#include <utility>
#include <vector>

#include "drain.h"
#include "limits.h"
#include "repeated.h"

namespace infeed::compare {
namespace {

/// A set of numbers by open addressing; -1 is a free place.
class NumberSet {
 public:
  bool add(std::int64_t value) {
    if (2 * ++size_ > places_.size()) grow();
    std::int64_t& place = find(value);
    return std::exchange(place, value) != value;
  }

 private:
  std::int64_t& find(std::int64_t value) {
    std::size_t at = static_cast<std::uint64_t>(value) * 0x9E3779B97F4A7C15 >> shift_;
    while (places_[at] != -1 && places_[at] != value) at = (at + 1) & (places_.size() - 1);
    return places_[at];
  }
  void grow() {
    const std::vector<std::int64_t> old =
        std::exchange(places_, std::vector<std::int64_t>(2 * places_.size(), -1));
    --shift_;
    for (const std::int64_t value : old)
      if (value != -1) find(value) = value;
  }

  std::vector<std::int64_t> places_ = std::vector<std::int64_t>(64, -1);
  int shift_ = 64 - 6;
  std::size_t size_ = 0;
};

}  // namespace

double hash_table_ns(const RunOptions& options) {
  std::vector<double> repetitions;
  for (int i = 0; i < 3; ++i) {
    const auto start = Clock::now();
    NumberSet seen;
    std::uint64_t sum = 0;
    for (std::int64_t x = 0; x < options.elements; ++x) sum += seen.add(x) ? touch(x) : 0;
    use(sum);
    repetitions.push_back(seconds_since(start) / static_cast<double>(options.elements) * 1e9);
  }
  return median(std::move(repetitions));
}

double windows_ns(const RunOptions& options) {
  return repeated_ns(options, [](std::int64_t n) {
    std::uint64_t sum = 0;
    for (std::int64_t begin = 0; begin < n; begin += 10) {
      std::vector<std::int64_t> window;
      window.reserve(10);
      for (std::int64_t i = begin; i < begin + 10; ++i) window.push_back(i);
      use(reinterpret_cast<std::uintptr_t>(window.data()));
      sum += touch(window);
    }
    use(sum);
  });
}

double padded_rows_ns(const RunOptions& options) {
  return repeated_ns(options, [](std::int64_t n) {
    std::uint64_t sum = 0;
    for (std::int64_t begin = 0; begin < n; begin += 32) {
      std::vector<std::vector<std::int64_t>> rows;
      std::size_t longest = 0;
      for (std::int64_t x = begin; x < begin + 32; ++x) {
        rows.emplace_back(static_cast<std::size_t>(x % 20), x);
        longest = std::max(longest, rows.back().size());
      }
      std::vector<std::int64_t> batch(32 * longest);
      for (std::size_t row = 0; row < rows.size(); ++row)
        std::copy(rows[row].begin(), rows[row].end(), batch.begin() + row * longest);
      use(reinterpret_cast<std::uintptr_t>(batch.data()));
      sum += batch.size();
    }
    use(sum);
  });
}

double cursors_ns(const RunOptions& options) {
  return repeated_ns(options, [](std::int64_t n) {
    std::array<std::int64_t, 16> cursors{};
    std::uint64_t sum = 0;
    std::size_t turn = 0;
    for (std::int64_t i = 0; i < n; ++i) {
      std::int64_t& cursor = cursors[turn];
      turn = (turn + 1) % cursors.size();
      if (cursor == 1000) cursor = 0;
      sum += touch(cursor++);
      use(sum);
    }
  });
}

}  // namespace infeed::compare
