#include "cli/terminal.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <gtest/gtest.h>

namespace infeed::tools {
namespace {

/// Sets the locale's variable for one test.
class Locale {
 public:
  explicit Locale(const char* value) {
    const char* const before = std::getenv("LC_ALL");
    if (before != nullptr) before_ = before;
    setenv("LC_ALL", value, 1);
  }
  ~Locale() {
    if (before_.empty()) {
      unsetenv("LC_ALL");
    } else {
      setenv("LC_ALL", before_.c_str(), 1);
    }
  }

 private:
  std::string before_;
};

/// Columns that UTF-8 text takes.
std::ptrdiff_t display_width(std::string_view text) {
  return std::count_if(text.begin(), text.end(),
                       [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; });
}

TEST(Terminal, BarsInUnicode) {
  const Locale locale("C.UTF-8");
  const Terminal terminal(stdout);
  EXPECT_EQ(terminal.bar(0, 4), "····");
  EXPECT_EQ(terminal.bar(1, 4), "████");
  EXPECT_EQ(terminal.bar(0.5, 4), "██··");
  EXPECT_EQ(terminal.bar(0.5 + 1.0 / 32, 4), "██▏·");
  EXPECT_EQ(terminal.bar(1 - 1.0 / 32, 4), "███▉");
  EXPECT_EQ(terminal.mark(0, 4), "●···");
  EXPECT_EQ(terminal.mark(1, 4), "···●");
}

TEST(Terminal, BarsInAscii) {
  const Locale locale("C");
  const Terminal terminal(stdout);
  EXPECT_EQ(terminal.bar(0.5, 4), "##..");
  EXPECT_EQ(terminal.mark(1, 4), "...o");
  EXPECT_EQ(terminal.either("→", "->"), "->");
}

TEST(Terminal, BarsKeepTheirWidthWhateverTheShare) {
  for (const char* const name : {"C", "C.UTF-8"}) {
    const Locale locale(name);
    const Terminal terminal(stdout);
    for (double share = -0.5; share < 1.5; share += 0.01) {
      EXPECT_EQ(display_width(terminal.bar(share, 13)), 13) << share;
      EXPECT_EQ(display_width(terminal.mark(share, 13)), 13) << share;
    }
    EXPECT_EQ(display_width(terminal.bar(std::nan(""), 13)), 13);
  }
}

TEST(Terminal, AFileGetsNeitherColoursNorStatusLines) {
  std::FILE* const file = std::tmpfile();
  ASSERT_NE(file, nullptr);
  Terminal terminal(file);
  EXPECT_FALSE(terminal.is_live());
  terminal.status("working");
  terminal.line(terminal.paint(Paint::good, "done"));
  std::rewind(file);
  char text[32] = {};
  EXPECT_EQ(std::string(text, std::fread(text, 1, sizeof(text), file)), "done\n");
  std::fclose(file);
}

std::string printed(std::string_view line) {
  std::FILE* const file = std::tmpfile();
  Terminal(file).line(line);
  std::rewind(file);
  char text[256] = {};
  const std::string result(text, std::fread(text, 1, sizeof(text), file));
  std::fclose(file);
  return result;
}

TEST(Terminal, EscapesWhatATerminalWouldActOn) {
  EXPECT_EQ(printed("a\x1b]0;t\x07\nb: good"), "a\\x1b]0;t\\x07\\nb: good\n");
  EXPECT_EQ(printed("\x1b[8mhidden\x1b[2Jcleared\xc2\x9bx"),
            "\\x1b[8mhidden\\x1b[2Jcleared\\u009bx\n");
  EXPECT_EQ(printed("\x1b[38;2;0;0;0mhidden"), "\\x1b[38;2;0;0;0mhidden\n");
  // The sequences of paint() and pictures.
  EXPECT_EQ(printed("\x1b[1m\nRecord\x1b[0m"), "\x1b[1m\nRecord\x1b[0m\n");
  const std::string pixels = "\x1b[38;2;1;2;3m\x1b[48;2;4;5;6m▀";
  EXPECT_EQ(printed(pixels + pixels + "\x1b[0m"), pixels + pixels + "\x1b[0m\n");
}

TEST(Terminal, Numbers) {
  EXPECT_EQ(with_commas(0), "0");
  EXPECT_EQ(with_commas(999), "999");
  EXPECT_EQ(with_commas(1000), "1,000");
  EXPECT_EQ(with_commas(1234567), "1,234,567");
  EXPECT_EQ(with_commas(-1234567), "-1,234,567");
  EXPECT_EQ(as_megabytes(28'173'630), "28.2 MB");
}

}  // namespace
}  // namespace infeed::tools
