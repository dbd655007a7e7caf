#include <cstdint>
#include <gtest/gtest.h>
#include <string>
#include <utility>
#include <vector>

#include <infeed/detail/printable_text.h>
#include <infeed/error.h>

namespace infeed::detail {
namespace {

TEST(PrintableText, LeavesWhatIsShownAsItIs) {
  for (const std::string text : {"", "train-00000.tfrecord", "Größe 東京 😀", "C:\\x41"}) {
    EXPECT_EQ(printable_text(text), text);
  }
}

TEST(PrintableText, EscapesWhatATerminalWouldActOn) {
  EXPECT_EQ(printable_text("a\x1b]0;title\x07"), "a\\x1b]0;title\\x07");
  EXPECT_EQ(printable_text("a\r\n\tb\x7f"), "a\\x0d\\n\\tb\\x7f");
  EXPECT_EQ(printable_text("\xc2\x9b"
                           "2J"),
            "\\u009b2J");  // C1, as UTF-8
  EXPECT_EQ(printable_text("\x9b"
                           "2J"),
            "\\x9b2J");  // and as one byte
  EXPECT_EQ(printable_text("a\xe2\x80\xaegpj.exe"), "a\\u202egpj.exe");
  EXPECT_EQ(printable_text("\xd8\x9c\xe2\x81\xa6\xe2\x80\xa8"), "\\u061c\\u2066\\u2028");
  EXPECT_EQ(printable_text("\xc0\x9b\xed\xa0\x80"), "\\xc0\\x9b\\xed\\xa0\\x80");
  EXPECT_EQ(printable_text("a\n\tb\x1b", LineBreaks::keep), "a\n\tb\\x1b");
}

std::string utf8_of(std::uint32_t code) {
  const auto part = [code](int shift) { return static_cast<char>(0x80 | (code >> shift & 0x3f)); };
  if (code < 0x80) return {static_cast<char>(code)};
  if (code < 0x800) return {static_cast<char>(0xc0 | code >> 6), part(0)};
  if (code < 0x10000) return {static_cast<char>(0xe0 | code >> 12), part(6), part(0)};
  return {static_cast<char>(0xf0 | code >> 18), part(12), part(6), part(0)};
}

TEST(PrintableText, KnowsWhichCharactersAct) {
  for (const std::uint32_t code :
       {0x20, 0x7e, 0xa0, 0x61b, 0x61d, 0x7ff, 0x800, 0x200d, 0x2010, 0x2027, 0x202f, 0x2065,
        0x206a, 0xd7ff, 0xe000, 0xffff, 0x10000, 0x10ffff}) {
    const std::string character = utf8_of(code);
    EXPECT_EQ(printable_text(character), character) << code;
    EXPECT_FALSE(acts_on_terminal(character)) << code;
    EXPECT_EQ(utf8_length(character + "x"), character.size()) << code;
    EXPECT_TRUE(has_only_utf8("x" + character));
  }
  for (const auto& [code, shown] :
       std::vector<std::pair<std::uint32_t, std::string>>{{0x01, "\\x01"},
                                                          {0x1f, "\\x1f"},
                                                          {0x7f, "\\x7f"},
                                                          {0x80, "\\u0080"},
                                                          {0x9f, "\\u009f"},
                                                          {0x61c, "\\u061c"},
                                                          {0x200e, "\\u200e"},
                                                          {0x200f, "\\u200f"},
                                                          {0x2028, "\\u2028"},
                                                          {0x202e, "\\u202e"},
                                                          {0x2066, "\\u2066"},
                                                          {0x2069, "\\u2069"}}) {
    EXPECT_EQ(printable_text("a" + utf8_of(code) + "b"), "a" + shown + "b");
    EXPECT_TRUE(acts_on_terminal(utf8_of(code)));
  }
}

TEST(PrintableText, ShowsBytesThatAreNoUtf8) {
  for (const auto& [bytes, shown] : std::vector<std::pair<std::string, std::string>>{
           {"\xc1\xbf", "\\xc1\\xbf"},
           {"\xc2", "\\xc2"},
           {"\xc2\x7f", "\\xc2\\x7f"},
           {"\xc2\xc0", "\\xc2\\xc0"},
           {"\xe0\x9f\xbf", "\\xe0\\x9f\\xbf"},
           {"\xed\xbf\xbf", "\\xed\\xbf\\xbf"},
           {"\xef\xbf", "\\xef\\xbf"},
           {"\xf0\x8f\xbf\xbf", "\\xf0\\x8f\\xbf\\xbf"},
           {"\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80"},
           {"\xf5\x80\x80\x80", "\\xf5\\x80\\x80\\x80"}}) {
    EXPECT_EQ(printable_text(bytes), shown);
    EXPECT_FALSE(has_only_utf8("x" + bytes)) << shown;
  }
}

TEST(PrintableText, OfAnErrorIsWhatItPrints) {
  const Error error = Error(ErrorCode::data_loss, "column '\x1b[2J'").at_file("a\xe9\x9b");
  EXPECT_STREQ(error.what(), "data_loss: column '\\x1b[2J' [file a\\xe9\\x9b]");
  EXPECT_EQ(error.message(), "column '\x1b[2J'");
  EXPECT_EQ(error.file(), "a\xe9\x9b");
}

TEST(Utf8Name, IsTheTextItselfOrCanBeTurnedBack) {
  for (const std::string text : {"", "col", "Größe", "a\\b", "a\\\\b", "\\", "\\x4", "\\xZZ"}) {
    EXPECT_EQ(utf8_name(text), text);
    EXPECT_EQ(bytes_of_utf8_name(text), text);
  }
  EXPECT_EQ(utf8_name("Gr\xf6\xdf"
                      "e"),
            "Gr\\xf6\\xdfe");
  EXPECT_EQ(utf8_name("\\x41"), "\\\\x41");
  for (const std::string bytes : {"\xe9", "\xe8", "a\\\xe9\\", "\\x41", "\\\\x41", "\\\\\\x41\\",
                                  "\xc3\xa9\xe9\\xe9", "\xed\xa0\x80"}) {
    EXPECT_EQ(bytes_of_utf8_name(utf8_name(bytes)), bytes);
    EXPECT_EQ(utf8_name(bytes).find("\xe9"), std::string::npos);
  }
  EXPECT_NE(utf8_name("\xe9"), utf8_name("\\xe9"));
}

/// Two lower hexadecimal digits make a code, and nothing else.
TEST(Utf8Name, HasCodesOfTwoDigits) {
  for (const auto& [name, bytes] :
       std::vector<std::pair<std::string, std::string>>{{"\\x00", std::string(1, '\0')},
                                                        {"\\x09\\x90", "\x09\x90"},
                                                        {"\\xaf\\xfa", "\xaf\xfa"},
                                                        {"a\\x41b", "aAb"}}) {
    EXPECT_EQ(bytes_of_utf8_name(name), bytes);
  }
  for (const std::string other : {"\\x/0", "\\x0/", "\\x:0", "\\x0:", "\\x`0", "\\xg0", "\\x0g",
                                  "\\xA0", "\\x0", "\\y00", "x00"}) {
    EXPECT_EQ(bytes_of_utf8_name(other), other);
    EXPECT_EQ(utf8_name(other), other);
  }
}

}  // namespace
}  // namespace infeed::detail
