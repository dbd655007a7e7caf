#include "infeed/pipeline/checkpoint.h"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <infeed/detail/format_version.h>
#include <infeed/detail/parse_whole.h>
#include <infeed/records/crc32c.h>

namespace infeed {
namespace {

constexpr std::string_view kName = "infeed-checkpoint";
constexpr std::uint32_t kVersion = 1;
constexpr std::string_view kHeader = "infeed-checkpoint 1";

[[noreturn]] void refuse(std::size_t line_number, std::string_view line,
                         std::string_view expected) {
  throw Error(
      ErrorCode::invalid_argument,
      fmt::format("checkpoint, line {}: found '{}', expected {}", line_number, line, expected));
}

std::uint64_t parse_number(std::size_t line_number, std::string_view line, std::string_view text,
                           int base = 10) {
  std::uint64_t number = 0;
  if (!detail::parse_whole(text, number, base)) {
    refuse(line_number, line, "a whole number after the name");
  }
  return number;
}

TakenBefore parse_taken(std::size_t line_number, std::string_view line, std::string_view value) {
  constexpr std::string_view kBy = " by ";
  const std::size_t by = value.find(kBy);
  if (by == value.npos) refuse(line_number, line, "'taken ELEMENTS by SHARDS'");
  return {.elements = parse_number(line_number, line, value.substr(0, by)),
          .shards = parse_number(line_number, line, value.substr(by + kBy.size()))};
}

/// Takes `name=` from the text, and the value up to the next space.
std::string_view take_value(std::string_view& text, std::string_view name) {
  if (!text.starts_with(name)) return {};
  const std::size_t end = std::min(text.find(' '), text.size());
  const std::string_view value = text.substr(name.size(), end - name.size());
  text.remove_prefix(std::min(end + 1, text.size()));
  return value;
}

/// Parses "8211,17"; nothing is an empty list.
std::vector<std::uint64_t> parse_numbers(std::size_t line_number, std::string_view line,
                                         std::string_view text) {
  std::vector<std::uint64_t> numbers;
  while (!text.empty()) {
    const std::size_t comma = text.find(',');
    numbers.push_back(parse_number(line_number, line, text.substr(0, comma)));
    if (comma != text.npos && comma + 1 == text.size())
      refuse(line_number, line, "a number at its end");
    text.remove_prefix(comma == text.npos ? text.size() : comma + 1);
  }
  return numbers;
}

Bookmark parse_bookmark(std::size_t line_number, std::string_view line, std::string_view value,
                        std::size_t stages) {
  if (stages == 0) refuse(line_number, line, "the line of its stage before a bookmark");
  Bookmark bookmark{.stage = stages - 1};
  bookmark.given = parse_number(line_number, line, take_value(value, "given="));
  bookmark.pass = parse_number(line_number, line, take_value(value, "pass="));
  bookmark.inputs = parse_numbers(line_number, line, take_value(value, "inputs="));
  bookmark.state = parse_numbers(line_number, line, take_value(value, "state="));
  if (!value.empty())
    refuse(line_number, line, "'bookmark given=N pass=N inputs=N,... state=N,...'");
  return bookmark;
}

std::string bookmark_text(const Bookmark& bookmark) {
  std::string text = fmt::format("bookmark given={} pass={}", bookmark.given, bookmark.pass);
  if (!bookmark.inputs.empty()) text += fmt::format(" inputs={}", fmt::join(bookmark.inputs, ","));
  if (!bookmark.state.empty()) text += fmt::format(" state={}", fmt::join(bookmark.state, ","));
  return text + '\n';
}

/// Throws unless `value` is the checksum of the lines `before`. Old checkpoints have no checksum.
void check_sum(std::size_t line_number, std::string_view line, std::string_view value,
               std::string_view before) {
  const std::string found = fmt::format("{:08x}", crc32c(before));
  if (value == found) return;
  refuse(line_number, line,
         fmt::format("'checksum {}' by the lines before: one of them is damaged, so take an older "
                     "checkpoint; whoever changed it on purpose leaves this line out",
                     found));
}

}  // namespace

std::string Checkpoint::to_text() const {
  std::string text =
      fmt::format("{}\nposition {}\nepoch {}\nerrors {}\n", kHeader, position, epoch, errors);
  if (errors_taken != 0) text += fmt::format("errors_taken {}\n", errors_taken);
  if (taken.shards != 0) text += fmt::format("taken {} by {}\n", taken.elements, taken.shards);
  if (order_hash != 0) text += fmt::format("order {:016x}\n", order_hash);
  for (std::size_t stage = 0; stage < signature.size(); ++stage) {
    text += fmt::format("stage {}\n", signature[stage]);
    for (const Bookmark& bookmark : bookmarks) {
      if (bookmark.stage == stage) text += bookmark_text(bookmark);
    }
  }
  return text + fmt::format("checksum {:08x}\n", crc32c(text));
}

Checkpoint Checkpoint::from_text(std::string_view text) {
  Checkpoint checkpoint;
  const std::string_view whole = text;
  bool is_over = false;
  std::size_t line_number = 0;
  while (!text.empty()) {
    const std::string_view before = whole.substr(0, whole.size() - text.size());
    const std::size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(end == text.npos ? text.size() : end + 1);
    ++line_number;
    if (line_number == 1) {
      if (const std::uint32_t version = detail::format_version(line, kName); version > kVersion) {
        throw detail::later_format("the checkpoint", version, kVersion);
      }
      if (line != kHeader) refuse(line_number, line, fmt::format("'{}'", kHeader));
      continue;
    }
    if (line.empty()) continue;
    if (is_over) refuse(line_number, line, "nothing behind the checksum");
    const std::size_t space = line.find(' ');
    const std::string_view name = line.substr(0, space);
    const std::string_view value = space == line.npos ? "" : line.substr(space + 1);
    if (name == "position") {
      checkpoint.position = parse_number(line_number, line, value);
    } else if (name == "epoch") {
      checkpoint.epoch = parse_number(line_number, line, value);
    } else if (name == "errors") {
      checkpoint.errors = parse_number(line_number, line, value);
    } else if (name == "errors_taken") {
      checkpoint.errors_taken = parse_number(line_number, line, value);
    } else if (name == "taken") {
      checkpoint.taken = parse_taken(line_number, line, value);
    } else if (name == "order") {
      checkpoint.order_hash = parse_number(line_number, line, value, 16);
    } else if (name == "stage") {
      checkpoint.signature.emplace_back(value);
    } else if (name == "bookmark") {
      checkpoint.bookmarks.push_back(
          parse_bookmark(line_number, line, value, checkpoint.signature.size()));
    } else if (name == "checksum") {
      check_sum(line_number, line, value, before);
      is_over = true;
    } else {
      refuse(line_number, line,
             "position, epoch, errors, errors_taken, taken, order, stage, bookmark or checksum");
    }
  }
  // If the line break before the checksum is lost, the last stage's line ends with the checksum.
  if (!is_over && !checkpoint.signature.empty() &&
      checkpoint.signature.back().find("checksum ") != std::string::npos) {
    refuse(line_number, checkpoint.signature.back(), "the checksum in a line of its own");
  }
  if (line_number == 0) refuse(1, "", fmt::format("'{}'", kHeader));
  return checkpoint;
}

}  // namespace infeed
