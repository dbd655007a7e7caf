#include "engine/recording/recording_file.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <fcntl.h>
#include <fmt/format.h>
#include <fstream>
#include <map>
#include <optional>
#include <utility>

#include <infeed/error.h>

namespace infeed::detail {
namespace {

// A process that records so many iterations is one that makes an iterator each step.
constexpr int kFilesMax = 1000;
constexpr std::string_view kBegin = "{\"infeed_recording\": ";
// The beginnings of lines that are dropped from the older half.
constexpr std::array<std::string_view, 4> kDetails = {"{\"steps\"", "{\"window\"", "{\"slow\"",
                                                      "{\"held_back\""};
// A line that counts all calls so far, so that a stage's last one says all.
constexpr std::string_view kCounts = "{\"histogram\"";
constexpr std::string_view kEnd = "{\"end\"";

/// Returns when the process began, in clock ticks since the machine did. With the process's number
/// that is its identity.
/// See proc(5), field 22.
std::string process_start(std::int64_t process) {
  std::ifstream file(fmt::format("/proc/{}/stat", process));
  std::string text;
  std::getline(file, text);
  const std::size_t name_end = text.rfind(')');
  if (name_end == text.npos) return "0";
  std::size_t at = name_end;
  for (int field = 2; field < 22 && at != text.npos; ++field) at = text.find(' ', at + 1);
  if (at == text.npos) return "0";
  return text.substr(at + 1, text.find(' ', at + 1) - at - 1);
}

std::string first_bytes(const File& file, std::size_t count) {
  std::string bytes(count, '\0');
  bytes.resize(file.read_at(0, bytes));
  return bytes;
}

/// Opens the file; nothing if this process has written it before.
std::optional<File> open_unless_own(const std::string& name) {
  std::optional<File> file = File::open_locked(name, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC);
  if (!file) {
    const std::string begin = recording_begin();
    if (first_bytes(File::open_own(name, O_RDONLY), begin.size()) == begin) return std::nullopt;
    throw Error(ErrorCode::unavailable,
                "another process is recording to this file; name another one")
        .at_file(name);
  }
  const std::string begin = recording_begin();
  const std::string found = first_bytes(*file, begin.size());
  if (found == begin) return std::nullopt;
  if (!found.empty() && !found.starts_with(kBegin)) {
    throw Error(ErrorCode::failed_precondition,
                "there is a file of this name that is no recording, and it is not replaced; name "
                "another one, or remove it")
        .at_file(name);
  }
  if (ftruncate(file->descriptor(), 0) != 0) throw system_error("empty", name, errno);
  return file;
}

File open_recording(const std::string& name) {
  for (int number = 1; number <= kFilesMax; ++number) {
    const std::string numbered = number == 1 ? name : fmt::format("{}-{}", name, number);
    if (std::optional<File> file = open_unless_own(numbered)) return std::move(*file);
  }
  throw Error(ErrorCode::resource_exhausted,
              fmt::format("this process has recorded {} iterations, and this one is not recorded",
                          kFilesMax))
      .at_file(name);
}

}  // namespace

std::string recording_begin(std::int64_t process) {
  return fmt::format("{}1, \"process\": {}, \"process_start\": {}, ", kBegin, process,
                     process_start(process));
}

RecordingFile::RecordingFile(const std::string& file, std::uint64_t bytes_max)
    : bytes_max_(bytes_max), file_(open_recording(file)) {}

void RecordingFile::write() {
  if (unwritten_.empty()) return;
  file_.write(unwritten_);
  bytes_ += unwritten_.size();
  unwritten_.clear();
  if (bytes_max_ != 0 && bytes_ > bytes_max_) shorten();
}

void RecordingFile::shorten() {
  const std::string partial = name() + ".partial";
  ::unlink(partial.c_str());  // left by a process that was killed; the lock is ours
  std::optional<File> shorter =
      File::open_locked(partial, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, name());
  if (!shorter) return;
  std::ifstream lines(name());
  std::uint64_t read_bytes = 0;
  std::uint64_t written_bytes = 0;
  std::string kept;
  std::map<std::string, std::string> counts;  // by the line's part before the counts
  const auto keep_counts = [&] {
    for (const auto& [stage, line] : std::exchange(counts, {})) kept += line;
  };
  for (std::string line; std::getline(lines, line);) {
    read_bytes += line.size() + 1;
    if (line.starts_with(kCounts)) {
      counts[line.substr(0, line.find('['))] = line + '\n';
      continue;
    }
    const bool is_detail =
        std::any_of(kDetails.begin(), kDetails.end(),
                    [&line](std::string_view begin) { return line.starts_with(begin); });
    if (is_detail && read_bytes < bytes_ / 2) continue;
    if (line.starts_with(kEnd)) keep_counts();  // nothing may stand behind the end
    kept += line + '\n';
    if (kept.size() < (std::size_t{1} << 20)) continue;
    shorter->write(kept);
    written_bytes += kept.size();
    kept.clear();
  }
  keep_counts();
  shorter->write(kept);
  written_bytes += kept.size();
  if (std::rename(partial.c_str(), name().c_str()) != 0) {
    throw system_error("rename", partial, errno);
  }
  // Lines that are kept for ever may fill the file. The limit grows then, or each write would copy
  // them all.
  if (written_bytes > bytes_max_ / 4 * 3) bytes_max_ = 2 * written_bytes;
  file_ = std::move(*shorter);
  bytes_ = written_bytes;
}

}  // namespace infeed::detail
