#include <algorithm>
#include <fmt/format.h>
#include <thread>

#include <infeed/infeed.h>

#include "records/remote/aws/metadata_service.h"
#include "records/remote/aws/s3_environment.h"
#include "records/remote/http/http_server.h"
#include "records/remote/http/quick_retries.h"
#include "records/tfrecord/framed.h"
#include "thrown_error.h"

namespace infeed::test {
namespace {

/// Serves shards of 100 records that hold their own names.
std::string shard_of(const std::string& path) {
  std::vector<std::string> payloads;
  for (int i = 0; i < 100; ++i) payloads.push_back(fmt::format("{} {}", path, i));
  return test::frame(payloads);
}

class RecordsByUrl : public ::testing::Test {
 protected:
  RecordsByUrl() { ::setenv("no_proxy", "*", 1); }
};

TEST_F(RecordsByUrl, AreThoseOfTheShards) {
  HttpServer server([](const HttpRequestSeen& request) {
    return test::serve_bytes(request, shard_of(request.path));
  });
  std::size_t count = 0;
  auto iterator = records(server.url("/t-*-of-00003")).iterate();
  while (const auto record = iterator.next()) {
    EXPECT_EQ(record->bytes(), fmt::format("/t-0000{}-of-00003 {}", count / 100, count % 100));
    ++count;
  }
  EXPECT_EQ(count, 300U);
}

TEST_F(RecordsByUrl, AreReadFromSeveralAtOnce) {
  HttpServer server([](const HttpRequestSeen& request) {
    return test::serve_bytes(request, shard_of(request.path));
  });
  const auto dataset =
      files(server.url("/t-*-of-00004")) |
      interleave([](const std::string& file) { return records(std::vector<std::string>{file}); },
                 {.cycle_length = 4, .parallelism = 4}) |
      prefetch();
  auto iterator = dataset.iterate();
  std::vector<std::string> seen;
  while (const auto record = iterator.next()) seen.emplace_back(record->bytes());
  std::sort(seen.begin(), seen.end());
  EXPECT_EQ(seen.size(), 400U);
  EXPECT_EQ(std::unique(seen.begin(), seen.end()), seen.end());
}

TEST_F(RecordsByUrl, ShareTheCredentialsThatTheMachineLends) {
  HttpServer server([](const HttpRequestSeen& request) {
    return request.path.starts_with("/latest/")
               ? test::metadata(request, test::lent_json("id"))
               : test::serve_bytes(request, shard_of(request.path));
  });
  test::S3Environment environment(server.url(""), test::S3Environment::Credentials::none);
  environment.set("AWS_EC2_METADATA_DISABLED", "");
  environment.set("AWS_EC2_METADATA_SERVICE_ENDPOINT", server.url(""));
  std::vector<std::string> shards;
  for (int i = 0; i < 4; ++i) shards.push_back(fmt::format("s3://bucket/{}", i));
  auto iterator =
      (files(shards) |
       interleave([](const std::string& file) { return records(std::vector<std::string>{file}); },
                  {.cycle_length = 2, .parallelism = 2}))
          .iterate();
  std::size_t count = 0;
  while (iterator.next()) ++count;
  EXPECT_EQ(count, 400U);
  const std::vector<HttpRequestSeen> seen = server.seen();
  EXPECT_EQ(std::count_if(seen.begin(), seen.end(),
                          [](const auto& request) { return request.path.ends_with("/my-role"); }),
            1);
}

TEST_F(RecordsByUrl, TakeTheirErrorsPlace) {
  HttpServer server([](const HttpRequestSeen& request) -> HttpReply {
    if (request.path == "/b") return {.status = 404};
    return test::serve_bytes(request, shard_of(request.path));
  });
  auto iterator = records({server.url("/a"), server.url("/b"), server.url("/c")},
                          {.url = test::quick_retries()})
                      .iterate();
  std::size_t count = 0;
  std::size_t errors = 0;
  for (bool is_over = false; !is_over;) {
    try {
      is_over = !iterator.next().has_value();
      count += is_over ? 0 : 1;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::not_found);
      EXPECT_EQ(error.file(), server.url("/b"));
      ++errors;
    }
  }
  EXPECT_EQ(count, 200U);
  EXPECT_EQ(errors, 1U);
}

TEST_F(RecordsByUrl, AreGivenUpWhenTheIteratorIsCancelled) {
  HttpServer server(
      [](const HttpRequestSeen&) { return HttpReply{.body = "never", .hang_after = 0}; });
  auto iterator = records(server.url("/a")).iterate();
  const std::jthread canceller([&] {
    while (server.requests() == 0) std::this_thread::yield();
    iterator.cancel();
  });
  EXPECT_EQ(error_of([&] { (void)iterator.next(); }).code(), ErrorCode::cancelled);
}

TEST_F(RecordsByUrl, AUsersOwnStopIsTerminal) {
  HttpServer server(
      [](const HttpRequestSeen&) { return HttpReply{.body = "never", .hang_after = 0}; });
  std::stop_source stop;
  auto iterator =
      (records({server.url("/a"), server.url("/b")}, {.url = {.stop = stop.get_token()}}) |
       skip_errors())
          .iterate();
  const std::jthread stopper([&] {
    while (server.requests() == 0) std::this_thread::yield();
    stop.request_stop();
  });
  const Error error = error_of([&] { (void)iterator.next(); });
  EXPECT_EQ(error.code(), ErrorCode::cancelled);
  EXPECT_TRUE(error.is_terminal());
}

}  // namespace
}  // namespace infeed::test
