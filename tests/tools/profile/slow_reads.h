#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

/// Reads of this program that take long, as from storage that has a bad moment: pread() is one of
/// our own. With a sanitizer, which has its own, there are none (kCanSlowReads).
namespace infeed::testing {

extern const bool kCanSlowReads;

struct SlowRead {
  std::string file_end;  ///< what the file's path ends with
  std::uint64_t begin;   ///< reads that touch these bytes
  std::uint64_t end;
  std::chrono::milliseconds takes;
};

/// While it lives; one at a time.
class SlowReads {
 public:
  /// `on_delayed` is told each that was: which of them, and from when on.
  using OnDelayed =
      std::function<void(const SlowRead&, std::chrono::steady_clock::time_point begin)>;
  explicit SlowReads(std::vector<SlowRead> reads, OnDelayed on_delayed = {});
  ~SlowReads();
  SlowReads(const SlowReads&) = delete;
  SlowReads& operator=(const SlowReads&) = delete;

  /// For pread() itself.
  void delay(std::string_view file, std::uint64_t begin, std::uint64_t end) const;

 private:
  const std::vector<SlowRead> reads_;
  const OnDelayed on_delayed_;
};

}  // namespace infeed::testing
