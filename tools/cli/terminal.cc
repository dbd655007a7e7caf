#include "cli/terminal.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <cstdlib>
#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <infeed/detail/printable_text.h>

namespace infeed::tools {
namespace {

constexpr int kColumnsOfLog = 100;
constexpr int kColumnsMin = 60;
constexpr int kColumnsMax = 140;
constexpr std::string_view kPlainAgain = "\x1b[0m";

bool locale_is_utf8() {
  for (const char* const name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const char* const value = std::getenv(name);
    if (value == nullptr || *value == '\0') continue;
    std::string upper(value);
    for (char& c : upper) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    return upper.find("UTF-8") != std::string::npos || upper.find("UTF8") != std::string::npos;
  }
  return false;
}

bool is_set(const char* variable) {
  const char* const value = std::getenv(variable);
  return value != nullptr && *value != '\0';
}

int columns_of(int descriptor) {
  winsize size{};
  if (ioctl(descriptor, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return kColumnsOfLog;
  return std::clamp<int>(size.ws_col, kColumnsMin, kColumnsMax);
}

std::string_view escape(Paint paint) {
  switch (paint) {
    case Paint::plain:
      return "";
    case Paint::bold:
      return "\x1b[1m";
    case Paint::dim:
      return "\x1b[2m";
    case Paint::good:
      return "\x1b[32m";
    case Paint::warning:
      return "\x1b[33m";
    case Paint::bad:
      return "\x1b[31m";
  }
  return "";
}

/// Returns the bytes of the escape sequence of paint() at the beginning of `text`, or 0.
std::size_t paint_length(std::string_view text) {
  for (const Paint paint : {Paint::bold, Paint::dim, Paint::good, Paint::warning, Paint::bad}) {
    if (text.starts_with(escape(paint))) return escape(paint).size();
  }
  return text.starts_with(kPlainAgain) ? kPlainAgain.size() : 0;
}

/// Returns the bytes of two pixels of a picture (picture.cc) at the beginning of `text`, or 0.
std::size_t pixels_length(std::string_view text) {
  std::size_t at = 0;
  for (const std::string_view begin : {"\x1b[38;2;", "\x1b[48;2;"}) {
    if (!text.substr(at).starts_with(begin)) return 0;
    const std::size_t end = text.find_first_not_of("0123456789;", at + begin.size());
    if (end == text.npos || text[end] != 'm') return 0;
    at = end + 1;
  }
  constexpr std::string_view kHalf = "▀";
  return text.substr(at).starts_with(kHalf) ? at + kHalf.size() : 0;
}

/// Escapes all characters that act on a terminal, except colours and empty lines before the text.
/// All output goes through here, since the text contains names and values from files and servers.
std::string shown(std::string_view text) {
  std::string result;
  bool is_begin = true;
  while (!text.empty()) {
    std::size_t length = text.front() == '\x1b' ? paint_length(text) + pixels_length(text) : 0;
    if (length == 0 && is_begin && text.front() == '\n') length = 1;
    if (length != 0) {
      result += text.substr(0, length);
    } else {
      is_begin = false;
      length = std::min(text.find('\x1b', 1), text.size());
      result += detail::printable_text(text.substr(0, length));
    }
    text.remove_prefix(length);
  }
  return result;
}

std::string repeated(std::string_view text, int count) {
  std::string result;
  for (int i = 0; i < count; ++i) result += text;
  return result;
}

}  // namespace

Terminal::Terminal(std::FILE* out, TerminalOptions options)
    : out_(out),
      live_(isatty(fileno(out)) == 1),
      colours_(options.colours && live_ && !is_set("NO_COLOR")),
      unicode_(options.unicode && locale_is_utf8()),
      columns_(columns_of(fileno(out))) {
  const char* const kind = std::getenv("TERM");
  if (kind != nullptr && std::string_view(kind) == "dumb") live_ = colours_ = false;
}

void Terminal::line(std::string_view text) {
  clear_status();
  put(shown(text) + '\n');
}

void Terminal::status(std::string_view text) {
  if (!live_) return;
  put("\r\x1b[K" + shown(text));
  has_status_ = true;
}

void Terminal::clear_status() {
  if (!has_status_) return;
  put("\r\x1b[K");
  has_status_ = false;
}

/// Prints what can be printed. A failure stays with the stream (ferror), and the command says at its
/// end that the output could not be written.
void Terminal::put(const std::string& text) const {
  std::fwrite(text.data(), 1, text.size(), out_);
  std::fflush(out_);
}

std::string Terminal::paint(Paint paint, std::string_view text) const {
  if (!colours_ || paint == Paint::plain) return std::string(text);
  return fmt::format("{}{}{}", escape(paint), text, kPlainAgain);
}

std::string Terminal::bar(double share, int width) const {
  const double cells = std::clamp(std::isfinite(share) ? share : 0.0, 0.0, 1.0) * width;
  if (!unicode_) {
    const int full = static_cast<int>(std::lround(cells));
    return repeated("#", full) + repeated(".", width - full);
  }
  constexpr std::array<std::string_view, 8> kEighths = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  const int eighths = static_cast<int>(std::lround(cells * 8));
  const int full = eighths / 8;
  const int rest = eighths % 8;
  return repeated("█", full) + std::string(kEighths[static_cast<std::size_t>(rest)]) +
         repeated("·", width - full - (rest > 0 ? 1 : 0));
}

std::string Terminal::mark(double share, int width) const {
  const double along = std::clamp(std::isfinite(share) ? share : 0.0, 0.0, 1.0) * (width - 1);
  const int before = static_cast<int>(std::lround(along));
  const std::string_view track = either("·", ".");
  return repeated(track, before) + std::string(either("●", "o")) +
         repeated(track, width - 1 - before);
}

std::string with_commas(std::string digits) {
  const std::ptrdiff_t first = digits.starts_with('-') ? 1 : 0;
  for (std::ptrdiff_t at = std::ssize(digits) - 3; at > first; at -= 3) {
    digits.insert(static_cast<std::size_t>(at), 1, ',');
  }
  return digits;
}

std::string counted(std::uint64_t count, std::string_view noun) {
  return fmt::format("{} {}{}", with_commas(count), noun, count == 1 ? "" : "s");
}

std::string duration_text(std::uint64_t ns) {
  const auto value = static_cast<double>(ns);
  if (ns < 1'000) return fmt::format("{} ns", ns);
  if (ns < 999'500) return fmt::format("{:.3g} us", value / 1e3);
  if (ns < 999'500'000) return fmt::format("{:.3g} ms", value / 1e6);
  if (ns < 600'000'000'000) return fmt::format("{:.1f} s", value / 1e9);
  return fmt::format("{:.0f} min", value / 60e9);
}

std::string as_megabytes(std::uint64_t bytes) {
  return fmt::format("{:.1f} MB", static_cast<double>(bytes) / 1e6);
}

}  // namespace infeed::tools
