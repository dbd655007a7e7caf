#pragma once

#include <concepts>
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>

/// Why: results are read by people: on a terminal with colours and live progress, in a log without
/// either, on an old terminal without Unicode.
///
///     Terminal terminal(stdout, {.colours = !no_color});
///     terminal.status("measuring the naive pipeline");     // the next line replaces it
///     terminal.line(terminal.paint(Paint::good, "done"));
///
/// Thread-safety: one thread at a time.
namespace infeed::tools {

enum class Paint { plain, bold, dim, good, warning, bad };

struct TerminalOptions {
  bool colours = true;  ///< only ever on a terminal, and not when NO_COLOR is set
  bool unicode = true;  ///< only ever when the locale is UTF-8
};

class Terminal {
 public:
  explicit Terminal(std::FILE* out, TerminalOptions options = {});

  /// Prints a whole line, in the place of a status line if there is one. What a terminal would act
  /// on is escaped (infeed/detail/printable_text.h), but for the colours of paint() and line breaks
  /// at the begin.
  void line(std::string_view text = {});
  /// What is being done right now. Nothing when the output is no terminal.
  void status(std::string_view text);
  void clear_status();

  /// The text in that colour, or as it is.
  std::string paint(Paint paint, std::string_view text) const;
  /// `share` (0..1) of `width` cells, with the rest as a track: "████▌·····" or "####......".
  std::string bar(double share, int width) const;
  /// A mark at `share` of the way along a track of `width` cells.
  std::string mark(double share, int width) const;
  /// The Unicode text where that can be shown.
  std::string_view either(std::string_view unicode, std::string_view ascii) const {
    return unicode_ ? unicode : ascii;
  }

  bool is_live() const { return live_; }
  /// Colours and Unicode: where pictures can be drawn.
  bool has_colours() const { return colours_ && unicode_; }
  int columns() const { return columns_; }

 private:
  std::FILE* out_;
  bool live_;
  bool colours_;
  bool unicode_;
  int columns_;
  bool has_status_ = false;
};

/// 1234567 as "1,234,567".
std::string with_commas(std::string digits);
std::string with_commas(std::integral auto value) { return with_commas(std::to_string(value)); }
/// "1 file", "60,000 files"
std::string counted(std::uint64_t count, std::string_view noun);
/// "12.3 MB"
std::string as_megabytes(std::uint64_t bytes);

}  // namespace infeed::tools
