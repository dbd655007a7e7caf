#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <string>

namespace infeed::detail {

/// The last seconds of a run that records, for `infeed top` of the same user: a file in memory
/// (/dev/shm/infeed-PID.NUMBER, readable by its owner only) with lines of a recording. It is
/// replaced as a whole, so that a reader never waits and never makes anybody wait.
///
/// Anybody may put a file of this name there before. The page is then NUMBER-DRAWN, with a number
/// that nobody can know.
class LivePage {
 public:
  explicit LivePage(std::uint64_t number);
  ~LivePage();
  LivePage(const LivePage&) = delete;
  LivePage& operator=(const LivePage&) = delete;

  /// Adds a line of the recording.
  void add(const std::string& line);
  /// Shows the lines so far. Throws if that fails; the page is of no use then.
  void show();

 private:
  struct Line {
    std::uint64_t number = 0;  ///< place among all lines
    std::string text = {};
  };
  /// The lines of a kind that are kept: slow calls, hundreds in a window, must not push out the
  /// windows.
  static constexpr std::size_t kLinesMax = 32;

  const std::string numbered_;
  std::string file_ = numbered_;
  std::string header_;
  std::string stages_;
  std::map<std::string, std::deque<Line>> lines_;  ///< the last lines of each other kind
  std::uint64_t added_ = 0;                        ///< lines of these kinds so far
};

/// Returns how the names of a process's pages begin: "/dev/shm/infeed-PID.".
std::string live_page_begin(long process);
/// Throws Error if this process can't show pages: /dev/shm isn't there, or may not be written.
void require_live_pages();
/// Removes the pages of processes that were killed, as far as this user may. A page of one that only
/// can't be seen from here, in another container, comes again when it is next replaced.
void clear_left_pages();

}  // namespace infeed::detail
