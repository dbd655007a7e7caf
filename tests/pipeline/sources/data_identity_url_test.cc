#include <cstdlib>
#include <gtest/gtest.h>
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

}  // namespace
}  // namespace infeed::test
