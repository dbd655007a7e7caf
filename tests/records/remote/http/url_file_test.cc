#include "remote/http/url_file.h"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <gtest/gtest.h>
#include <set>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "infeed/records/url_object.h"
#include "io/remote_files.h"
#include "records/remote/http/http_server.h"
#include "records/remote/http/quick_retries.h"

/// The ranges that one object by URL is read in.
namespace infeed::detail {
namespace {

using test::HttpReply;
using test::HttpRequestSeen;
using test::HttpServer;
using test::quick_retries;
using test::serve_bytes;
using Ranges = std::set<std::pair<std::uint64_t, std::uint64_t>>;

/// Returns the first and the last byte of each range that was asked for.
Ranges asked_of(const HttpServer& server) {
  Ranges ranges;
  for (const HttpRequestSeen& request : server.seen()) {
    if (request.range) ranges.insert(*request.range);
  }
  return ranges;
}

/// Returns retries that never ask a second time for what is slow.
UrlOptions one_request_each() {
  UrlOptions options = quick_retries();
  options.hedge_percentile = 1;
  return options;
}

class UrlFileTest : public ::testing::Test {
 protected:
  UrlFileTest() { ::setenv("no_proxy", "*", 1); }

  static std::string read(const UrlFile& file, std::uint64_t offset, std::size_t size) {
    std::string bytes(size, '\0');
    bytes.resize(file.read_at(offset, bytes));
    return bytes;
  }
  static std::string read_all(ByteSource& source) {
    std::string bytes;
    std::string room(100'000, '\0');
    while (const std::size_t got = source.read(room)) bytes.append(room, 0, got);
    return bytes;
  }

  std::string content_ = test::numbered_bytes(600'000);
  std::size_t broken_until_ = 0;  ///< requests between the first and this one find nothing
  HttpServer server_{[this](const HttpRequestSeen& request) {
    HttpReply reply = serve_bytes(request, content_);
    if (request.number == 0 && broken_until_ != 0) reply.cut_after = 1000;
    if (request.number > 0 && request.number < broken_until_) return HttpReply{.status = 404};
    return reply;
  }};
};

TEST_F(UrlFileTest, GivesItsFrontWithoutAnotherRequest) {
  const UrlFile file(server_.url("/a"), one_request_each());
  EXPECT_EQ(file.size_bytes(), 600'000U);
  EXPECT_EQ(file.front_bytes(), 262'144U);
  EXPECT_EQ(read(file, 0, 10), content_.substr(0, 10));
  EXPECT_EQ(read(file, 262'134, 10), content_.substr(262'134, 10));
  EXPECT_EQ(server_.requests(), 1U);
  EXPECT_EQ(read(file, 262'143, 2), content_.substr(262'143, 2));
  EXPECT_EQ(read(file, 599'990, 100), content_.substr(599'990));
  EXPECT_EQ(asked_of(server_), (Ranges{{0, 262'143}, {262'143, 262'144}, {599'990, 599'999}}));
  EXPECT_EQ(read(file, 600'000, 1), "");
  EXPECT_EQ(read(file, 700'000, 1), "");
  EXPECT_EQ(server_.requests(), 3U);
}

TEST_F(UrlFileTest, HasAFrontOfOneRange) {
  UrlOptions options = one_request_each();
  for (const std::size_t bytes : {0, 1, 100, 262'143, 262'145}) {
    options.range_bytes = bytes;
    EXPECT_EQ(UrlFile(server_.url("/a"), options).front_bytes(),
              std::clamp<std::size_t>(bytes, 1, 262'144));
  }
}

TEST_F(UrlFileTest, AsksAnewForAFrontThatDidNotCome) {
  broken_until_ = 2;
  const UrlFile file(server_.url("/a"), one_request_each());
  EXPECT_EQ(read(file, 0, 2000), content_.substr(0, 2000)) << "half of it was there";
  EXPECT_EQ(read(file, 5000, 10), content_.substr(5000, 10)) << "nothing of it was there";
  EXPECT_EQ(read(file, 990, 10), content_.substr(990, 10));
  EXPECT_EQ(server_.requests(), 4U) << "what came of it is used";
}

TEST_F(UrlFileTest, IsExaminedByItsFirstAnswer) {
  const UrlObject object = examine_url(server_.url("/a"), one_request_each());
  EXPECT_EQ(object.size_bytes, 600'000U);
  EXPECT_EQ(object.version, "\"one\"");
  const HttpServer dated([&](const HttpRequestSeen& request) {
    HttpReply reply = serve_bytes(request, content_, "");
    reply.headers.push_back("Last-Modified: Mon, 01 Jan 2024 00:00:00 GMT");
    return reply;
  });
  EXPECT_EQ(examine_url(dated.url("/a"), one_request_each()).version,
            "Mon, 01 Jan 2024 00:00:00 GMT");
}

class UrlSourceTest : public UrlFileTest {
 protected:
  UrlSourceTest() { content_ = test::numbered_bytes(3 << 20); }

  OpenedSource open(const UrlOptions& options = one_request_each()) const {
    return open_url_source(server_.url("/a"), {.compression = Compression::none, .url = options});
  }
};

TEST_F(UrlSourceTest, RangesDoubleUpToTheirLimit) {
  const OpenedSource opened = open();
  EXPECT_EQ(opened.file_bytes, content_.size());
  EXPECT_EQ(opened.front, "");
  EXPECT_TRUE(opened.source->is_seekable());
  EXPECT_EQ(opened.source->size_bytes(), content_.size());
  EXPECT_EQ(read_all(*opened.source), content_);
  EXPECT_EQ(
      asked_of(server_),
      (Ranges{{0, 262'143}, {262'144, 786'431}, {786'432, 1'835'007}, {1'835'008, 3'145'727}}));
}

TEST_F(UrlSourceTest, RangesAreOneAtATimeWhereNoMoreMayBe) {
  UrlOptions options = one_request_each();
  options.range_bytes = 1'000'000;
  options.bytes_in_flight_max = 0;
  EXPECT_EQ(read_all(*open(options).source), content_);
  EXPECT_EQ(asked_of(server_), (Ranges{{0, 262'143},
                                       {262'144, 786'431},
                                       {786'432, 1'786'431},
                                       {1'786'432, 2'786'431},
                                       {2'786'432, 3'145'727}}));
}

TEST_F(UrlSourceTest, SoManyRangesAndBytesAreAskedForAtOnce) {
  for (const auto& [ranges, bytes] :
       std::vector<std::pair<unsigned, std::size_t>>{{3, SIZE_MAX}, {10, 786'432}}) {
    std::atomic<bool> may_answer = false;
    const HttpServer server([&](const HttpRequestSeen& request) {
      HttpReply reply = serve_bytes(request, content_);
      if (request.number > 0) reply.until = [&] { return may_answer.load(); };
      return reply;
    });
    UrlOptions options = one_request_each();
    options.range_bytes = 262'144;
    options.ranges_in_flight = ranges;
    options.bytes_in_flight_max = bytes;
    const OpenedSource opened =
        open_url_source(server.url("/a"), {.compression = Compression::none, .url = options});
    std::string front(262'144, '\0');  // which counts as well
    std::size_t got = opened.source->read(std::span(front).first(1));
    while (server.requests() < 3) std::this_thread::yield();
    while (got < front.size()) got += opened.source->read(std::span(front).subspan(got));
    EXPECT_TRUE(front == content_.substr(0, front.size()));
    EXPECT_EQ(server.requests(), 3U) << ranges;
    may_answer = true;
  }
}

TEST_F(UrlSourceTest, AJumpBeginsWithAShortRange) {
  const OpenedSource opened = open();
  opened.source->seek(2'000'000);
  EXPECT_EQ(read_all(*opened.source), content_.substr(2'000'000));
  EXPECT_EQ(
      asked_of(server_),
      (Ranges{
          {0, 262'143}, {2'000'000, 2'262'143}, {2'262'144, 2'786'431}, {2'786'432, 3'145'727}}));
  EXPECT_EQ(server_.requests(), 4U);
  opened.source->seek(3'145'728);
  EXPECT_EQ(read_all(*opened.source), "");
  EXPECT_EQ(server_.requests(), 4U);
}

TEST_F(UrlSourceTest, AJumpRightBehindWhatWasAskedForIsOne) {
  const OpenedSource opened = open();
  opened.source->seek(262'144);
  std::string byte(1, '\0');
  ASSERT_EQ(opened.source->read(byte), 1U);
  EXPECT_EQ(byte, content_.substr(262'144, 1));
  EXPECT_TRUE(asked_of(server_).contains({262'144, 524'287}));
}

TEST_F(UrlSourceTest, AJumpWithinWhatIsThereAsksForNothing) {
  content_ = test::numbered_bytes(100'000);
  const OpenedSource opened = open();
  EXPECT_EQ(read_all(*opened.source), content_);
  opened.source->seek(5);
  EXPECT_EQ(read_all(*opened.source), content_.substr(5));
  opened.source->seek(0);
  EXPECT_EQ(read_all(*opened.source), content_);
  EXPECT_EQ(opened.source->read({}), 0U);
  EXPECT_EQ(server_.requests(), 1U);
}

TEST_F(UrlSourceTest, ItsKindIsSeenByItsFront) {
  const OpenedSource opened = open_url_source(server_.url("/a"), {.url = one_request_each()});
  EXPECT_EQ(opened.compression, Compression::none);
  EXPECT_EQ(opened.front, content_.substr(0, kCompressionPrefixBytes));
  EXPECT_EQ(server_.requests(), 1U);
}

}  // namespace
}  // namespace infeed::detail
