#pragma once

#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "infeed/records/file.h"
#include "infeed/records/output_file.h"

/// Why: what a long job has finished must be known after the process was killed or the power was
/// cut. A journal is a text file of lines that carry the CRC-32C of their text in eight hexadecimal
/// digits. A line that is in it whole was committed; the journal ends at the first that isn't.
namespace infeed {

enum class LineChecksum {
  before_text,  ///< `CRC TEXT`
  behind_text,  ///< `TEXT<tab>CRC`
};

/// Thread-safety: append() by any threads at once.
class LineJournal {
 public:
  /// `file` is open for reading and appending (O_RDWR | O_APPEND). A torn end is cut off.
  LineJournal(File file, LineChecksum place, Durability durability);
  LineJournal(const LineJournal&) = delete;
  LineJournal& operator=(const LineJournal&) = delete;

  /// The committed lines of a journal that is perhaps being written, without the checksums; none
  /// if there is no such file.
  static std::vector<std::string> read(const std::string& file, LineChecksum place);
  /// What a file of these lines holds.
  static std::string text_of(std::span<const std::string> lines, LineChecksum place);

  /// What was in it when it was opened.
  const std::vector<std::string>& lines() const { return lines_; }

  /// When it returns the lines are committed. They have no line breaks. After an error nothing can
  /// be appended any more: what stands behind a torn line would not be found.
  void append(std::span<const std::string> lines);
  void append(std::string_view line) { append(std::vector<std::string>{std::string(line)}); }
  /// Forgets all lines.
  void clear();
  /// Removes the file; nothing can be done with the journal then.
  void remove();

 private:
  void cut_to(std::size_t bytes, std::string_view action);

  File file_;
  const LineChecksum place_;
  const Durability durability_;
  std::vector<std::string> lines_;
  std::mutex mutex_;
  bool has_failed_ = false;
};

}  // namespace infeed
