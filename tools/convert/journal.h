#pragma once

#include <string>
#include <vector>

#include <infeed/records/line_journal.h>

namespace infeed::tools {

/// Which shards of a conversion are finished (line_journal.h). It is also the lock: as long as a
/// Journal lives, no other process gets the same file.
class Journal : public LineJournal {
 public:
  /// Makes the file if it isn't there. Error failed_precondition when somebody else has it.
  Journal(const std::string& file, Durability durability);
};

/// The committed lines of a journal that is perhaps being written; none if there is no such file.
std::vector<std::string> read_journal(const std::string& file);

}  // namespace infeed::tools
