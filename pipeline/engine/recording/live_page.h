#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>

namespace infeed::detail {

/// The last seconds of a run that records, where `infeed top` of the same user finds them: a file in
/// memory (/dev/shm/infeed-PID.NUMBER, readable by its owner only) that is replaced as a whole, so
/// that a reader never waits and never makes anybody wait. It holds lines of a recording.
class LivePage {
 public:
  explicit LivePage(std::uint64_t number);
  ~LivePage();
  LivePage(const LivePage&) = delete;
  LivePage& operator=(const LivePage&) = delete;

  /// A line of the recording.
  void add(const std::string& line);
  /// Shows what was added; false when it can't, and then never again.
  bool show();

 private:
  static constexpr std::size_t kLinesMax = 64;

  const std::string file_;
  std::string header_;
  std::string stages_;
  std::deque<std::string> lines_;  ///< the last ones of all other kinds
};

/// Where the pages lie: /dev/shm/infeed-PID.
std::string live_page_begin(long process);

}  // namespace infeed::detail
