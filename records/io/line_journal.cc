#include "infeed/records/line_journal.h"

#include <cerrno>
#include <filesystem>
#include <fmt/format.h>
#include <optional>
#include <unistd.h>
#include <utility>

#include "infeed/detail/parse_whole.h"
#include "infeed/records/crc32c.h"

namespace infeed {
namespace {

constexpr std::size_t kCrcDigits = 8;

/// Returns the text of a whole line; empty if the line isn't whole.
std::optional<std::string_view> checked_text(std::string_view line, LineChecksum place) {
  if (line.size() <= kCrcDigits) return std::nullopt;
  const bool is_before = place == LineChecksum::before_text;
  const std::size_t text_bytes = line.size() - kCrcDigits - 1;
  const std::string_view text = line.substr(is_before ? kCrcDigits + 1 : 0, text_bytes);
  const std::string_view digits = line.substr(is_before ? 0 : text_bytes + 1, kCrcDigits);
  if (line[is_before ? kCrcDigits : text_bytes] != (is_before ? ' ' : '\t')) return std::nullopt;
  std::uint32_t crc = 0;
  if (!detail::parse_whole(digits, crc, 16) || crc32c(text) != crc) return std::nullopt;
  return text;
}

/// Returns where the last whole line ends.
std::size_t read_whole_lines(std::string_view bytes, LineChecksum place,
                             std::vector<std::string>& lines) {
  std::size_t whole = 0;
  while (true) {
    const std::size_t end = bytes.find('\n', whole);
    if (end == std::string_view::npos) return whole;
    const auto text = checked_text(bytes.substr(whole, end - whole), place);
    if (!text) return whole;
    lines.emplace_back(*text);
    whole = end + 1;
  }
}

}  // namespace

LineJournal::LineJournal(File file, LineChecksum place, Durability durability)
    : file_(std::move(file)), place_(place), durability_(durability) {
  const std::string bytes = file_.size_bytes() ? read_file(file_) : std::string();
  const std::size_t whole = read_whole_lines(bytes, place_, lines_);
  if (whole != bytes.size()) cut_to(whole, "cut the torn end of");
}

std::vector<std::string> LineJournal::read(const std::string& file, LineChecksum place) {
  std::vector<std::string> lines;
  std::error_code ignored;
  if (std::filesystem::exists(file, ignored)) read_whole_lines(read_file(file), place, lines);
  return lines;
}

std::string LineJournal::text_of(std::span<const std::string> lines, LineChecksum place) {
  std::string text;
  for (const std::string& line : lines) {
    text += place == LineChecksum::before_text ? fmt::format("{:08x} {}\n", crc32c(line), line)
                                               : fmt::format("{}\t{:08x}\n", line, crc32c(line));
  }
  return text;
}

void LineJournal::append(std::span<const std::string> lines) {
  const std::string text = text_of(lines, place_);
  const std::lock_guard lock(mutex_);
  if (has_failed_) {
    throw Error(ErrorCode::failed_precondition, "an earlier line could not be written")
        .at_file(file_.name());
  }
  has_failed_ = true;  // until the write is done
  file_.write(text);
  if (durability_ == Durability::synced) file_.sync();
  has_failed_ = false;
}

void LineJournal::clear() {
  cut_to(0, "empty");
  lines_.clear();
}

void LineJournal::remove() {
  if (::unlink(file_.name().c_str()) != 0) throw system_error("remove", file_.name(), errno);
  has_failed_ = true;
}

void LineJournal::cut_to(std::size_t bytes, std::string_view action) {
  if (::ftruncate(file_.descriptor(), static_cast<off_t>(bytes)) != 0) {
    throw system_error(action, file_.name(), errno);
  }
  if (durability_ == Durability::synced) file_.sync();
}

}  // namespace infeed
