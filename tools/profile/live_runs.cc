#include "profile/live_runs.h"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <signal.h>
#include <string>
#include <sys/stat.h>
#include <unistd.h>

#include <infeed/error.h>
#include <infeed/records/file.h>

namespace infeed::tools {
namespace {

namespace fs = std::filesystem;

// Pages have some 100 KB. A larger file is no page.
constexpr std::uint64_t kPageBytesMax = std::uint64_t{16} << 20;
constexpr const char* kFolder = "/dev/shm";

bool is_there(std::int64_t process) {
  return ::kill(static_cast<pid_t>(process), 0) == 0 || errno == EPERM;
}

/// The numbers of its iterators.
std::vector<std::uint64_t> numbers_of_pages(std::int64_t process) {
  const std::string begin = fmt::format("infeed-{}.", process);
  std::vector<std::uint64_t> numbers;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(kFolder, ignored)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with(begin)) continue;
    const std::string number = name.substr(begin.size());
    if (number.empty() || number.size() > 18 ||
        number.find_first_not_of("0123456789") != number.npos) {
      continue;
    }
    numbers.push_back(std::stoull(number));
  }
  std::sort(numbers.begin(), numbers.end());
  return numbers;
}

/// Returns the text of one of this user's own files; empty where it has gone meanwhile.
std::string page_text(const std::string& path) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0 && errno == ENOENT) return {};
  if (descriptor < 0) throw system_error("open", path, errno);
  const File file(descriptor, path);
  struct stat status {};
  if (::fstat(descriptor, &status) != 0) throw system_error("examine", path, errno);
  if (status.st_uid != ::geteuid()) {
    throw Error(ErrorCode::permission_denied, "it belongs to another user").at_file(path);
  }
  std::string text(static_cast<std::size_t>(std::min<std::uint64_t>(
                       static_cast<std::uint64_t>(status.st_size), kPageBytesMax)),
                   '\0');
  text.resize(file.read_at(0, text));
  return text;
}

}  // namespace

std::vector<RecordedRun> live_runs(std::int64_t process) {
  if (process <= 0 || !is_there(process)) {
    throw Error(
        ErrorCode::not_found,
        fmt::format("there is no process {}; it has ended, or the number is wrong", process));
  }
  std::vector<RecordedRun> runs;
  for (const std::uint64_t number : numbers_of_pages(process)) {
    const std::string path = fmt::format("{}/infeed-{}.{}", kFolder, process, number);
    const std::string text = page_text(path);
    if (text.empty()) continue;
    RecordedRun run = parse_recorded_run(text, path);
    if (!run.stages.empty() && run.process == process) runs.push_back(std::move(run));
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
