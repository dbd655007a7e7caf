#pragma once

#include <concepts>
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>

/// Why: people read results on a terminal with colours and live progress, in a log without either,
/// or on an old terminal without Unicode.
///
///     Terminal terminal(stdout, {.colours = !no_color});
///     terminal.status("measuring the naive pipeline");     // the next line replaces it
///     terminal.line(terminal.paint(Paint::good, "done"));
///
/// Thread-safety: one thread at a time.
namespace infeed::tools {

enum class Paint { plain, bold, dim, good, warning, bad };

struct TerminalOptions {
  bool colours = true;  ///< used only on a terminal, and not when NO_COLOR is set
  bool unicode = true;  ///< used only when the locale is UTF-8
};

class Terminal {
 public:
  explicit Terminal(std::FILE* out, TerminalOptions options = {});

  /// Prints a whole line, in the place of a status line if there is one. Characters that act on a
  /// terminal are escaped (infeed/detail/printable_text.h), except the colours of paint() and line
  /// breaks at the beginning.
  void line(std::string_view text = {});
  /// Shows the current work. Prints nothing if the output is no terminal.
  void status(std::string_view text);
  void clear_status();

  /// Returns the text in that colour, or unchanged without colours.
  std::string paint(Paint paint, std::string_view text) const;
  /// Returns `share` (0..1) of `width` cells, with the rest as a track: "████▌·····" or
  /// "####......".
  std::string bar(double share, int width) const;
  /// Returns a mark at `share` of the way along a track of `width` cells.
  std::string mark(double share, int width) const;
  /// Returns the Unicode text if it can be shown.
  std::string_view either(std::string_view unicode, std::string_view ascii) const {
    return unicode_ ? unicode : ascii;
  }

  bool is_live() const { return live_; }
  /// True with colours and Unicode, which pictures need.
  bool has_colours() const { return colours_ && unicode_; }
  int columns() const { return columns_; }

 private:
  void put(const std::string& text) const;

  std::FILE* out_;
  bool live_;
  bool colours_;
  bool unicode_;
  int columns_;
  bool has_status_ = false;
};

/// Formats 1234567 as "1,234,567".
std::string with_commas(std::string digits);
std::string with_commas(std::integral auto value) { return with_commas(std::to_string(value)); }
/// Returns "1 file", "60,000 files".
std::string counted(std::uint64_t count, std::string_view noun);
/// Returns "12.4 ms", with three digits up to a second.
std::string duration_text(std::uint64_t ns);
/// Returns "12.3 MB".
std::string as_megabytes(std::uint64_t bytes);

}  // namespace infeed::tools
