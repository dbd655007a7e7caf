#include "io/url.h"

#include <gtest/gtest.h>
#include <string>
#include <utility>
#include <vector>

#include <infeed/records/files.h>

namespace infeed::detail {
namespace {

TEST(UrlScheme, IsLettersDigitsAndThreeSigns) {
  for (const std::string scheme : {"s3", "https", "azAZ09", "Z+-.9", "a"}) {
    EXPECT_EQ(url_scheme(scheme + "://host/x"), scheme);
    EXPECT_TRUE(is_url(scheme + "://host/x"));
  }
  for (const std::string name :
       {"", "plain", "://x", "a:/x", "1a://x", "+a://x", "`://x", "{://x", "@://x", "[://x",
        "a`b://x", "a{b://x", "a@b://x", "a[b://x", "a/b://x", "a:b://x", "a_b://x", "a b://x"}) {
    EXPECT_EQ(url_scheme(name), "") << name;
    EXPECT_FALSE(is_url(name)) << name;
  }
}

TEST(PercentEncode, LeavesWhatNeedsNone) {
  const std::string plain = "azAZ09-._~";
  for (const Slash slash : {Slash::keep, Slash::encode}) {
    EXPECT_EQ(percent_encode(plain, slash), plain);
    EXPECT_EQ(percent_encode("`{@[:+ \x01\xff", slash), "%60%7B%40%5B%3A%2B%20%01%FF");
  }
  EXPECT_EQ(percent_encode("a/b", Slash::keep), "a/b");
  EXPECT_EQ(percent_encode("a/b", Slash::encode), "a%2Fb");
}

TEST(PercentDecode, LeavesWhatIsNoCode) {
  for (const auto& [text, decoded] :
       std::vector<std::pair<std::string, std::string>>{{"", ""},
                                                        {"a%20b%2fc", "a b/c"},
                                                        {"%41", "A"},
                                                        {"%%41%", "%A%"},
                                                        {"%4", "%4"},
                                                        {"%4z", "%4z"},
                                                        {"%zz", "%zz"},
                                                        {"%2541", "%41"},
                                                        {"a+b", "a+b"}}) {
    EXPECT_EQ(percent_decode(text), decoded) << text;
  }
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

/// Text in front of '@' is a user and a password; where it is not clear which is, all is hidden.
TEST(RedactedUrl, HidesAllWhereAnAtSignMayEndAPassword) {
  for (const std::string name :
       {"https://host", "https://host/a@b", "https://host:80/a@b", "https://host:/a@b",
        "https://[::1]/a@b", "https://[::1]:80/a@b", "https://host:8o/ab", "https://a:b:80/ab"}) {
    EXPECT_EQ(redacted_url(name), name);
  }
  for (const std::string name : {"https://me:secret@host:80/x", "https://me:se@cret@host:80/x"}) {
    EXPECT_EQ(redacted_url(name), "https://host:80/x");
  }
  for (const std::string name :
       {"https://me:8o/secret@host", "https://a:b:80/secret@host", "https://a\\b/secret@host",
        "https://[::1/secret@host", "https://me@a:b:c/secret@host"}) {
    EXPECT_EQ(redacted_url(name), "https://...") << name;
  }
}

TEST(RedactedUrl, HidesTheQueryAndNotTheNumbersOfShards) {
  const auto numbered = [](std::size_t marks, const std::string& behind) {
    return "http://host/t-" + std::string(marks, '?') + behind;
  };
  const std::string hidden = "http://host/t-?...";
  EXPECT_EQ(redacted_url(numbered(5, "-of-00016")), numbered(5, "-of-00016"));
  EXPECT_EQ(redacted_url(numbered(6, "-of-000016.gz")), numbered(6, "-of-000016.gz"));
  EXPECT_EQ(redacted_url(numbered(5, "-of-00016?sig=x")), numbered(5, "-of-00016?..."));
  EXPECT_EQ(redacted_url(numbered(5, "-of-00016.gz#part")), numbered(5, "-of-00016.gz#..."));
  EXPECT_EQ(redacted_url(numbered(4, "-of-00016")), hidden);
  EXPECT_EQ(redacted_url(numbered(5, "-of-0016")), hidden);
  EXPECT_EQ(redacted_url(numbered(5, "-to-00016")), hidden);
  EXPECT_EQ(redacted_url(numbered(5, "")), hidden);
  EXPECT_EQ(redacted_url(numbered(1, "")), hidden);
  EXPECT_EQ(redacted_url("http://host/t#part?a"), "http://host/t#...");
}

TEST(RedactedUrl, LeavesAKeyThatHoldsAQuestionMark) {
  for (const std::string name :
       {"s3://bucket/a?b", "s3://bucket/a=1&b%20?c", "s3://bucket/a#b=c", "plain?a=b"}) {
    EXPECT_EQ(redacted_url(name), name);
  }
  for (const std::string sign : {"=", "&", "%"}) {
    EXPECT_EQ(redacted_url("s3://bucket/a?b" + sign + "c"), "s3://bucket/a?...");
  }
  EXPECT_EQ(redacted_url("gs://bucket/a?b"), "gs://bucket/a?...");
}

TEST(FileName, IsOneInItsFolder) {
  for (const std::string name : {"train-00000-of-00001.tfrecord", "a", "..a", "..."}) {
    EXPECT_TRUE(is_file_name(name)) << name;
  }
  for (const std::string name :
       {"", ".", "..", "/", "/etc/passwd", "../x", "a/b", "a/", "https://h/x"}) {
    EXPECT_FALSE(is_file_name(name)) << name;
  }
  EXPECT_FALSE(is_file_name(std::string_view("a\0b", 3)));
}

}  // namespace
}  // namespace infeed::detail
