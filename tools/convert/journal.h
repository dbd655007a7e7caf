#pragma once

#include <string>
#include <vector>

#include <infeed/records/line_journal.h>

namespace infeed::tools {

/// The finished shards of a conversion (line_journal.h). It is also the lock: as long as a Journal
/// lives, no other process gets the same file.
class Journal : public LineJournal {
 public:
  /// Makes the file if it is missing. Throws failed_precondition if another process has it, which
  /// does what `other_work` says.
  Journal(const std::string& file, Durability durability,
          const std::string& other_work = "converting into this dataset");
};

/// Returns the committed lines of a journal, which another process may be writing; none if there is
/// no such file.
std::vector<std::string> read_journal(const std::string& file);

}  // namespace infeed::tools
