#include <fmt/format.h>
#include <stop_token>
#include <thread>

#include <infeed/records/byte_stream.h>
#include <infeed/records/file.h>
#include <infeed/records/files.h>

#include "records/remote/aws/s3_environment.h"
#include "records/remote/http/http_server.h"
#include "thrown_error.h"

namespace infeed {
namespace {

using test::HttpReply;
using test::HttpRequestSeen;
using test::HttpServer;
using test::S3Environment;
using test::serve_bytes;

TEST(UrlFiles, TakeAWebAddressAsItIs) {
  EXPECT_THAT(match_files("https://host/a.tfrecord"), ElementsAre("https://host/a.tfrecord"));
  EXPECT_THAT(match_files("https://host/a?version=[2]*"),
              ElementsAre("https://host/a?version=[2]*"));
  EXPECT_THAT(match_files({"http://host/b", "http://host/a", "http://host/b"}),
              ElementsAre("http://host/b", "http://host/a"));
}

TEST(UrlFiles, CountTheShardsOfAWebServer) {
  EXPECT_THAT(match_files("https://host/x/train-*-of-00003.tfrecord.gz"),
              ElementsAre("https://host/x/train-00000-of-00003.tfrecord.gz",
                          "https://host/x/train-00001-of-00003.tfrecord.gz",
                          "https://host/x/train-00002-of-00003.tfrecord.gz"));
  EXPECT_THAT(
      match_files("https://host/t-????"
                  "?"
                  "-of-00002?v=1"),
      ElementsAre("https://host/t-00000-of-00002?v=1", "https://host/t-00001-of-00002?v=1"));
}

TEST(UrlFiles, CountShardsInAsManyDigitsAsThePatternHas) {
  EXPECT_THAT(
      match_files("https://host/t-*-of-000002.gz"),
      ElementsAre("https://host/t-000000-of-000002.gz", "https://host/t-000001-of-000002.gz"));
  const std::string six(6, '?');
  EXPECT_THAT(match_files("https://host/t-" + six + "-of-00001"),
              ElementsAre("https://host/t-000000-of-00001"));
  EXPECT_THAT(match_files("https://host/t-" + six.substr(1) + "-of-0000001"),
              ElementsAre("https://host/t-00000-of-0000001"));
}

TEST(UrlFiles, CountNoShardsWithoutFiveDigits) {
  const std::string five(5, '?');
  for (const std::string& name :
       {"t-" + std::string(4, '?') + "-of-00002", "t-" + five + "x-of-00002", "t-" + five + "-of-2",
        "t-" + five + "-of-x", "t-" + five + "-o-00002"}) {
    EXPECT_THAT(match_files("https://host/" + name), ElementsAre("https://host/" + name));
  }
}

TEST(UrlFiles, CannotListAWebServer) {
  for (const std::string pattern :
       {"https://host/*.tfrecord", "https://host/t-*-of-3", "https://host/t-*-of-00000",
        "https://host/t-*-of-00002/a", "https://host/t*-of-00002", "https://host/t-**-of-00002"}) {
    const Error error = error_of([&] { match_files(pattern); });
    EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
    EXPECT_EQ(error.message(),
              "a web server can't be asked for a list of its files, so '*' can only stand for the "
              "number of a shard, as in train-*-of-00016.tfrecord; else name each file");
    EXPECT_EQ(error.file(), pattern);
  }
}

std::string listing(const std::vector<std::string>& keys, const std::string& next_token) {
  std::string xml =
      "<?xml version=\"1.0\"?><ListBucketResult xmlns=\"http://s3/\"><Name>b</Name>"
      "<EncodingType>url</EncodingType>";
  for (const std::string& key : keys) {
    xml += fmt::format("<Contents><Key>{}</Key><Size>1</Size></Contents>", key);
  }
  if (!next_token.empty()) {
    xml += fmt::format("<NextContinuationToken>{}</NextContinuationToken>", next_token);
  }
  return xml + "</ListBucketResult>";
}

TEST(UrlFiles, AreFoundInABucketPageByPage) {
  HttpServer server([](const HttpRequestSeen& request) -> HttpReply {
    if (request.number == 0) return {.status = 500};  // is tried again
    if (request.number == 1) {
      return {.body = listing({"data/t-2.tfrecord", "data/t-10.tfrecord", "data/t/"}, "a/b=")};
    }
    return {.body = listing({"data/t-1.tfrecord", "data/t-1.tfrecord.index",
                             "data/t+%C3%BC.tfrecord", "data/t-.x/y.tfrecord"},
                            "")};
  });
  const S3Environment environment(server.url(""));
  EXPECT_THAT(match_files("s3://bucket/data/t*.tfrecord"),
              ElementsAre("s3://bucket/data/t \xC3\xBC.tfrecord", "s3://bucket/data/t-1.tfrecord",
                          "s3://bucket/data/t-10.tfrecord", "s3://bucket/data/t-2.tfrecord"));
  const auto seen = server.seen();
  ASSERT_EQ(seen.size(), 3U);
  EXPECT_EQ(seen[1].path, "/bucket?delimiter=%2F&encoding-type=url&list-type=2&prefix=data%2Ft");
  EXPECT_EQ(seen[2].path,
            "/bucket?continuation-token=a%2Fb%3D&delimiter=%2F&encoding-type=url&list-type=2&"
            "prefix=data%2Ft");
  EXPECT_THAT(seen[1].header("authorization"), HasSubstr("Credential=AKIDTEST/"));
}

/// It was asked for ever.
TEST(UrlFiles, AListThatRepeatsATokenEnds) {
  HttpServer server([](const HttpRequestSeen& request) {
    return HttpReply{.body = listing({"data/a"}, request.number % 2 == 0 ? "one" : "two")};
  });
  const S3Environment environment(server.url(""));
  EXPECT_EQ(error_of([] { match_files("s3://bucket/data/*"); }).message(),
            fmt::format("the list that 127.0.0.1:{} gives doesn't end: it says twice that it goes "
                        "on at the same place",
                        server.port()));
  EXPECT_EQ(server.seen().size(), 3U);
}

/// An answer that doesn't say its length ends without an error where it is cut.
TEST(UrlFiles, AListThatIsCutIsAskedForAgain) {
  HttpServer server([](const HttpRequestSeen& request) {
    const std::string xml = listing({"data/a", "data/b"}, "");
    return HttpReply{.body = request.number == 0 ? xml.substr(0, xml.rfind("<Contents>")) : xml};
  });
  const S3Environment environment(server.url(""));
  EXPECT_THAT(match_files("s3://bucket/data/*"),
              ElementsAre("s3://bucket/data/a", "s3://bucket/data/b"));
  EXPECT_EQ(server.requests(), 2U);
}

TEST(UrlFiles, TheBeginningOfAListIsNotTakenForTheWhole) {
  HttpServer server([](const HttpRequestSeen&) {
    return HttpReply{.body =
                         "<ListBucketResult><IsTruncated>true</IsTruncated>"
                         "<NextMarker>data/a</NextMarker>"
                         "<Contents><Key>data/a</Key></Contents></ListBucketResult>"};
  });
  const S3Environment environment(server.url(""));
  const Error error = error_of([] { match_files("s3://bucket/data/*"); });
  EXPECT_EQ(error.code(), ErrorCode::failed_precondition);
  EXPECT_EQ(error.message(),
            fmt::format("127.0.0.1:{} gives only the beginning of its list, and no "
                        "NextContinuationToken to go on with: it lists as version 1 of S3's lists "
                        "does, where version 2 was asked for; name each file, or check "
                        "AWS_ENDPOINT_URL",
                        server.port()));
}

TEST(UrlFiles, AListEndsWhereItSaysSo) {
  for (const std::string end :
       {"<NextContinuationToken></NextContinuationToken>",
        "<IsTruncated>false</IsTruncated><NextContinuationToken>x</NextContinuationToken>"}) {
    HttpServer server([&](const HttpRequestSeen&) {
      return HttpReply{.body = "<ListBucketResult>" + end +
                               "<Contents><Key>data/a</Key></Contents></ListBucketResult>"};
    });
    const S3Environment environment(server.url(""));
    EXPECT_THAT(match_files("s3://bucket/data/*"), ElementsAre("s3://bucket/data/a"));
    EXPECT_EQ(server.requests(), 1U);
  }
}

TEST(UrlFiles, ShardsAreNotCountedToBillions) {
  EXPECT_EQ(error_of([] { match_files("https://host/x-*-of-4294967295"); }).message(),
            "the pattern stands for 4294967295 shards, but 99999 are the limit; is the number "
            "behind '-of-' right?");
  EXPECT_EQ(error_of([] { match_files("https://host/x-*-of-100000"); }).code(),
            ErrorCode::invalid_argument);
  EXPECT_EQ(match_files("https://host/x-*-of-99999").size(), 99'999U);
}

/// 3 GB were taken before the first byte came.
TEST(UrlFiles, WhatAServerClaimsTakesNoMemoryBeforeItComes) {
  HttpServer server([](const HttpRequestSeen& request) {
    const auto [first, last] = request.range.value_or(std::pair<std::uint64_t, std::uint64_t>());
    if (first > 0) return HttpReply{.status = 404};
    return HttpReply{.status = 206,
                     .headers = {fmt::format("Content-Range: bytes {}-{}/{}", first, last,
                                             std::uint64_t{1} << 50)},
                     .body = std::string(static_cast<std::size_t>(last - first + 1), 'x')};
  });
  EXPECT_EQ(error_of([&] { read_file(server.url("/train.manifest.json")); }).code(),
            ErrorCode::not_found);
}

/// Ctrl-C didn't end waiting for a pipeline's JSON, though that for its data.
TEST(UrlFiles, AStopEndsWaitingForAServer) {
  HttpServer server([](const HttpRequestSeen& request) {
    HttpReply reply = serve_bytes(request, "{}");
    reply.hang_after = 0;
    return reply;
  });
  std::stop_source stop;
  const std::jthread stopper([&] {
    while (server.requests() == 0) std::this_thread::yield();
    stop.request_stop();
  });
  EXPECT_EQ(error_of([&] { read_stream(server.url("/run.json"), stop.get_token()); }).code(),
            ErrorCode::cancelled);
}

TEST(UrlFiles, OfABucketWithoutWildcardAreNotLookedUp) {
  EXPECT_THAT(match_files("s3://bucket/key"), ElementsAre("s3://bucket/key"));
}

TEST(UrlFiles, AreMatchedByAnyWildcard) {
  HttpServer server([](const HttpRequestSeen&) {
    return HttpReply{.body = listing({"t-1", "t-12", "t-2", "t*", "t-/1"}, "")};
  });
  const S3Environment environment(server.url(""));
  const std::string list = "/bucket?encoding-type=url&list-type=2&prefix=";
  const std::string flat_list = "/bucket?delimiter=%2F&encoding-type=url&list-type=2&prefix=";
  EXPECT_THAT(match_files("s3://bucket/t-?"), ElementsAre("s3://bucket/t-1", "s3://bucket/t-2"));
  EXPECT_EQ(server.seen().back().path, flat_list + "t-");
  EXPECT_THAT(match_files("s3://bucket/t-[2-9]"), ElementsAre("s3://bucket/t-2"));
  EXPECT_EQ(server.seen().back().path, flat_list + "t-");
  EXPECT_THAT(match_files("s3://bucket/t\\*"), ElementsAre("s3://bucket/t*"));
  EXPECT_EQ(server.seen().back().path, flat_list + "t");
  EXPECT_THAT(match_files("s3://bucket/*/1"), ElementsAre("s3://bucket/t-/1"));
  EXPECT_EQ(server.seen().back().path, list);
  EXPECT_THAT(match_files("s3://bucket/t-/?"), ElementsAre("s3://bucket/t-/1"));
  EXPECT_EQ(server.seen().back().path, flat_list + "t-%2F");
}

TEST(UrlFiles, SayWhatABucketHoldsInstead) {
  std::vector<std::string> keys = {"train/a.txt", "train/b.txt"};
  HttpServer server([&](const HttpRequestSeen&) { return HttpReply{.body = listing(keys, "")}; });
  const S3Environment environment(server.url(""));
  const auto text = [] {
    const Error error = error_of([] { match_files("s3://bucket/train/*.tfrecord"); });
    EXPECT_EQ(error.code(), ErrorCode::not_found);
    return error.message();
  };
  EXPECT_EQ(text(),
            "no object matches 's3://bucket/train/*.tfrecord': 2 other names begin with "
            "'s3://bucket/train/', such as 's3://bucket/train/a.txt'");
  keys.pop_back();
  EXPECT_EQ(text(),
            "no object matches 's3://bucket/train/*.tfrecord': 1 other name begins with "
            "'s3://bucket/train/', such as 's3://bucket/train/a.txt'");
  keys.clear();
  EXPECT_EQ(text(),
            "no object matches 's3://bucket/train/*.tfrecord': no name begins with "
            "'s3://bucket/train/'");
}

TEST(UrlFiles, TellOfAServerThatIsNoStore) {
  HttpServer server([](const HttpRequestSeen&) { return HttpReply{.body = "<html>hello</html>"}; });
  const S3Environment environment(server.url(""));
  EXPECT_EQ(error_of([] { match_files("s3://bucket/*"); }).message(),
            fmt::format("127.0.0.1:{} does not answer a request for a list as S3 does; check "
                        "AWS_ENDPOINT_URL",
                        server.port()));
}

TEST(UrlFiles, AreSignedWhenTheyAreRead) {
  HttpServer server(
      [](const HttpRequestSeen& request) { return serve_bytes(request, "some bytes"); });
  const S3Environment environment(server.url("/base"));
  ::setenv("AWS_SESSION_TOKEN", "a-token", 1);
  ByteStream stream("s3://bucket/a b/c.txt", Compression::none);
  std::string bytes(100, '\0');
  bytes.resize(stream.read(bytes));
  EXPECT_EQ(bytes, "some bytes");
  const HttpRequestSeen request = server.seen().at(0);
  EXPECT_EQ(request.path, "/base/bucket/a%20b/c.txt");
  EXPECT_EQ(request.header("x-amz-security-token"), "a-token");
  EXPECT_THAT(request.header("authorization"),
              HasSubstr("SignedHeaders=host;x-amz-content-sha256;x-amz-date;x-amz-security-token, "
                        "Signature="));
}

}  // namespace
}  // namespace infeed
