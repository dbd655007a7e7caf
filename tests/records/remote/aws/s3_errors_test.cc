#include <fmt/format.h>

#include "records/remote/aws/s3_environment.h"
#include "records/remote/http/http_server.h"
#include "records/remote/http/read_through.h"
#include "thrown_error.h"

namespace infeed {
namespace {

using test::HttpReply;
using test::HttpRequestSeen;
using test::HttpServer;
using test::read_through;
using test::S3Environment;

HttpReply s3_error(int status, const std::string& code, const std::string& message) {
  return {.status = status,
          .body = "<?xml version=\"1.0\"?><Error><Code>" + code + "</Code><Message>" + message +
                  "</Message></Error>"};
}

class S3Errors : public ::testing::Test {
 protected:
  S3Errors() { ::setenv("no_proxy", "*", 1); }

  Error s3_error_for(const HttpReply& reply) {
    HttpServer server([&](const HttpRequestSeen&) { return reply; });
    const S3Environment environment(server.url(""));
    const Error error = error_of([&] { read_through("s3://bucket/key"); });
    EXPECT_EQ(error.file(), "s3://bucket/key");
    host_ = fmt::format("127.0.0.1:{}", server.port());
    return error;
  }

  std::string host_;
};

TEST_F(S3Errors, RepeatWhatTheStoreSays) {
  const Error refused = s3_error_for(s3_error(403, "AccessDenied", "No &amp; no"));
  EXPECT_EQ(refused.code(), ErrorCode::permission_denied);
  EXPECT_EQ(refused.message(),
            "the store refuses the credentials AKIDTEST (403 AccessDenied: No & no); check that "
            "they may read it (s3:GetObject, for patterns s3:ListBucket)");
  EXPECT_THAT(s3_error_for(s3_error(403, "SignatureDoesNotMatch", "")).message(),
              HasSubstr("check AWS_SECRET_ACCESS_KEY and AWS_REGION"));
  EXPECT_THAT(s3_error_for(s3_error(403, "RequestTimeTooSkewed", "")).message(),
              HasSubstr("check the clock of this machine"));
  EXPECT_THAT(s3_error_for(s3_error(400, "ExpiredToken", "")).message(),
              HasSubstr("AWS_SESSION_TOKEN is not valid any more"));
  const Error missing = s3_error_for(s3_error(404, "NoSuchKey", "gone"));
  EXPECT_EQ(missing.code(), ErrorCode::not_found);
  EXPECT_EQ(missing.message(),
            "there is no such object at " + host_ + " (404 NoSuchKey: gone); check the name");
  const Error no_bucket = s3_error_for(s3_error(404, "NoSuchBucket", "gone"));
  EXPECT_EQ(no_bucket.message(),
            "there is no bucket 'bucket' at " + host_ +
                " (404 NoSuchBucket: gone); check its name, AWS_REGION and AWS_ENDPOINT_URL");
  EXPECT_THAT(s3_error_for(s3_error(503, "SlowDown", "Reduce your rate")).message(),
              HasSubstr("has trouble (503 SlowDown: Reduce your rate); tried 6 times"));
}

TEST_F(S3Errors, PrintNothingThatATerminalActsOn) {
  const Error error = s3_error_for(s3_error(403, "\x1b[2J",
                                            "\xc2\x9b"
                                            "1m"));
  EXPECT_THAT(error.what(), HasSubstr("(403 \\x1b[2J: \\u009b1m)"));
}

TEST_F(S3Errors, NameTheRegionOfTheBucket) {
  HttpReply reply = s3_error(301, "PermanentRedirect", "elsewhere");
  reply.headers = {"x-amz-bucket-region: eu-west-3", "Location: http://127.0.0.1:1/"};
  const Error error = s3_error_for(reply);
  EXPECT_EQ(error.code(), ErrorCode::failed_precondition);
  EXPECT_EQ(error.message(),
            "the bucket 'bucket' is in region eu-west-3, asked was us-east-1 (301); set "
            "AWS_REGION=eu-west-3");
}

TEST_F(S3Errors, TellOfMissingCredentialsBeforeAnythingIsAsked) {
  HttpServer server([](const HttpRequestSeen&) { return HttpReply(); });
  const S3Environment environment(server.url(""), S3Environment::Credentials::none);
  const Error error = error_of([] { read_through("s3://bucket/key"); });
  EXPECT_EQ(error.code(), ErrorCode::permission_denied);
  EXPECT_THAT(error.message(),
              StartsWith("there are no credentials for S3: set AWS_ACCESS_KEY_ID"));
  EXPECT_EQ(error.file(), "s3://bucket/key");
  EXPECT_EQ(server.requests(), 0U);
}

}  // namespace
}  // namespace infeed
