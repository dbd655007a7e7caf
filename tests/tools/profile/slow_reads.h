#pragma once

#include <chrono>
#include <cstdint>
#include <string>
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
  explicit SlowReads(std::vector<SlowRead> reads);
  ~SlowReads();
  SlowReads(const SlowReads&) = delete;
  SlowReads& operator=(const SlowReads&) = delete;

 private:
  std::vector<SlowRead> reads_;
};

}  // namespace infeed::testing
