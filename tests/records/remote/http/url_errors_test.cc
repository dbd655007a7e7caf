#include <fmt/format.h>

#include <infeed/records/byte_stream.h>
#include <infeed/records/record_index.h>
#include <infeed/records/record_reader.h>

#include "records/codec/lz4_framed.h"
#include "records/codec/zstd_framed.h"
#include "records/remote/http/http_server.h"
#include "records/remote/http/quick_retries.h"
#include "records/remote/http/read_through.h"
#include "records/tfrecord/framed.h"
#include "thrown_error.h"

namespace infeed {
namespace {

using namespace std::chrono_literals;
using test::HttpReply;
using test::HttpRequestSeen;
using test::HttpServer;
using test::quick_retries;
using test::read_through;
using test::serve_bytes;

class UrlErrors : public ::testing::Test {
 protected:
  UrlErrors() { ::setenv("no_proxy", "*", 1); }

  /// Returns the error of an object whose server answers `reply` to each request.
  Error error_for(const HttpReply& reply, const UrlOptions& options = quick_retries()) {
    HttpServer server([&](const HttpRequestSeen&) { return reply; });
    port_ = server.port();
    const Error error = error_of([&] { read_through(server.url("/a"), options); });
    EXPECT_EQ(error.file(), server.url("/a"));
    requests_ = server.requests();
    return error;
  }
  std::string host() const { return fmt::format("127.0.0.1:{}", port_); }

  int port_ = 0;
  std::size_t requests_ = 0;
  const std::string content_ = std::string(600'000, 'x');
};

TEST_F(UrlErrors, NameWhatIsNotThere) {
  const Error error = error_for({.status = 404});
  EXPECT_EQ(error.code(), ErrorCode::not_found);
  EXPECT_EQ(error.message(), "there is no such object at " + host() + " (404); check the name");
  EXPECT_EQ(requests_, 1U);
}

TEST_F(UrlErrors, SayWhatToDoAboutARefusal) {
  for (const int status : {401, 403}) {
    const Error error = error_for({.status = status});
    EXPECT_EQ(error.code(), ErrorCode::permission_denied);
    EXPECT_EQ(error.message(),
              fmt::format("the server refuses to give it ({}); check the URL, and whether it needs "
                          "a password in ~/.netrc or has expired",
                          status));
    EXPECT_EQ(requests_, 1U);
  }
}

TEST_F(UrlErrors, TellOfAServerInTroubleAfterAllTries) {
  UrlOptions options = quick_retries();
  options.retries = 3;
  const Error error = error_for({.status = 503, .headers = {"Retry-After: 0"}}, options);
  EXPECT_EQ(error.code(), ErrorCode::unavailable);
  EXPECT_EQ(error.message(), "the server of " + host() + " has trouble (503); tried 4 times");
  EXPECT_EQ(requests_, 4U);
}

TEST_F(UrlErrors, TellOfARangeThatCannotBeGiven) {
  const Error first = error_for({.status = 416, .headers = {"Content-Range: bytes */12"}});
  EXPECT_EQ(first.code(), ErrorCode::failed_precondition);
  EXPECT_EQ(first.message(),
            "the server cannot give bytes 0 to 262143 (416); perhaps the object changed: read it "
            "again");
  HttpServer server([&](const HttpRequestSeen& request) -> HttpReply {
    if (request.number > 0) return {.status = 416};
    return serve_bytes(request, content_);
  });
  const Error later = error_of([&] { read_through(server.url("/a")); });
  EXPECT_EQ(later.message(),
            "the server cannot give bytes 262144 to 599999 (416) though it has 600000; perhaps the "
            "object changed: read it again");
  EXPECT_EQ(later.offset(), 262'144U);
}

TEST_F(UrlErrors, TellOfAConnectionThatIsAlwaysCut) {
  HttpServer server([&](const HttpRequestSeen& request) {
    HttpReply reply = serve_bytes(request, content_);
    if (request.number > 0) reply.cut_after = 0;
    return reply;
  });
  const Error error = error_of([&] { read_through(server.url("/a")); });
  EXPECT_EQ(error.code(), ErrorCode::unavailable);
  EXPECT_THAT(error.message(),
              StartsWith(fmt::format("the connection to 127.0.0.1:{} was cut (", server.port())));
  EXPECT_THAT(error.message(), HasSubstr("; tried 6 times"));
  EXPECT_EQ(error.offset(), 262'144U);
  EXPECT_EQ(server.requests(), 7U);
}

TEST_F(UrlErrors, TellOfAnAnswerThatIsTooShort) {
  HttpServer server([&](const HttpRequestSeen& request) {
    HttpReply reply = serve_bytes(request, content_);
    reply.body.resize(0);  // claims a range, but properly ends the answer before its end
    return reply;
  });
  const Error error = error_of([&] { read_through(server.url("/a")); });
  EXPECT_EQ(error.code(), ErrorCode::unavailable);
  EXPECT_EQ(error.message(),
            fmt::format("the answer of 127.0.0.1:{} is too short: 0 of 262144 bytes; tried 6 times",
                        server.port()));
}

TEST_F(UrlErrors, TellOfAServerWithoutRanges) {
  HttpServer server([&](const HttpRequestSeen&) { return HttpReply{.body = content_}; });
  UrlOptions options = quick_retries();
  options.range_bytes = 100'000;
  const Error error = error_of([&] { read_through(server.url("/a"), options); });
  EXPECT_EQ(error.code(), ErrorCode::failed_precondition);
  EXPECT_EQ(error.message(),
            "the server does not know ranges: it sends all 600000 bytes (200) where a part was "
            "asked for (206); serve the file by another server, or copy it to a disk first");
}

TEST_F(UrlErrors, TellOfAPartThatIsNotTheOneAskedFor) {
  const Error other =
      error_for({.status = 206, .headers = {"Content-Range: bytes 5-7/100"}, .body = "abc"});
  EXPECT_EQ(other.message(), "the server sends bytes 5 to 7 where 0 to 262143 were asked for");
  for (const std::string range : {"", "bytes 0-2/*", "bytes 3-2/9", "items 0-2/3", "bytes 0-9/5"}) {
    HttpReply reply{.status = 206, .body = "abc"};
    if (!range.empty()) reply.headers.push_back("Content-Range: " + range);
    EXPECT_EQ(error_for(reply).message(),
              "the server sends a part (206) but does not say which, or of how many bytes: "
              "Content-Range is '" +
                  range + "'");
  }
}

TEST_F(UrlErrors, TellOfAPartThatIsLongerThanItSays) {
  const Error error =
      error_for({.status = 206, .headers = {"Content-Range: bytes 0-1/100"}, .body = "abc"});
  EXPECT_EQ(error.code(), ErrorCode::failed_precondition);
  EXPECT_THAT(error.message(),
              StartsWith("the server says that it sends bytes 0 to 1, and sends 3 bytes"));
}

TEST_F(UrlErrors, TellOfAnObjectThatChangesUnderWay) {
  HttpServer honest([&](const HttpRequestSeen& request) {
    return serve_bytes(request, content_, request.number == 0 ? "\"one\"" : "\"two\"");
  });
  const Error refused = error_of([&] { read_through(honest.url("/a")); });
  EXPECT_EQ(refused.code(), ErrorCode::failed_precondition);
  EXPECT_EQ(refused.message(), "the object changed while it was read (412); read it again");

  HttpServer careless([&](HttpRequestSeen request) {  // doesn't know conditions
    request.headers.erase("if-match");
    return serve_bytes(request, content_, request.number == 0 ? "\"one\"" : "\"two\"");
  });
  EXPECT_EQ(
      error_of([&] { read_through(careless.url("/a")); }).message(),
      "the object changed while it was read: its ETag was \"one\", now it is \"two\"; read it "
      "again");

  HttpServer growing([&](const HttpRequestSeen& request) {
    return serve_bytes(request, request.number == 0 ? content_ : content_ + "y", "");
  });
  EXPECT_EQ(error_of([&] { read_through(growing.url("/a")); }).message(),
            "the object changed while it was read: its size was 600000, now it is 600001; read it "
            "again");

  HttpServer dated([&](const HttpRequestSeen& request) {
    HttpReply reply = serve_bytes(request, content_, "");
    reply.headers.push_back(
        fmt::format("Last-Modified: Mon, 0{} Jan 2024 00:00:00 GMT", request.number == 0 ? 1 : 8));
    return reply;
  });
  EXPECT_THAT(error_of([&] { read_through(dated.url("/a")); }).message(),
              HasSubstr("its date was Mon, 01 Jan 2024 00:00:00 GMT, now it is Mon, 08 Jan"));
  EXPECT_EQ(dated.seen().at(1).header("if-unmodified-since"), "Mon, 01 Jan 2024 00:00:00 GMT");
}

TEST_F(UrlErrors, TellOfAStalledServer) {
  UrlOptions options = quick_retries();
  options.stall_timeout = 10ms;
  options.retries = 1;
  const Error error = error_for({.body = "abc", .hang_after = 0}, options);
  EXPECT_EQ(error.code(), ErrorCode::deadline_exceeded);
  EXPECT_EQ(error.message(), host() + " is too slow (no byte came for 0.01 s); tried 2 times");
}

/// A byte now and then held a reader for days.
TEST_F(UrlErrors, TellOfAServerThatTrickles) {
  UrlOptions options = quick_retries();
  options.rate_window = 10ms;
  options.retries = 1;
  const Error error = error_for({.body = "abc", .hang_after = 1}, options);
  EXPECT_EQ(error.code(), ErrorCode::deadline_exceeded);
  EXPECT_THAT(error.message(),
              HasSubstr("bytes came in 0.01 s, where 1024 a second are the least); tried 2 times"));
  options.bytes_per_second_min = 0;
  options.stall_timeout = 50ms;
  EXPECT_THAT(error_for({.body = "abc", .hang_after = 1}, options).message(),
              HasSubstr("no byte came for 0.05 s"));
}

/// Its end was waited for.
TEST_F(UrlErrors, NeedOnlyTheBeginningOfWhatTheServerSays) {
  const auto begin = std::chrono::steady_clock::now();
  const HttpReply endless{.status = 404, .body = std::string(10'000, 'x'), .hang_after = 5'000};
  EXPECT_EQ(error_for(endless).code(), ErrorCode::not_found);
  HttpServer empty([&](const HttpRequestSeen&) {
    HttpReply reply = endless;
    reply.status = 416;
    reply.headers = {"Content-Range: bytes */0"};
    return reply;
  });
  read_through(empty.url("/a"));
  EXPECT_EQ(empty.requests(), 1U);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 20s);
}

TEST_F(UrlErrors, TellOfARedirectInACircle) {
  const Error error = error_for({.status = 302, .headers = {"Location: /a"}});
  EXPECT_EQ(error.code(), ErrorCode::failed_precondition);
  EXPECT_THAT(error.message(), HasSubstr("sends from one place to the next"));
  EXPECT_EQ(requests_, 1U + 8U) << "so many redirects are followed";
}

TEST_F(UrlErrors, TellOfARedirectToAnotherKindOfUrl) {
  const Error error = error_for({.status = 302, .headers = {"Location: file:///etc/passwd"}});
  EXPECT_EQ(error.code(), ErrorCode::failed_precondition);
  EXPECT_THAT(error.message(), HasSubstr("sends to a place that is not asked"));
}

TEST_F(UrlErrors, TellOfAHostThatIsNotThere) {
  // Such a name needs no name server, so none can be slow.
  const Error error = error_of([] { read_through("http://no..such-host/a"); });
  EXPECT_EQ(error.code(), ErrorCode::unavailable);
  EXPECT_THAT(error.message(), StartsWith("the host of no..such-host can't be found ("));
  EXPECT_THAT(error.message(), HasSubstr("check its name and the network"));
}

TEST_F(UrlErrors, TellOfAServerThatIsNotThere) {
  int port = 0;
  {
    port = HttpServer([](const HttpRequestSeen&) { return HttpReply(); }).port();
  }
  const Error error = error_of([&] { read_through(fmt::format("http://127.0.0.1:{}/a", port)); });
  EXPECT_EQ(error.code(), ErrorCode::unavailable);
  EXPECT_THAT(error.message(), StartsWith(fmt::format("127.0.0.1:{} can't be reached (", port)));
  EXPECT_THAT(error.message(), HasSubstr("; tried 6 times"));
}

TEST_F(UrlErrors, ComeAfterTheRecordsBeforeThem) {
  const std::string file = test::frame(std::vector<std::string>(100, std::string(10'000, 'r')));
  HttpServer server([&](const HttpRequestSeen& request) -> HttpReply {
    if (request.number > 0) return {.status = 404};
    return serve_bytes(request, file);
  });
  RecordReader reader(server.url("/a"), {.url = quick_retries()});
  std::size_t count = 0;
  const Error error = error_of([&] {
    Record record;
    while (reader.next(record)) ++count;
  });
  EXPECT_EQ(error.code(), ErrorCode::not_found);
  EXPECT_EQ(count, (256U << 10) / 10'016);
}

TEST_F(UrlErrors, MayBeTriedAgain) {
  std::atomic<bool> is_well{false};
  HttpServer server([&](const HttpRequestSeen& request) -> HttpReply {
    if (request.number > 0 && !is_well) return {.status = 500};
    return serve_bytes(request, content_);
  });
  ByteStream stream(server.url("/a"), Compression::none, quick_retries());
  std::string bytes(200'000, '\0');
  std::size_t got = stream.read(bytes);
  EXPECT_EQ(error_of([&] { stream.read(bytes); }).code(), ErrorCode::unavailable);
  is_well = true;
  got = 0;
  while (const std::size_t more = stream.read(bytes)) got += more;
  EXPECT_EQ(got, content_.size() - (256U << 10));
}

TEST_F(UrlErrors, OfCompressedFilesShowNoQuery) {
  const std::string gzip = test::deflate_with(std::string(1000, 'x'), 31);
  const std::string lz4 = test::lz4_file({std::string(1000, 'x')}, {1});
  const std::string zstd = test::zstd(std::string(1000, 'x'));
  for (const std::string& content : {gzip, lz4, zstd}) {
    HttpServer server([&](const HttpRequestSeen& seen) {
      return serve_bytes(seen, content.substr(0, content.size() / 2));
    });
    const Error error = error_of([&] {
      ByteStream stream(server.url("/a?X-Amz-Signature=secret"), Compression::automatic,
                        quick_retries());
      std::string bytes(100'000, '\0');
      while (stream.read(bytes) != 0) continue;
    });
    EXPECT_EQ(error.file(), server.url("/a?..."));
    EXPECT_THAT(error.what(), Not(HasSubstr("secret")));
  }
}

TEST_F(UrlErrors, AreNotTakenForAShortRecord) {
  const std::string file = test::frame(std::vector<std::string>(100, std::string(10'000, 'r')));
  RecordIndex index;
  for (int i = 0; i < 100; ++i) index.offsets.push_back(index.offsets.back() + 10'016);
  bool is_well = true;
  HttpServer server([&](const HttpRequestSeen& request) {
    HttpReply reply = serve_bytes(request, file);
    if (!is_well && request.number % 2 == 0) reply.cut_after = 50;
    if (!is_well && request.number % 2 == 1) return HttpReply{.status = 404};
    return reply;
  });
  const IndexedRecords records(server.url("/a"), index);
  EXPECT_EQ(records.read(50).bytes(), std::string(10'000, 'r'));
  is_well = false;
  EXPECT_EQ(error_of([&] { (void)records.read(51); }).code(), ErrorCode::not_found);
}

}  // namespace
}  // namespace infeed
