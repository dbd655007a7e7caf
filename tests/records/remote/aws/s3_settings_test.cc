#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "records/remote/aws/made_environment.h"
#include "records/temporary_files.h"
#include "remote/http/url_target.h"
#include "thrown_error.h"

namespace infeed::detail {
namespace {

using test::environment_of;
using test::error_of;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(S3Settings, ComeFromVariables) {
  const S3Settings settings =
      read_s3_settings(environment_of({{"AWS_ACCESS_KEY_ID", "id"},
                                       {"AWS_SECRET_ACCESS_KEY", "secret"},
                                       {"AWS_SESSION_TOKEN", "token"},
                                       {"AWS_REGION", "eu-central-1"},
                                       {"AWS_ENDPOINT_URL", "http://localhost:9000/"}}));
  ASSERT_TRUE(settings.credentials);
  EXPECT_EQ(settings.credentials->access_key_id, "id");
  EXPECT_EQ(settings.credentials->secret_access_key, "secret");
  EXPECT_EQ(settings.credentials->session_token, "token");
  EXPECT_EQ(settings.region, "eu-central-1");
  EXPECT_EQ(settings.endpoint, "http://localhost:9000");
}

TEST(S3Settings, ComeFromAProfile) {
  const TemporaryFolder folder;
  const std::string credentials = folder.write("credentials",
                                               "# comment\n[default]\naws_access_key_id=other\n"
                                               "[mine]\naws_access_key_id = id\r\n"
                                               "aws_secret_access_key = sec=ret\n"
                                               "aws_session_token = token\n");
  const std::string config = folder.write("config",
                                          "[default]\nregion = us-west-1\n[profile mine]\n"
                                          "region = eu-west-1\ns3 =\n  endpoint_url = no\n"
                                          "endpoint_url = https://store.example\n");
  const S3Settings settings =
      read_s3_settings(environment_of({{"AWS_PROFILE", "mine"},
                                       {"AWS_SHARED_CREDENTIALS_FILE", credentials},
                                       {"AWS_CONFIG_FILE", config}}));
  ASSERT_TRUE(settings.credentials);
  EXPECT_EQ(settings.credentials->access_key_id, "id");
  EXPECT_EQ(settings.credentials->secret_access_key, "sec=ret");
  EXPECT_EQ(settings.credentials->session_token, "token");
  EXPECT_EQ(settings.region, "eu-west-1");
  EXPECT_EQ(settings.endpoint, "https://store.example");
}

TEST(S3Settings, AreFoundInTheHomeFolder) {
  const TemporaryFolder home;
  std::filesystem::create_directory(home.path() / ".aws");
  home.write(".aws/credentials",
             "[default]\naws_access_key_id = id\naws_secret_access_key = secret\n");
  const S3Settings settings = read_s3_settings(environment_of({{"HOME", home.path().string()}}));
  ASSERT_TRUE(settings.credentials);
  EXPECT_EQ(settings.region, "us-east-1");
}

TEST(S3Settings, SayWhatIsMissing) {
  const Error none = error_of([] {
    read_s3_settings(environment_of({{"HOME", "/nowhere"}, {"AWS_EC2_METADATA_DISABLED", "true"}}));
  });
  EXPECT_EQ(none.code(), ErrorCode::permission_denied);
  EXPECT_EQ(none.message(),
            "there are no credentials for S3: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or "
            "write them into section [default] of '/nowhere/.aws/credentials'; for a public bucket "
            "set AWS_NO_SIGN_REQUEST=1");
  const Error half = error_of([] {
    read_s3_settings(environment_of({{"AWS_ACCESS_KEY_ID", "id"}}));
  });
  EXPECT_EQ(half.message(), "AWS_ACCESS_KEY_ID is set but AWS_SECRET_ACCESS_KEY isn't; set both");
  const Error profile = error_of([] {
    read_s3_settings(environment_of({{"AWS_PROFILE", "p"}, {"HOME", "/nowhere"}}));
  });
  EXPECT_EQ(profile.message(),
            "AWS_PROFILE is 'p', but there is no such section in '/nowhere/.aws/credentials' or "
            "'/nowhere/.aws/config'");
}

TEST(S3Settings, NeedNoCredentialsForPublicBuckets) {
  const auto environment = environment_of({{"AWS_NO_SIGN_REQUEST", "1"}});
  EXPECT_FALSE(read_s3_settings(environment).credentials);
  const HttpRequest request = UrlTarget("s3://bucket/key", environment).get();
  EXPECT_EQ(request.url, "https://bucket.s3.us-east-1.amazonaws.com/key");
  EXPECT_EQ(request.headers.size(), 1U);
}

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

}  // namespace
}  // namespace infeed::detail
