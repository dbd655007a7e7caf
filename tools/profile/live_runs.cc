#include "profile/live_runs.h"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <limits>
#include <map>
#include <signal.h>
#include <string>
#include <sys/stat.h>
#include <unistd.h>

#include <infeed/detail/folder_entries.h>
#include <infeed/detail/parse_whole.h>
#include <infeed/error.h>
#include <infeed/records/file.h>

#include "engine/recording/recording_file.h"

namespace infeed::tools {
namespace {

namespace fs = std::filesystem;

// Pages have some 100 KB. A larger file is no page.
constexpr std::uint64_t kPageBytesMax = std::uint64_t{16} << 20;
constexpr const char* kFolder = "/dev/shm";

bool is_there(std::int64_t process) {
  return process > 0 && process <= std::numeric_limits<pid_t>::max() &&
         (::kill(static_cast<pid_t>(process), 0) == 0 || errno == EPERM);
}

/// Returns true if the process is another user's. (The kernel gives /proc/PID to root where a
/// process may not be looked at.)
bool is_of_another(std::int64_t process) {
  struct stat status {};
  return ::stat(fmt::format("/proc/{}", process).c_str(), &status) == 0 &&
         status.st_uid != ::geteuid();
}

/// The pages of its iterators by their numbers.
std::multimap<std::uint64_t, std::string> pages_of(std::int64_t process) {
  const std::string begin = fmt::format("infeed-{}.", process);
  std::multimap<std::uint64_t, std::string> pages;
  std::error_code ignored;
  for (const auto& [name, type] : infeed::detail::folder_entries(std::string(kFolder), ignored)) {
    if (!name.starts_with(begin)) continue;
    std::string_view rest = std::string_view(name).substr(begin.size());
    std::uint64_t number = 0;
    const bool is_page = detail::take_number(rest, number) &&
                         (rest.empty() || rest.starts_with('-')) && !name.ends_with(".next");
    if (is_page) pages.emplace(number, (fs::path(kFolder) / name).string());
  }
  return pages;
}

/// Returns the text of one of this user's own files. Empty for what another user or a link has put
/// there, and where the file has gone meanwhile.
std::string page_text(const std::string& path) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) return {};
  const File file(descriptor, path);
  struct stat status {};
  if (::fstat(descriptor, &status) != 0) throw system_error("examine", path, errno);
  // A page has one name, or none any more. Anybody may give another name to a file of ours.
  const bool is_page = S_ISREG(status.st_mode) && status.st_nlink <= 1;
  if (!is_page || status.st_uid != ::geteuid()) return {};
  std::string text(static_cast<std::size_t>(std::min<std::uint64_t>(
                       static_cast<std::uint64_t>(status.st_size), kPageBytesMax)),
                   '\0');
  text.resize(file.read_at(0, text));
  return text;
}

}  // namespace

std::vector<RecordedRun> live_runs(std::int64_t process) {
  if (!is_there(process)) {
    throw Error(
        ErrorCode::not_found,
        fmt::format("there is no process {}; it has ended, or the number is wrong", process));
  }
  const std::string its_begin = infeed::detail::recording_begin(process);
  std::vector<RecordedRun> runs;
  for (const auto& [number, path] : pages_of(process)) {
    const std::string text = page_text(path);
    if (text.empty()) continue;
    RecordedRun run = parse_recorded_run(text, path);
    if (text.starts_with(its_begin) && !run.stages.empty()) runs.push_back(std::move(run));
  }
  if (runs.empty() && is_of_another(process)) {
    throw Error(
        ErrorCode::permission_denied,
        fmt::format("process {} belongs to another user, who alone may look at it", process));
  }
  if (runs.empty()) {
    throw Error(ErrorCode::failed_precondition,
                fmt::format("process {} shows nothing: start it with INFEED_TOP=1 in its "
                            "environment (or {{.recording = {{.live = true}}}}), and wait until it "
                            "iterates a dataset",
                            process));
  }
  return runs;
}

}  // namespace infeed::tools
