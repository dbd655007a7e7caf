#include "convert/journal.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <optional>
#include <utility>

#include <infeed/error.h>
#include <infeed/records/file.h>

namespace infeed::tools {
namespace {

constexpr LineChecksum kChecksum = LineChecksum::before_text;

File open_own(const std::string& name, const std::string& other_work) {
  std::optional<File> file = File::open_locked(name, O_RDWR | O_CREAT | O_APPEND);
  if (file) return std::move(*file);
  throw Error(ErrorCode::failed_precondition,
              fmt::format("somebody else is {} at this moment; wait for that to end, or choose "
                          "another name",
                          other_work))
      .at_file(name);
}

}  // namespace

Journal::Journal(const std::string& file, Durability durability, const std::string& other_work)
    : LineJournal(open_own(file, other_work), kChecksum, durability) {}

std::vector<std::string> read_journal(const std::string& file) {
  return LineJournal::read(file, kChecksum);
}

}  // namespace infeed::tools
