#include "remote/aws/service_request.h"

#include <chrono>
#include <cstdlib>
#include <optional>
#include <string>

#include "infeed/error.h"
#include "records/remote/http/http_server.h"
#include "temporary_folder.h"
#include "thrown_error.h"

namespace infeed::detail {
namespace {

using test::HttpReply;
using test::HttpRequestSeen;
using test::HttpServer;
using namespace std::chrono_literals;

/// So long that a busy machine answers within it.
ServiceRequest patient(const std::string& url) {
  return {.url = url, .connect_timeout = 20s, .timeout = 20s};
}

TEST(ServiceRequest, IsSentAsItIsAsked) {
  const HttpServer server([](const HttpRequestSeen&) { return HttpReply{.body = "answer"}; });
  ServiceRequest request = patient(server.url("/a"));
  EXPECT_EQ(ask_service(request).text, "answer");
  request.method = "PUT";
  request.headers = {"X-One: 1", "X-Two: 2"};
  ask_service(request);
  request.method = "POST";
  request.body = std::string("b\0dy", 4);
  ask_service(request);
  const auto seen = server.seen();
  ASSERT_EQ(seen.size(), 3U);
  EXPECT_EQ(seen[0].method, "GET");
  EXPECT_EQ(seen[0].path, "/a");
  EXPECT_EQ(seen[1].method, "PUT");
  EXPECT_EQ(seen[1].header("x-one"), "1");
  EXPECT_EQ(seen[1].header("x-two"), "2");
  EXPECT_EQ(seen[2].method, "POST");
  EXPECT_EQ(seen[2].body, request.body);
}

TEST(ServiceRequest, AnyStatusThatDoesNotPassIsAnAnswer) {
  for (const int status : {200, 204, 400, 404, 428, 430, 499}) {
    const HttpServer server([&](const HttpRequestSeen&) { return HttpReply{.status = status}; });
    EXPECT_EQ(ask_service(patient(server.url("/"))).status, status);
    EXPECT_EQ(server.requests(), 1U);
  }
}

TEST(ServiceRequest, TroubleIsMetByThreeTries) {
  for (const int status : {429, 500}) {
    const HttpServer server([&](const HttpRequestSeen&) { return HttpReply{.status = status}; });
    const Error error = error_of([&] { ask_service(patient(server.url("/x?secret"))); });
    EXPECT_EQ(error.code(), ErrorCode::unavailable);
    EXPECT_EQ(error.message(),
              server.url("/x?... does not answer (") + std::to_string(status) + ")");
    EXPECT_EQ(server.requests(), 3U);
  }
  const HttpServer cut([](const HttpRequestSeen& request) {
    if (request.number == 2) return HttpReply{.body = "answer"};
    return HttpReply{.body = "half", .cut_after = 2};
  });
  EXPECT_EQ(ask_service(patient(cut.url("/"))).text, "answer") << "without the halves before it";
}

TEST(ServiceRequest, IsNotTriedAgainBehindItsTime) {
  const HttpServer server([](const HttpRequestSeen&) { return HttpReply{.status = 503}; });
  ServiceRequest request = patient(server.url("/"));
  request.timeout = 50ms;  // shorter than the pause
  EXPECT_EQ(error_of([&] { ask_service(request); }).code(), ErrorCode::unavailable);
  EXPECT_LE(server.requests(), 1U);
}

TEST(ServiceRequest, AnAnswerThatIsFarTooLongIsNone) {
  std::string text(64 << 10, 'x');
  const HttpServer server([&](const HttpRequestSeen&) { return HttpReply{.body = text}; });
  EXPECT_EQ(ask_service(patient(server.url("/"))).text, text);
  text += 'x';
  EXPECT_EQ(error_of([&] { ask_service(patient(server.url("/"))); }).code(),
            ErrorCode::unavailable);
  EXPECT_EQ(server.requests(), 2U) << "it would be as long again";
}

/// Sets a variable while it lives.
class SetVariable {
 public:
  SetVariable(const char* name, const std::string& value) : name_(name) {
    if (const char* const before = std::getenv(name)) before_ = before;
    ::setenv(name, value.c_str(), 1);
  }
  ~SetVariable() { before_ ? ::setenv(name_, before_->c_str(), 1) : ::unsetenv(name_); }
  SetVariable(const SetVariable&) = delete;
  SetVariable& operator=(const SetVariable&) = delete;

 private:
  const char* const name_;
  std::optional<std::string> before_;
};

TEST(ServiceRequest, GoesByAProxyOnlyWhereItMay) {
  const HttpServer proxy([](const HttpRequestSeen&) { return HttpReply{.body = "by proxy"}; });
  const HttpServer service([](const HttpRequestSeen&) { return HttpReply{.body = "direct"}; });
  const SetVariable names_proxy("http_proxy", proxy.url(""));
  const SetVariable excepts_none("no_proxy", "");
  const SetVariable excepts_none_either("NO_PROXY", "");
  ServiceRequest request = patient(service.url("/a"));
  EXPECT_EQ(ask_service(request).text, "direct");
  request.way = ServiceRequest::Way::by_proxy;
  EXPECT_EQ(ask_service(request).text, "by proxy");
  ASSERT_EQ(proxy.requests(), 1U);
  EXPECT_EQ(proxy.seen()[0].path, service.url("/a"));
}

/// Its address comes from a variable, which must not choose a file.
TEST(ServiceRequest, AsksByHttpAlone) {
  const TemporaryFolder folder;
  const Error error = error_of([&] { ask_service({.url = "file://" + folder.write("f", "x")}); });
  EXPECT_EQ(error.code(), ErrorCode::unavailable);
  EXPECT_THAT(error.message(), HasSubstr(" does not answer ("));
}

TEST(ServiceRequest, AServiceMayBeMissing) {
  const std::string gone = HttpServer([](const HttpRequestSeen&) { return HttpReply(); }).url("/c");
  ServiceRequest request = patient(gone);
  request.may_be_missing = true;
  const Error missing = error_of([&] { ask_service(request); });
  EXPECT_EQ(missing.code(), ErrorCode::not_found);
  EXPECT_THAT(missing.message(), StartsWith(gone + " does not answer ("));
  const HttpServer busy([](const HttpRequestSeen&) { return HttpReply{.status = 503}; });
  request.url = busy.url("/");
  EXPECT_EQ(error_of([&] { ask_service(request); }).code(), ErrorCode::unavailable)
      << "it is there";
}

}  // namespace
}  // namespace infeed::detail
