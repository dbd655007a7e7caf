#pragma once

#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <infeed/records/file.h>
#include <infeed/records/record_writer.h>

/// Why: what a long job has finished must be known after the process was killed or the power was
/// cut. A journal is a text file of lines `CRC TEXT`, CRC being the CRC-32C of TEXT in eight
/// hexadecimal digits. A line that is in it whole was committed; the journal ends at the first that
/// isn't.
///
/// It is also the lock: as long as a Journal lives, no other process gets the same file.
///
/// Thread-safety: append() by any threads at once.
namespace infeed::tools {

class Journal {
 public:
  /// Makes the file if it isn't there, locks it, and cuts a torn end off. Error
  /// failed_precondition when somebody else has it.
  Journal(std::string file, Durability durability);
  Journal(const Journal&) = delete;
  Journal& operator=(const Journal&) = delete;

  /// What was in it when it was opened, without the checksums.
  const std::vector<std::string>& lines() const { return lines_; }

  /// When it returns the line is committed. `text` has no line break. After an error nothing can be
  /// appended any more: what stands behind a torn line would not be found.
  void append(std::string_view text);
  /// Forgets all lines.
  void clear();
  /// Removes the file; nothing can be done with the journal then.
  void remove();

 private:
  void lock_file();
  void cut_torn_end();

  const std::string name_;
  const Durability durability_;
  std::optional<File> file_;
  std::vector<std::string> lines_;
  std::mutex mutex_;
  bool has_failed_ = false;
};

/// The committed lines of a journal that is perhaps being written; none if there is no such file.
std::vector<std::string> read_journal(const std::string& file);

}  // namespace infeed::tools
