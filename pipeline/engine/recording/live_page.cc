#include "engine/recording/live_page.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <fcntl.h>
#include <fmt/format.h>
#include <random>
#include <signal.h>
#include <string_view>
#include <system_error>
#include <unistd.h>
#include <vector>

#include <infeed/detail/folder_entries.h>
#include <infeed/detail/parse_whole.h>
#include <infeed/records/file.h>

namespace infeed::detail {

namespace {

constexpr const char* kFolder = "/dev/shm";

/// Replaces the file at once. Throws where somebody else's lies at its name, or at that of the next
/// one.
void replace_page(const std::string& file, const std::string& text) {
  const std::string next = file + ".next";
  ::unlink(next.c_str());
  // The file is made anew, so that it is nobody else's.
  const int descriptor =
      ::open(next.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (descriptor < 0) throw system_error("create", next, errno);
  try {
    File(descriptor, next).write(text);
    if (std::rename(next.c_str(), file.c_str()) != 0) throw system_error("rename", next, errno);
  } catch (const Error&) {
    ::unlink(next.c_str());
    throw;
  }
}

/// Returns true for the page, finished or not, of a process that isn't there any more.
bool is_left_behind(std::string_view name) {
  constexpr std::string_view kBegin = "infeed-";
  if (!name.starts_with(kBegin)) return false;
  name.remove_prefix(kBegin.size());
  pid_t process = 0;
  std::uint64_t number = 0;
  if (!take_number(name, process) || process <= 0 || !name.starts_with('.')) return false;
  name.remove_prefix(1);
  if (!take_number(name, number)) return false;
  return ::kill(process, 0) != 0 && errno == ESRCH;
}

}  // namespace

std::string live_page_begin(long process) { return fmt::format("{}/infeed-{}.", kFolder, process); }

void require_live_pages() {
  if (::access(kFolder, W_OK | X_OK) == 0) return;
  throw system_error("create", live_page_begin(::getpid()), errno);
}

void clear_left_pages() {
  std::error_code ignored;
  for (const FolderEntry& entry : folder_entries(kFolder, ignored)) {
    if (is_left_behind(entry.name)) ::unlink(fmt::format("{}/{}", kFolder, entry.name).c_str());
  }
}

LivePage::LivePage(std::uint64_t number)
    : numbered_(fmt::format("{}{}", live_page_begin(::getpid()), number)) {}

LivePage::~LivePage() { ::unlink(file_.c_str()); }

void LivePage::add(const std::string& line) {
  if (line.starts_with("{\"infeed_recording\"")) {
    header_ = line;
  } else if (line.starts_with("{\"stages\"")) {
    stages_ = line;
  } else {
    std::deque<Line>& lines = lines_[line.substr(0, line.find(':'))];
    lines.push_back({added_++, line});
    if (lines.size() > kLinesMax) lines.pop_front();
  }
}

void LivePage::show() {
  std::vector<const Line*> in_order;
  for (const auto& [kind, lines] : lines_) {
    for (const Line& line : lines) in_order.push_back(&line);
  }
  std::ranges::sort(in_order, {}, &Line::number);
  std::string text = header_ + stages_;
  for (const Line* const line : in_order) text += line->text;
  try {
    replace_page(file_, text);
  } catch (const Error&) {
    ::unlink(file_.c_str());  // only its owner may
    file_ = fmt::format("{}-{}", numbered_, std::random_device()());
    replace_page(file_, text);
  }
}

}  // namespace infeed::detail
