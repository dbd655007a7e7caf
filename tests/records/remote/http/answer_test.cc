#include "remote/http/answer.h"

#include <cstdint>
#include <gtest/gtest.h>
#include <string>
#include <variant>

namespace infeed::detail {
namespace {

const ObjectIdentity kKnown = {.size_bytes = 100, .etag = "\"a\"", .last_modified = "Monday"};

/// Returns "BEGIN-END/SIZE" for a placed answer, the text of a failure, or "error" for a status that
/// the body explains.
std::string outcome(const AnswerHead& head, ByteRange asked,
                    const std::optional<ObjectIdentity>& known = std::nullopt,
                    std::uint64_t whole_bytes_max = 0) {
  const PlacedAnswer answer = place_answer(head, asked, known, whole_bytes_max);
  if (std::holds_alternative<std::monostate>(answer)) return "error";
  if (const auto* const failure = std::get_if<HttpFailure>(&answer)) {
    EXPECT_EQ(failure->code, ErrorCode::failed_precondition);
    EXPECT_FALSE(failure->may_pass);
    return failure->message;
  }
  const auto& placement = std::get<Placement>(answer);
  EXPECT_EQ(placement.identity.etag, head.etag);
  EXPECT_EQ(placement.identity.last_modified, head.last_modified);
  return std::to_string(placement.range.begin) + "-" + std::to_string(placement.range.end) + "/" +
         std::to_string(placement.identity.size_bytes);
}

std::string part(const std::string& content_range, ByteRange asked = {10, 20}) {
  return outcome({.status = 206, .content_range = content_range, .etag = "x"}, asked);
}

TEST(Answer, PartsLieWhereTheyWereAskedFor) {
  EXPECT_EQ(part("bytes 10-19/100"), "10-20/100");
  EXPECT_EQ(part("bytes 10-15/100"), "10-16/100") << "less than was asked for";
  EXPECT_EQ(part("bytes 10-10/11"), "10-11/11");
  EXPECT_EQ(outcome({.status = 200, .content_range = "bytes 10-19/100"}, {10, 20}), "10-20/100")
      << "a store that forgets to say 206";
  EXPECT_EQ(part("bytes 11-19/100"),
            "the server sends bytes 11 to 19 where 10 to 19 were asked for");
  EXPECT_EQ(part("bytes 9-19/100"), "the server sends bytes 9 to 19 where 10 to 19 were asked for");
  EXPECT_EQ(part("bytes 10-20/100"),
            "the server sends bytes 10 to 20 where 10 to 19 were asked for");
  for (const std::string range :
       {"", "bytes", "bytes 10-19", "bytes 10/100", "bytes x-19/100", "bytes 10-x/100",
        "bytes 10-19/x", "bytes 10-19/*", "bytes 19-10/100", "bytes 10-19/19", "bytes */100",
        "items 10-19/100", "10-19/100", "bytes -10-19/100"}) {
    EXPECT_EQ(part(range),
              "the server sends a part (206) but does not say which, or of how many bytes: "
              "Content-Range is '" +
                  range + "'");
  }
}

/// Its first bytes were taken for those at the place that it names.
TEST(Answer, APartIsNoLongerThanItsPlace) {
  const auto sent = [](std::uint64_t bytes) {
    return outcome(
        {.status = 206, .content_length = bytes, .content_range = "bytes 10-19/100", .etag = "x"},
        {10, 20});
  };
  EXPECT_EQ(sent(10), "10-20/100");
  EXPECT_EQ(sent(9), "10-20/100") << "it is asked for the rest";
  EXPECT_EQ(sent(100),
            "the server says that it sends bytes 10 to 19, and sends 100 bytes; perhaps a proxy on "
            "the way changes its answers: ask the server itself");
}

TEST(Answer, AnObjectStaysTheSame) {
  const auto after = [](const std::string& content_range, const std::string& etag,
                        const std::string& last_modified, const ObjectIdentity& known) {
    return outcome({.status = 206,
                    .content_range = content_range,
                    .etag = etag,
                    .last_modified = last_modified},
                   {10, 20}, known);
  };
  const auto changed = [](const std::string& what) {
    return "the object changed while it was read: its " + what + "; read it again";
  };
  const std::string range = "bytes 10-19/100";
  EXPECT_EQ(after(range, "\"a\"", "Monday", kKnown), "10-20/100");
  EXPECT_EQ(after(range, "\"a\"", "Tuesday", kKnown), "10-20/100") << "the tag says more";
  EXPECT_EQ(after(range, "\"b\"", "Monday", kKnown), changed("ETag was \"a\", now it is \"b\""));
  EXPECT_EQ(after("bytes 10-19/101", "\"a\"", "Monday", kKnown),
            changed("size was 100, now it is 101"));
  const ObjectIdentity untagged = {.size_bytes = 100, .etag = "", .last_modified = "Monday"};
  EXPECT_EQ(after(range, "", "Monday", untagged), "10-20/100");
  EXPECT_EQ(after(range, "", "Tuesday", untagged), changed("date was Monday, now it is Tuesday"));
}

TEST(Answer, AWholeObjectIsTakenUpToALimit) {
  const auto whole = [](std::optional<std::uint64_t> size, std::uint64_t whole_bytes_max) {
    return outcome({.status = 200, .content_length = size}, {10, 20}, std::nullopt,
                   whole_bytes_max);
  };
  EXPECT_EQ(whole(100, 100), "0-100/100");
  EXPECT_EQ(whole(0, 0), "0-0/0");
  const std::string advice =
      " (200) where a part was asked for (206); serve the file by another server, or copy it to a "
      "disk first";
  EXPECT_EQ(whole(101, 100), "the server does not know ranges: it sends all 101 bytes" + advice);
  EXPECT_EQ(whole(std::nullopt, 100),
            "the server does not know ranges: it sends everything" + advice);
  EXPECT_EQ(outcome({.status = 200, .content_length = 99, .etag = "\"a\""}, {10, 20}, kKnown, 1000),
            "the object changed while it was read: its size was 100, now it is 99; read it again");
}

TEST(Answer, NothingIsThereBehindTheEnd) {
  const auto nothing = [](const std::string& content_range, ByteRange asked,
                          const std::optional<ObjectIdentity>& known = std::nullopt) {
    return outcome({.status = 416, .content_range = content_range}, asked, known);
  };
  EXPECT_EQ(nothing("bytes */0", {0, 20}), "0-0/0") << "an empty object";
  const std::string advice = "; perhaps the object changed: read it again";
  EXPECT_EQ(nothing("bytes */0", {1, 20}), "the server cannot give bytes 1 to 19 (416)" + advice);
  EXPECT_EQ(nothing("bytes */5", {0, 20}), "the server cannot give bytes 0 to 19 (416)" + advice);
  EXPECT_EQ(nothing("", {0, 20}), "the server cannot give bytes 0 to 19 (416)" + advice);
  EXPECT_EQ(nothing("", {0, 20}, kKnown),
            "the server cannot give bytes 0 to 19 (416) though it has 100" + advice);
  EXPECT_EQ(nothing("bytes */100", {0, 20}, kKnown),
            "the server cannot give bytes 0 to 19 (416) though it has 100" + advice);
  EXPECT_EQ(nothing("bytes */0", {0, 20}, kKnown),
            "the object changed while it was read: its size was 100, now it is 0; read it again");
  for (const long status : {0L, 201L, 204L, 301L, 404L, 415L, 417L, 500L}) {
    EXPECT_EQ(outcome({.status = status}, {0, 20}), "error") << status;
  }
}

TEST(Answer, TheConditionIsTheStrongestThatIsKnown) {
  EXPECT_EQ(kKnown.condition(), "If-Match: \"a\"");
  EXPECT_EQ((ObjectIdentity{.etag = "", .last_modified = "Monday"}.condition()),
            "If-Unmodified-Since: Monday");
  EXPECT_EQ((ObjectIdentity{.etag = "W/\"a\"", .last_modified = "Monday"}.condition()), "")
      << "a weak tag never matches";
  EXPECT_EQ(ObjectIdentity().condition(), "");
}

}  // namespace
}  // namespace infeed::detail
