#include "convert/journal.h"

#include <cerrno>
#include <charconv>
#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

#include <infeed/error.h>
#include <infeed/records/crc32c.h>
#include <infeed/records/file.h>

namespace infeed::tools {
namespace {

constexpr std::size_t kCrcDigits = 8;

/// The text of a line that is whole.
std::optional<std::string_view> checked_text(std::string_view line) {
  if (line.size() <= kCrcDigits || line[kCrcDigits] != ' ') return std::nullopt;
  std::uint32_t crc = 0;
  const auto [end, error] = std::from_chars(line.data(), line.data() + kCrcDigits, crc, 16);
  const std::string_view text = line.substr(kCrcDigits + 1);
  if (error != std::errc() || end != line.data() + kCrcDigits) return std::nullopt;
  if (crc32c(text) != crc) return std::nullopt;
  return text;
}

/// Returns where the last whole line ends.
std::size_t read_whole_lines(std::string_view bytes, std::vector<std::string>& lines) {
  std::size_t whole = 0;
  while (true) {
    const std::size_t end = bytes.find('\n', whole);
    if (end == std::string_view::npos) return whole;
    const auto text = checked_text(bytes.substr(whole, end - whole));
    if (!text) return whole;
    lines.emplace_back(*text);
    whole = end + 1;
  }
}

}  // namespace

std::vector<std::string> read_journal(const std::string& file) {
  std::vector<std::string> lines;
  std::error_code ignored;
  if (std::filesystem::exists(file, ignored)) read_whole_lines(read_file(file), lines);
  return lines;
}

Journal::Journal(std::string file, Durability durability)
    : name_(std::move(file)), durability_(durability) {
  lock_file();
  cut_torn_end();
}

void Journal::lock_file() {
  while (true) {
    file_.emplace(File::open(name_, O_RDWR | O_CREAT | O_APPEND));
    if (::flock(file_->descriptor(), LOCK_EX | LOCK_NB) != 0) {
      throw Error(ErrorCode::failed_precondition,
                  "somebody else is converting into this dataset at this moment; wait for that to "
                  "end, or choose another name")
          .at_file(name_);
    }
    // Between open and lock its owner may have finished and removed it.
    struct stat opened {};
    struct stat named {};
    if (::fstat(file_->descriptor(), &opened) == 0 && ::stat(name_.c_str(), &named) == 0 &&
        opened.st_ino == named.st_ino && opened.st_dev == named.st_dev) {
      return;
    }
    file_.reset();
  }
}

void Journal::cut_torn_end() {
  const std::string bytes = read_file(name_);
  const std::size_t whole = read_whole_lines(bytes, lines_);
  if (whole == bytes.size()) return;
  if (::ftruncate(file_->descriptor(), static_cast<off_t>(whole)) != 0) {
    throw system_error("cut the torn end of", name_, errno);
  }
  if (durability_ == Durability::synced) file_->sync();
}

void Journal::append(std::string_view text) {
  const std::string line = fmt::format("{:08x} {}\n", crc32c(text), text);
  const std::lock_guard lock(mutex_);
  if (has_failed_) {
    throw Error(ErrorCode::failed_precondition, "an earlier line could not be written")
        .at_file(name_);
  }
  has_failed_ = true;  // until it is done
  file_->write(line);
  if (durability_ == Durability::synced) file_->sync();
  has_failed_ = false;
}

void Journal::clear() {
  if (::ftruncate(file_->descriptor(), 0) != 0) throw system_error("empty", name_, errno);
  if (durability_ == Durability::synced) file_->sync();
  lines_.clear();
}

void Journal::remove() {
  if (::unlink(name_.c_str()) != 0) throw system_error("remove", name_, errno);
  has_failed_ = true;
}

}  // namespace infeed::tools
