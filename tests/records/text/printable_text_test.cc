#include <gtest/gtest.h>

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

}  // namespace
}  // namespace infeed::detail
