#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unistd.h>

#include <infeed/records/file.h>

namespace infeed::detail {

/// A file of lines that one recorder writes and anybody may read at any time.
///
/// Each write ends with whole lines, so that what was written stays readable when the process is
/// killed. The file is locked while it is written. A file that grows beyond its limit is written
/// anew without the details of its older half (windows, ordinary steps, slow calls that are no
/// outliers), and replaces the former one at once.
///
/// Errors: the system's, failed_precondition if the file is no recording, and unavailable if another
/// process records to it.
class RecordingFile {
 public:
  /// Opens FILE; if this process has written that before, FILE-2, and so on.
  RecordingFile(const std::string& file, std::uint64_t bytes_max);

  const std::string& name() const { return file_.name(); }
  /// Adds a line, which goes to the file with the next write().
  void append(std::string_view line) { unwritten_ += line; }
  void write();

 private:
  void shorten();

  std::uint64_t bytes_max_;
  File file_;
  std::uint64_t bytes_ = 0;
  std::string unwritten_;
};

/// Returns how the first line of each recording of the process begins. No other process has it, nor a
/// later one of the same number.
std::string recording_begin(std::int64_t process = ::getpid());

}  // namespace infeed::detail
