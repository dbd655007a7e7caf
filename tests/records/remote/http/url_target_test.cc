#include "remote/http/url_target.h"

#include <map>
#include <string>

#include "records/remote/aws/made_environment.h"
#include "thrown_error.h"

namespace infeed::detail {
namespace {

using test::environment_of;
using ::testing::MatchesRegex;

std::string asked_url(const std::string& name, const std::string& endpoint) {
  std::map<std::string, std::string> variables = {{"AWS_ACCESS_KEY_ID", "id"},
                                                  {"AWS_SECRET_ACCESS_KEY", "secret"},
                                                  {"AWS_REGION", "eu-west-1"}};
  if (!endpoint.empty()) variables["AWS_ENDPOINT_URL"] = endpoint;
  return UrlTarget(name, environment_of(variables)).get().url;
}

TEST(UrlTarget, AsksWhereTheBucketIs) {
  EXPECT_EQ(asked_url("s3://bucket/a b/ü", ""),
            "https://bucket.s3.eu-west-1.amazonaws.com/a%20b/%C3%BC");
  EXPECT_EQ(asked_url("s3://dotted.bucket/key", ""),
            "https://s3.eu-west-1.amazonaws.com/dotted.bucket/key");
  EXPECT_EQ(asked_url("s3://bucket/key", "http://localhost:9000/base"),
            "http://localhost:9000/base/bucket/key");
}

TEST(UrlTarget, RefusesWhatItCannotRead) {
  const auto text = [](const std::string& name) {
    const Error error = error_of([&] { UrlTarget(name, environment_of({})); });
    EXPECT_EQ(error.code(), ErrorCode::invalid_argument) << name;
    return error.message() + " | " + error.file();
  };
  EXPECT_EQ(text("gs://bucket/key"),
            "URLs of the kind gs:// can't be read; http, https and s3 can | gs://bucket/key");
  EXPECT_THAT(text("file:///tmp/x"), HasSubstr("by its path, without file://"));
  EXPECT_THAT(text("s3:///key"), HasSubstr("names no bucket; it is written s3://bucket/key"));
  EXPECT_THAT(text("http:///x"), HasSubstr("names no host"));
  EXPECT_THAT(text("http://h/a b"), HasSubstr("the URL holds a space; write it as %20"));
  EXPECT_THAT(text("http://h/a\nb"), HasSubstr("the control character 0x0a; write it as %0A"));
  EXPECT_EQ(text("https://me:secret@host/x"),
            "the URL holds a password, which would show up in messages; write it into ~/.netrc "
            "instead | https://host/x");
}

// Each of these requests went to another server than the store's, with signature and session token.
TEST(UrlTarget, TakesNoBucketThatChoosesTheHost) {
  for (const std::string bucket :
       {"localhost:8703#x", "127%2E0%2E0%2E1:8703?x", "u@localhost:8703#", "u:p@host", "a\\b",
        "bucket#", "bucket?", "Bucket", "my_bucket", "bu cket",
        "b\xc3\xbc"
        "cket",
        "ab", "bucket\n.x", "[::1]"}) {
    const Error error = error_of([&] {
      UrlTarget("s3://" + bucket + "/key", environment_of({{"AWS_NO_SIGN_REQUEST", "1"}}));
    });
    EXPECT_EQ(error.code(), ErrorCode::invalid_argument) << bucket;
    EXPECT_EQ(error.message(),
              "what stands between s3:// and the next slash is no name of a bucket, which has 3 to "
              "63 of a-z, 0-9, '.' and '-'; it is written s3://bucket/key");
  }
  EXPECT_EQ(error_of([] { S3Name::parse("s3://" + std::string(64, 'b')); }).code(),
            ErrorCode::invalid_argument);
  EXPECT_EQ(S3Name::parse("s3://" + std::string(63, 'b') + "/k").bucket, std::string(63, 'b'));
  EXPECT_EQ(S3Name::parse("s3://my.b-1/a/b?c").key, "a/b?c");
}

TEST(UrlTarget, TakesNoRegionThatChoosesTheHost) {
  for (const std::string region : {"x.evil.example/", "us-east-1#", "u@host:1", "US"}) {
    const Error error = error_of([&] {
      UrlTarget("s3://bucket/key",
                environment_of({{"AWS_NO_SIGN_REQUEST", "1"}, {"AWS_REGION", region}}));
    });
    EXPECT_EQ(error.message(),
              "the region (AWS_REGION) is none: it has letters a-z, digits and '-', as in "
              "us-east-1");
  }
}

TEST(UrlTarget, ShowsNoSignature) {
  EXPECT_EQ(UrlTarget("https://host/x?X-Amz-Signature=abc", environment_of({})).name(),
            "https://host/x?...");
  EXPECT_EQ(UrlTarget("https://host/x?version=2", environment_of({})).name(), "https://host/x?...");
}

TEST(UrlTarget, ShowsNoPasswordOfAnEndpoint) {
  const auto text = [](const std::string& endpoint) {
    const Error error = error_of([&] {
      UrlTarget("s3://bucket/key",
                environment_of({{"AWS_NO_SIGN_REQUEST", "1"}, {"AWS_ENDPOINT_URL", endpoint}}));
    });
    EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
    return error.message();
  };
  for (const std::string endpoint :
       {"https://me:secret@host:9000", "https://host:9000/?k=secret"}) {
    EXPECT_THAT(text(endpoint), HasSubstr("(AWS_ENDPOINT_URL) holds more than a host, a port and a "
                                          "path; passwords and queries belong elsewhere"));
    EXPECT_THAT(text(endpoint), Not(HasSubstr("secret")));
  }
  EXPECT_EQ(text("me:secret@host:9000"),
            "the endpoint 'host:9000' (AWS_ENDPOINT_URL) does not begin with https:// or http://");
}

/// Returns the host and the URL that are asked.
std::string place_of(const std::string& name, const std::string& endpoint) {
  const UrlTarget target(
      name, environment_of({{"AWS_NO_SIGN_REQUEST", "1"}, {"AWS_ENDPOINT_URL", endpoint}}));
  return target.host() + " " + target.get().url;
}

TEST(UrlTarget, NamesAHostWithoutItsUsualPort) {
  EXPECT_EQ(place_of("s3://bucket/k", "https://h:443"), "h https://h:443/bucket/k");
  EXPECT_EQ(place_of("s3://bucket/k", "http://h:80/a"), "h http://h:80/a/bucket/k");
  EXPECT_EQ(place_of("s3://bucket/k", "http://h:443"), "h:443 http://h:443/bucket/k");
  EXPECT_EQ(place_of("s3://bucket/k", "https://h:80"), "h:80 https://h:80/bucket/k");
  EXPECT_EQ(place_of("s3://abc", "https://h"), "h https://h/abc");
  EXPECT_EQ(place_of("s3://abc/", "https://h"), "h https://h/abc");
}

TEST(UrlTarget, SendsAWebAddressWithoutItsFragment) {
  const UrlTarget target("http://host:8080/a%20b?c=d#e", environment_of({}));
  EXPECT_FALSE(target.is_s3());
  EXPECT_EQ(target.host(), "host:8080");
  const HttpRequest request = target.request(
      {.query = {{"list-type", "2"}}, .headers = {{"if-none-match", "*"}, {"host", "x"}}});
  EXPECT_EQ(request.url, "http://host:8080/a%20b?c=d");
  EXPECT_THAT(request.headers, ElementsAre("Accept-Encoding: identity", "if-none-match: *"));
  EXPECT_EQ(UrlTarget("http://host?a", environment_of({})).host(), "host");
  EXPECT_EQ(UrlTarget("http://host#a", environment_of({})).host(), "host");
  EXPECT_EQ(error_of([] { UrlTarget("http://h/\x7f", environment_of({})); }).message(),
            "the URL holds the control character 0x7f; write it as %7F");
  EXPECT_EQ(UrlTarget("http://h/~\xc3\xbc", environment_of({})).get().url, "http://h/~\xc3\xbc");
}

TEST(UrlTarget, SignsWhatItSends) {
  std::map<std::string, std::string> variables = {{"AWS_ACCESS_KEY_ID", "id"},
                                                  {"AWS_SECRET_ACCESS_KEY", "secret"}};
  const auto request = [&] {
    return UrlTarget("s3://bucket/key", environment_of(variables))
        .request({.query = {{"b", "2"}, {"a", "1"}}, .headers = {{"range", "x"}}});
  };
  const std::string sum = "x-amz-content-sha256: " + std::string(kEmptySha256);
  EXPECT_EQ(request().url, "https://bucket.s3.us-east-1.amazonaws.com/key?a=1&b=2");
  EXPECT_THAT(request().headers,
              ElementsAre("Accept-Encoding: identity", "range: x", sum,
                          MatchesRegex("x-amz-date: [0-9]{8}T[0-9]{6}Z"),
                          MatchesRegex("Authorization: AWS4-HMAC-SHA256 Credential=id/[0-9]{8}/"
                                       "us-east-1/s3/aws4_request, SignedHeaders=host;range;"
                                       "x-amz-content-sha256;x-amz-date, Signature=[0-9a-f]{64}")));
  variables["AWS_SESSION_TOKEN"] = "token";
  ASSERT_EQ(request().headers.size(), 6U);
  EXPECT_EQ(request().headers[4], "x-amz-security-token: token");
}

TEST(UrlTarget, SaysWhoseCredentialsItHas) {
  const auto described = [](std::map<std::string, std::string> variables) {
    return UrlTarget("s3://bucket/key", environment_of(std::move(variables)))
        .describe_credentials();
  };
  EXPECT_EQ(described({{"AWS_NO_SIGN_REQUEST", "1"}}), "no credentials");
  EXPECT_EQ(described({{"AWS_ACCESS_KEY_ID", "id"}, {"AWS_SECRET_ACCESS_KEY", "secret"}}),
            "the credentials id");
  EXPECT_EQ(UrlTarget("http://host", environment_of({})).describe_credentials(), "no credentials");
}

}  // namespace
}  // namespace infeed::detail
