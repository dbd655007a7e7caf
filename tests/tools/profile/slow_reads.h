#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

/// Slow reads of this program, as from storage in a bad moment: pread() is replaced by one of our
/// own. Sanitizers have their own, so there are none with them (kCanSlowReads).
namespace infeed::test {

extern const bool kCanSlowReads;

struct SlowRead {
  std::string file_end;  ///< end of the file's path
  std::uint64_t begin;   ///< reads that touch these bytes
  std::uint64_t end;
  std::chrono::milliseconds takes;
};

/// Works while it lives; one object at a time.
class SlowReads {
 public:
  /// `on_delayed` is told of each delayed read: its number, and when it began.
  using OnDelayed =
      std::function<void(const SlowRead&, std::chrono::steady_clock::time_point begin)>;
  explicit SlowReads(std::vector<SlowRead> reads, OnDelayed on_delayed = {});
  ~SlowReads();
  SlowReads(const SlowReads&) = delete;
  SlowReads& operator=(const SlowReads&) = delete;

  /// Called by pread() itself.
  void delay(std::string_view file, std::uint64_t begin, std::uint64_t end) const;

 private:
  const std::vector<SlowRead> reads_;
  const OnDelayed on_delayed_;
};

}  // namespace infeed::test
