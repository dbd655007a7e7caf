#include <gtest/gtest.h>

#include <infeed/detail/printable_text.h>
#include <infeed/error.h>
#include <infeed/records/files.h>

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

TEST(RedactedUrl, ShowsNoUserAndNoQuery) {
  const auto shown = [](const std::string& name) { return redacted_url(name); };
  EXPECT_EQ(shown("https://me:secret@host:80/a/b"), "https://host:80/a/b");
  for (const std::string secret : {"Token=a", "Key=a", "auth=a", "jwt=a", "Policy=a", "sas=a",
                                   "pw=a", "X-Amz-Signature=a", "version=2", "plain"}) {
    EXPECT_EQ(shown("https://host/x?" + secret), "https://host/x?...");
    EXPECT_EQ(shown("https://host?" + secret), "https://host?...");
    EXPECT_EQ(shown("https://host/x#" + secret), "https://host/x#...");
    EXPECT_EQ(shown("gs://b/x?" + secret), "gs://b/x?...");
  }
  // A password that a URL can't hold as it is.
  for (const std::string password : {"se/cret", "se?cret", "se#cret", "se@cr/et"}) {
    EXPECT_EQ(shown("https://me:" + password + "@host/x").find("cret"), std::string::npos);
    EXPECT_EQ(shown("s3://me:" + password + "@host/x").find("cret"), std::string::npos);
  }
  EXPECT_EQ(shown("s3://bucket/x?X-Amz-Signature=abc"), "s3://bucket/x?...");
}

TEST(RedactedUrl, LeavesNamesAndPatternsAsTheyAre) {
  for (const std::string name :
       {"a?b=c", "/data/x@y", "http://host:80/a@b", "http://[::1]:80/a", "s3://bucket/a?b/*.csv",
        "s3://bucket/train-?????"
        "-of-00016.tfrecord",
        "http://host/t-?????"
        "-of-00016.tfrecord"}) {
    EXPECT_EQ(redacted_url(name), name);
  }
  EXPECT_EQ(redacted_url("http://host/t-?????"
                         "-of-00016.gz?sig=x"),
            "http://host/t-?????"
            "-of-00016.gz?...");
}

TEST(RedactedUrl, IsWhatAnErrorSays) {
  const Error error = Error(ErrorCode::not_found, "x").at_file("https://u:p@h/a?Token=t");
  EXPECT_EQ(error.file(), "https://h/a?...");
  EXPECT_STREQ(error.what(), "not_found: x [file https://h/a?...]");
}

TEST(FileName, IsOneInItsFolder) {
  EXPECT_TRUE(is_file_name("train-00000-of-00001.tfrecord"));
  EXPECT_TRUE(is_file_name("..a"));
  for (const std::string name : {"", ".", "..", "/etc/passwd", "../x", "a/b", "https://h/x"}) {
    EXPECT_FALSE(is_file_name(name)) << name;
  }
  EXPECT_FALSE(is_file_name(std::string_view("a\0b", 3)));
}

}  // namespace
}  // namespace infeed::detail
