#include "remote/http/attempt.h"

#include <chrono>
#include <cstdlib>
#include <curl/curl.h>
#include <gtest/gtest.h>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

#include "records/remote/http/http_server.h"

/// One request: its header fields, and when it is given up.
namespace infeed::detail {
namespace {

using namespace std::chrono_literals;
using test::HttpRequestSeen;
using test::HttpServer;

class AttemptTest : public ::testing::Test, public Attempt::Sink {
 protected:
  AttemptTest() {
    ::setenv("no_proxy", "*", 1);
    start_curl();
  }

  bool take(Attempt&, std::string_view bytes) override {
    if (has_no_room_) throw std::runtime_error("no room");
    taken_ += bytes;
    return wants_more_;
  }
  static std::shared_ptr<Transfer> range(std::uint64_t offset, std::size_t size) {
    return std::make_shared<Transfer>(Transfer::Kind::range, offset, size, NamesAndValues());
  }
  void prepare(Attempt& attempt, const UrlOptions& options,
               const std::optional<ObjectIdentity>& known = std::nullopt,
               Attempt::Connection connection = Attempt::Connection::any) const {
    attempt.prepare(UrlTarget(server_.url("/a/../b")), options, known, connection);
  }

  const std::string content_ = std::string(1'999, 'x') + "y";
  const HttpServer server_{
      [this](const HttpRequestSeen& request) { return test::serve_bytes(request, content_); }};
  std::string taken_;
  bool wants_more_ = true;
  bool has_no_room_ = false;
};

TEST_F(AttemptTest, AsksForWhatIsMissingOfTheObjectThatIsKnown) {
  const auto transfer = range(1'900, 100);
  transfer->filled_bytes = 10;
  Attempt attempt(transfer, *this);
  prepare(attempt, {}, ObjectIdentity{.size_bytes = 2'000, .etag = "\"one\""});
  EXPECT_EQ(attempt.asked.begin, 1'910U);
  EXPECT_EQ(attempt.asked.end, 2'000U);
  EXPECT_EQ(attempt.position, 1'910U);
  ASSERT_EQ(::curl_easy_perform(attempt.easy()), CURLE_OK);
  EXPECT_EQ(taken_, content_.substr(1'910));
  const HttpRequestSeen request = server_.seen().at(0);
  EXPECT_EQ(request.path, "/a/../b");
  EXPECT_EQ(request.header("range"), "bytes=1910-1999");
  EXPECT_EQ(request.header("if-match"), "\"one\"");
  EXPECT_EQ(request.header("accept-encoding"), "identity");
  EXPECT_EQ(request.header("user-agent"), "infeed");
}

TEST_F(AttemptTest, AsksForAWholeAnswerWithoutARange) {
  Attempt attempt(std::make_shared<Transfer>(Transfer::Kind::whole, 0, 0, NamesAndValues()), *this);
  prepare(attempt, {}, ObjectIdentity{.size_bytes = 2'000, .etag = "\"one\""});
  EXPECT_EQ(attempt.asked.bytes(), 0U);
  ASSERT_EQ(::curl_easy_perform(attempt.easy()), CURLE_OK);
  EXPECT_EQ(taken_, content_);
  EXPECT_EQ(server_.seen().at(0).header("range"), "");
  EXPECT_EQ(server_.seen().at(0).header("if-match"), "");
}

TEST_F(AttemptTest, TakesAConnectionOfItsOwnWhereItIsTold) {
  for (const auto connection : {Attempt::Connection::any, Attempt::Connection::fresh}) {
    Attempt attempt(range(0, 100), *this);
    prepare(attempt, {}, std::nullopt, connection);
    const std::size_t before = server_.requests();
    for (int i = 0; i < 2; ++i) ASSERT_EQ(::curl_easy_perform(attempt.easy()), CURLE_OK);
    const auto seen = server_.seen();
    ASSERT_EQ(seen.size(), before + 2);
    EXPECT_EQ(seen[before].connection == seen[before + 1].connection,
              connection == Attempt::Connection::any);
  }
}

TEST_F(AttemptTest, IsGivenUpWhenNoByteCameForTooLong) {
  const UrlOptions options{.stall_timeout = 2'500ms, .bytes_per_second_min = 0};
  Attempt attempt(range(0, 2'000), *this);
  const auto begin = Transfer::Clock::now();
  prepare(attempt, options);
  const auto due = attempt.next_look(options);
  EXPECT_GE(due, begin + 2'500ms);
  EXPECT_EQ(attempt.why_stalled(options, due - 1ns), "");
  EXPECT_EQ(attempt.why_stalled(options, due), "no byte came for 2.5 s");
  ASSERT_EQ(::curl_easy_perform(attempt.easy()), CURLE_OK);
  EXPECT_GT(attempt.next_look(options), due) << "some came since";
}

TEST_F(AttemptTest, IsGivenUpWhenFewBytesCameInAWindow) {
  const UrlOptions options{.stall_timeout = 1h, .bytes_per_second_min = 1'000, .rate_window = 2s};
  const UrlOptions stricter{.stall_timeout = 1h, .bytes_per_second_min = 1'001, .rate_window = 2s};
  const UrlOptions least{.stall_timeout = 1h, .bytes_per_second_min = 1, .rate_window = 2s};
  for (const UrlOptions& first : {options, stricter}) {
    Attempt attempt(range(0, 2'000), *this);
    prepare(attempt, first);
    const auto due = attempt.next_look(first);
    ASSERT_EQ(::curl_easy_perform(attempt.easy()), CURLE_OK);
    EXPECT_EQ(attempt.next_look(first), due) << "the window is the same";
    EXPECT_EQ(attempt.why_stalled(first, due - 1ns), "");
    EXPECT_EQ(attempt.why_stalled(first, due),
              first.bytes_per_second_min == 1'000
                  ? ""
                  : "2000 bytes came in 2 s, where 1001 a second are the least");
    EXPECT_EQ(attempt.next_look(first), due + 2s);
    EXPECT_EQ(attempt.why_stalled(options, due + 2s),
              "0 bytes came in 2 s, where 1000 a second are the least");
    EXPECT_EQ(attempt.next_look(least), due + 4s);
    EXPECT_EQ(attempt.why_stalled(least, due + 4s),
              "0 bytes came in 2 s, where 1 a second are the least");
  }
}

TEST_F(AttemptTest, EndsWhenItsBytesAreNotTaken) {
  wants_more_ = false;
  Attempt unwanted(range(0, 2'000), *this);
  prepare(unwanted, {});
  EXPECT_EQ(::curl_easy_perform(unwanted.easy()), CURLE_WRITE_ERROR);
  EXPECT_FALSE(unwanted.failure);
  has_no_room_ = true;
  Attempt refused(range(0, 2'000), *this);
  prepare(refused, {});
  EXPECT_EQ(::curl_easy_perform(refused.easy()), CURLE_WRITE_ERROR);
  ASSERT_TRUE(refused.failure);
  EXPECT_EQ(refused.failure->code, ErrorCode::resource_exhausted);
  EXPECT_EQ(refused.failure->message, "no room");
}

}  // namespace
}  // namespace infeed::detail
