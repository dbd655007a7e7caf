#include "remote/http/http_failure.h"

#include <chrono>
#include <gtest/gtest.h>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "records/remote/aws/made_environment.h"
#include "records/remote/aws/metadata_service.h"
#include "records/remote/http/http_server.h"

namespace infeed::detail {
namespace {

TEST(HttpFailure, AHostThatWasFoundBeforeIsFoundAgain) {
  const UrlTarget target("http://host/a");
  const auto may_pass = [&](bool is_known) {
    const HttpFailure failure =
        failure_of_transport(target, CURLE_COULDNT_RESOLVE_HOST, "no answer", is_known);
    EXPECT_EQ(failure.code, ErrorCode::unavailable);
    EXPECT_EQ(failure.message,
              "the host of host can't be found (no answer); check its name and the network");
    return failure.may_pass;
  };
  EXPECT_FALSE(may_pass(false));
  EXPECT_TRUE(may_pass(true));
  EXPECT_FALSE(failure_of_transport(target, CURLE_PEER_FAILED_VERIFICATION, "", true).may_pass);
}

UrlTarget plain_target() { return UrlTarget("https://host:8080/a"); }
UrlTarget s3_target() {
  return UrlTarget("s3://bucket/key", test::environment_of({{"AWS_ACCESS_KEY_ID", "AKID"},
                                                            {"AWS_SECRET_ACCESS_KEY", "hidden"},
                                                            {"AWS_REGION", "eu-west-1"}}));
}

std::string error_body(const std::string& code, const std::string& message = "") {
  return "<Error><Code>" + code + "</Code>" +
         (message.empty() ? "" : "<Message>" + message + "</Message>") + "</Error>";
}

TEST(HttpFailure, StatusesThatMayPass) {
  const UrlTarget target = plain_target();
  for (const long status : {408L, 429L, 500L, 502L, 503L, 504L, 506L, 510L, 512L, 599L}) {
    const HttpFailure failure = failure_of_answer(target, {.status = status});
    EXPECT_TRUE(failure.may_pass) << status;
    EXPECT_EQ(failure.code, ErrorCode::unavailable);
    EXPECT_EQ(failure.message,
              "the server of host:8080 has trouble (" + std::to_string(status) + ")");
    EXPECT_EQ(failure.pause, std::nullopt);
  }
  for (const long status :
       {400L, 401L, 403L, 404L, 407L, 409L, 410L, 412L, 428L, 430L, 499L, 501L, 505L, 511L}) {
    EXPECT_FALSE(failure_of_answer(target, {.status = status}).may_pass) << status;
  }
  using namespace std::chrono_literals;
  EXPECT_EQ(failure_of_answer(target, {.status = 503, .retry_after = "7"}).pause, 7s);
  EXPECT_EQ(failure_of_answer(target, {.status = 503, .retry_after = "Monday"}).pause,
            std::nullopt);
  const std::string body = error_body("RequestTimeout");
  EXPECT_TRUE(failure_of_answer(target, {.status = 400, .body = body}).may_pass);
}

TEST(HttpFailure, AnswersAreExplained) {
  const UrlTarget target = plain_target();
  for (const auto& [status, code, text] : std::vector<std::tuple<long, ErrorCode, std::string>>{
           {401, ErrorCode::permission_denied,
            "the server refuses to give it (401); check the URL, and whether it needs a password "
            "in ~/.netrc or has expired"},
           {403, ErrorCode::permission_denied,
            "the server refuses to give it (403); check the URL, and whether it needs a password "
            "in ~/.netrc or has expired"},
           {404, ErrorCode::not_found,
            "there is no such object at host:8080 (404); check the name"},
           {410, ErrorCode::not_found,
            "there is no such object at host:8080 (410); check the name"},
           {412, ErrorCode::failed_precondition,
            "the object changed while it was read (412); read it again"},
           {301, ErrorCode::failed_precondition,
            "the server of host:8080 gives an answer that was not expected (301)"},
           {411, ErrorCode::failed_precondition,
            "the server of host:8080 gives an answer that was not expected (411)"}}) {
    const HttpFailure failure = failure_of_answer(target, {.status = status});
    EXPECT_EQ(failure.code, code) << status;
    EXPECT_EQ(failure.message, text);
  }
  const std::string body = error_body("Gone", "it is away");
  EXPECT_EQ(failure_of_answer(target, {.status = 410, .body = body}).message,
            "there is no such object at host:8080 (410 Gone: it is away); check the name");
  EXPECT_EQ(failure_of_answer(target, {.status = 301, .bucket_region = "us-west-2"}).code,
            ErrorCode::failed_precondition)
      << "only a store has regions";
}

TEST(HttpFailure, StoresAreAskedOtherwise) {
  const UrlTarget target = s3_target();
  const auto refusal = [&](const std::string& code, long status = 403) {
    const std::string body = error_body(code);
    const HttpFailure failure = failure_of_answer(target, {.status = status, .body = body});
    EXPECT_EQ(failure.code, ErrorCode::permission_denied);
    const std::string begin =
        "the store refuses the credentials AKID (" + std::to_string(status) + " " + code + "); ";
    EXPECT_TRUE(failure.message.starts_with(begin)) << failure.message;
    return failure.message.substr(begin.size());
  };
  EXPECT_EQ(refusal("AccessDenied"),
            "check that they may read it (s3:GetObject, for patterns s3:ListBucket)");
  EXPECT_EQ(refusal("SignatureDoesNotMatch"), "check AWS_SECRET_ACCESS_KEY and AWS_REGION");
  EXPECT_EQ(refusal("InvalidAccessKeyId"),
            "check AWS_ACCESS_KEY_ID and that it is meant for this endpoint");
  EXPECT_EQ(refusal("RequestTimeTooSkewed"), "check the clock of this machine");
  for (const char* const code : {"ExpiredToken", "InvalidToken"}) {
    EXPECT_EQ(refusal(code, 400), "get new ones: AWS_SESSION_TOKEN is not valid any more");
  }
  const std::string none = error_body("NoSuchBucket");
  const HttpFailure no_bucket = failure_of_answer(target, {.status = 404, .body = none});
  EXPECT_EQ(no_bucket.code, ErrorCode::not_found);
  EXPECT_EQ(no_bucket.message,
            "there is no bucket 'bucket' at bucket.s3.eu-west-1.amazonaws.com (404 NoSuchBucket); "
            "check its name, AWS_REGION and AWS_ENDPOINT_URL");
}

TEST(HttpFailure, LentCredentialsAreNotForTheUserToRenew) {
  const test::HttpServer service([](const test::HttpRequestSeen&) {
    return test::HttpReply{.body = test::lent_json("LENT")};
  });
  const UrlTarget target(
      "s3://bucket/key",
      test::environment_of({{"HOME", "/nowhere"},
                            {"AWS_REGION", "eu-west-1"},
                            {"AWS_CONTAINER_CREDENTIALS_FULL_URI", service.url("/c")}}));
  const std::string body = error_body("ExpiredToken");
  EXPECT_EQ(failure_of_answer(target, {.status = 400, .body = body}).message,
            "the store refuses the credentials LENT (400 ExpiredToken); they were lent and should "
            "hold still; check the clock of this machine");
}

TEST(HttpFailure, ABucketInAnotherRegionIsNamed) {
  const UrlTarget target = s3_target();
  const auto message = [&](const HttpAnswer& answer) {
    return failure_of_answer(target, answer).message;
  };
  for (const long status : {301L, 307L, 400L}) {
    const std::string number = std::to_string(status);
    const std::string text = "the bucket 'bucket' is in region us-west-2, asked was eu-west-1 (" +
                             number + "); set AWS_REGION=us-west-2";
    EXPECT_EQ(message({.status = status, .bucket_region = "us-west-2"}), text);
    EXPECT_EQ(message({.status = status, .body = "<Error><Region>us-west-2</Region></Error>"}),
              text);
    const std::string other =
        "the server of bucket.s3.eu-west-1.amazonaws.com gives an answer that "
        "was not expected (" +
        number + ")";
    EXPECT_EQ(message({.status = status}), other);
    EXPECT_EQ(message({.status = status, .bucket_region = "eu-west-1"}), other);
  }
  EXPECT_EQ(message({.status = 404, .bucket_region = "us-west-2"}),
            "there is no such object at bucket.s3.eu-west-1.amazonaws.com (404); check the name");
}

TEST(HttpFailure, ConnectionsAreExplained) {
  const UrlTarget target = plain_target();
  const auto failure = [&](CURLcode code, bool may_pass) {
    const HttpFailure found = failure_of_transport(target, code, "why", false);
    EXPECT_EQ(found.may_pass, may_pass) << code;
    return std::pair(found.code, found.message);
  };
  using enum ErrorCode;
  EXPECT_EQ(failure(CURLE_COULDNT_CONNECT, true),
            std::pair(unavailable, std::string("host:8080 can't be reached (why)")));
  EXPECT_EQ(failure(CURLE_OPERATION_TIMEDOUT, true),
            std::pair(deadline_exceeded, std::string("host:8080 is too slow (why)")));
  for (const CURLcode code :
       {CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_CACERT_BADFILE, CURLE_SSL_ISSUER_ERROR}) {
    EXPECT_EQ(failure(code, false),
              std::pair(failed_precondition,
                        std::string("the TLS certificate of host:8080 is refused (why); name the "
                                    "file of its authority in UrlOptions::ca_file or SSL_CERT_FILE "
                                    "if it is your own")));
  }
  EXPECT_EQ(
      failure(CURLE_TOO_MANY_REDIRECTS, false),
      std::pair(failed_precondition,
                std::string("the server of host:8080 sends from one place to the next (why)")));
  EXPECT_EQ(
      failure(CURLE_UNSUPPORTED_PROTOCOL, false),
      std::pair(failed_precondition,
                std::string("the server of host:8080 sends to a place that is not asked, such "
                            "as from https to http, or does not speak HTTP (why)")));
  for (const CURLcode code :
       {CURLE_PARTIAL_FILE, CURLE_RECV_ERROR, CURLE_SEND_ERROR, CURLE_GOT_NOTHING,
        CURLE_SSL_CONNECT_ERROR, CURLE_WEIRD_SERVER_REPLY}) {
    EXPECT_EQ(failure(code, true),
              std::pair(unavailable, std::string("the connection to host:8080 was cut (why)")));
  }
  EXPECT_EQ(failure(CURLE_READ_ERROR, false),
            std::pair(unavailable, std::string("the request to host:8080 failed (why)")));
  EXPECT_EQ(failure_of_transport(target, CURLE_READ_ERROR, "", false).message,
            std::string("the request to host:8080 failed (") +
                ::curl_easy_strerror(CURLE_READ_ERROR) + ")")
      << "where libcurl says no more";
}

}  // namespace
}  // namespace infeed::detail
