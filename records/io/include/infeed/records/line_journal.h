#pragma once

#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "infeed/records/file.h"
#include "infeed/records/output_file.h"

/// Why: a long job must know what it has finished after the process was killed or the power was
/// cut. A journal is a text file of lines that carry the CRC-32C of their text in eight hexadecimal
/// digits. A whole line was committed; the journal ends at the first line that isn't whole.
namespace infeed {

enum class LineChecksum {
  before_text,  ///< `CRC TEXT`
  behind_text,  ///< `TEXT<tab>CRC`
};

/// Thread-safety: append() by any threads at once.
class LineJournal {
 public:
  /// Takes a `file` open for reading and appending (O_RDWR | O_APPEND). Cuts off a torn end.
  LineJournal(File file, LineChecksum place, Durability durability);
  LineJournal(const LineJournal&) = delete;
  LineJournal& operator=(const LineJournal&) = delete;

  /// Returns the committed lines, without checksums, of a journal that a job may be writing now.
  /// Returns no lines if there is no such file.
  static std::vector<std::string> read(const std::string& file, LineChecksum place);
  /// Returns the text of a file with these lines.
  static std::string text_of(std::span<const std::string> lines, LineChecksum place);

  /// Lines in the journal when it was opened.
  const std::vector<std::string>& lines() const { return lines_; }

  /// Commits lines without line breaks before it returns. After an error nothing can be appended
  /// any more: lines behind a torn one would not be found.
  void append(std::span<const std::string> lines);
  void append(std::string_view line) { append(std::vector<std::string>{std::string(line)}); }
  /// Forgets all lines.
  void clear();
  /// Removes the file. The journal can't be used afterwards.
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
