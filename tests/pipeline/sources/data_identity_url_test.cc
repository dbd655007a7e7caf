#include <atomic>
#include <chrono>
#include <cstdlib>
#include <string>

#include <infeed/pipeline/lines.h>
#include <infeed/pipeline/map.h>

#include "pipeline/suite/stream.h"
#include "records/remote/http/http_server.h"
#include "records/remote/http/quick_retries.h"
#include "thrown_error.h"

namespace infeed::test {
namespace {

TEST(DataIdentitiesByUrl, TheEtagCounts) {
  ::setenv("no_proxy", "*", 1);
  std::string etag = "\"one\"";
  const HttpServer server(
      [&](const HttpRequestSeen& request) { return serve_bytes(request, "1\n2\n", etag); });
  const auto make = [&](const std::string& path) {
    return lines({server.url(path)}, {.url = quick_retries()}) |
           map([](const Record& line) { return std::string(line.bytes()); });
  };
  auto iterator = make("/a/t.txt").iterate();
  iterator.next();
  const Checkpoint checkpoint = iterator.checkpoint();
  auto rest = make("/b/t.txt").iterate({.resume = checkpoint});
  EXPECT_EQ(rest.next(), "2");
  EXPECT_EQ(rest.next(), std::nullopt);
  etag = "\"two\"";
  EXPECT_EQ(error_of([&] { make("/a/t.txt").iterate({.resume = checkpoint}); }).code(),
            ErrorCode::failed_precondition);
}

/// A server that was too slow then counted as one without the file, so that nothing could go on from
/// the checkpoint.
TEST(DataIdentitiesByUrl, AServerThatIsTooSlowSaysNothing) {
  ::setenv("no_proxy", "*", 1);
  std::atomic<bool> is_slow{false};
  const HttpServer server([&](const HttpRequestSeen& request) {
    HttpReply reply = serve_bytes(request, "1\n2\n");
    if (is_slow) reply.hang_after = 0;
    return reply;
  });
  UrlOptions url = quick_retries();
  url.retries = 0;
  url.stall_timeout = std::chrono::milliseconds(200);
  auto iterator = lines({server.url("/t.txt")}, {.url = url}).iterate();
  iterator.next();
  is_slow = true;
  EXPECT_EQ(error_of([&] { iterator.checkpoint(); }).code(), ErrorCode::deadline_exceeded);
  is_slow = false;
  const Checkpoint checkpoint = iterator.checkpoint();
  auto rest = lines({server.url("/t.txt")}, {.url = url}).iterate({.resume = checkpoint});
  EXPECT_EQ(rest.next()->bytes(), "2");
}

}  // namespace
}  // namespace infeed::test
