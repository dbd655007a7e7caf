#include <cstdlib>
#include <map>
#include <optional>
#include <string>

#include "records/remote/aws/made_environment.h"
#include "records/remote/aws/s3_environment.h"
#include "records/temporary_files.h"
#include "remote/http/url_target.h"
#include "thrown_error.h"

namespace infeed::detail {
namespace {

using test::environment_of;

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

TEST(S3Settings, TakeFilesAsAwsToolsDo) {
  const TemporaryFolder folder;
  const std::string credentials =
      folder.write("credentials",
                   "; a comment\n \t\r\naws_access_key_id = of no section\n[ mine ]\n"
                   "aws_access_key_id\t=\tid\nno value\n#aws_access_key_id = none\n"
                   "\taws_access_key_id = nested\n[other]\naws_access_key_id = other\n"
                   "[mine]\naws_secret_access_key = [secret]\n");
  const std::string config = folder.write("config",
                                          "[profile mine]\nregion = eu-west-1\n"
                                          "aws_access_key_id = less near\naws_session_token =\n");
  std::map<std::string, std::string> variables = {{"AWS_PROFILE", "mine"},
                                                  {"AWS_SHARED_CREDENTIALS_FILE", credentials},
                                                  {"AWS_CONFIG_FILE", config}};
  const S3Settings settings = read_s3_settings(environment_of(variables));
  ASSERT_TRUE(settings.credentials);
  EXPECT_EQ(settings.credentials->access_key_id, "id");
  EXPECT_EQ(settings.credentials->secret_access_key, "[secret]");
  EXPECT_EQ(settings.credentials->session_token, "");
  EXPECT_EQ(settings.region, "eu-west-1");
  variables["AWS_CONFIG_FILE"] = "/nowhere/config";
  EXPECT_EQ(read_s3_settings(environment_of(variables)).region, "us-east-1");
  variables["AWS_CONFIG_FILE"] = config;
  variables["AWS_SHARED_CREDENTIALS_FILE"] = "/nowhere/credentials";
  EXPECT_EQ(error_of([&] { read_s3_settings(environment_of(variables)); }).message(),
            "aws_access_key_id is set but aws_secret_access_key isn't; set both");
}

TEST(S3Settings, OfTheNearestVariableCount) {
  std::map<std::string, std::string> variables = {{"AWS_NO_SIGN_REQUEST", "1"},
                                                  {"AWS_DEFAULT_REGION", "eu-west-1"},
                                                  {"AWS_ENDPOINT_URL", "https://any.example//"}};
  const auto found = [&] {
    const S3Settings settings = read_s3_settings(environment_of(variables));
    return settings.region + " " + settings.endpoint;
  };
  EXPECT_EQ(found(), "eu-west-1 https://any.example");
  variables["AWS_REGION"] = "eu-west-2";
  variables["AWS_ENDPOINT_URL_S3"] = "https://s3.example";
  EXPECT_EQ(found(), "eu-west-2 https://s3.example");
}

TEST(S3Settings, AreSignedUnlessAVariableSaysYes) {
  for (const char* const no : {"0", "false", "False", "no", "NO"}) {
    EXPECT_TRUE(read_s3_settings(environment_of({{"AWS_NO_SIGN_REQUEST", no},
                                                 {"AWS_ACCESS_KEY_ID", "id"},
                                                 {"AWS_SECRET_ACCESS_KEY", "secret"}}))
                    .credentials)
        << no;
  }
  EXPECT_EQ(error_of([] {
              read_s3_settings(environment_of({{"AWS_SECRET_ACCESS_KEY", "secret"}}));
            }).message(),
            "AWS_SECRET_ACCESS_KEY is set but AWS_ACCESS_KEY_ID isn't; set both");
}

TEST(S3Settings, RefuseEachWayThatIsNotUnderstood) {
  const TemporaryFolder folder;
  for (const std::string key : {"role_arn", "sso_session", "sso_start_url", "credential_process",
                                "web_identity_token_file"}) {
    const std::string config = folder.write("config", "[default]\n" + key + " = x\n");
    const Error error = error_of([&] {
      read_s3_settings(environment_of({{"HOME", "/nowhere"}, {"AWS_CONFIG_FILE", config}}));
    });
    EXPECT_EQ(error.code(), ErrorCode::failed_precondition);
    EXPECT_THAT(error.message(), HasSubstr("takes its credentials from '" + key + "'"));
  }
}

TEST(S3Settings, TakeAnEmptyVariableForNone) {
  const test::S3Environment environment("");
  EXPECT_EQ(environment_of_process("AWS_PROFILE"), std::nullopt);
  EXPECT_EQ(environment_of_process("AWS_REGION"), "us-east-1");
  ::unsetenv("AWS_PROFILE");
  EXPECT_EQ(environment_of_process("AWS_PROFILE"), std::nullopt);
}

TEST(S3Settings, NeedNoCredentialsForPublicBuckets) {
  const auto environment = environment_of({{"AWS_NO_SIGN_REQUEST", "1"}});
  EXPECT_FALSE(read_s3_settings(environment).credentials);
  const HttpRequest request = UrlTarget("s3://bucket/key", environment).get();
  EXPECT_EQ(request.url, "https://bucket.s3.us-east-1.amazonaws.com/key");
  EXPECT_EQ(request.headers.size(), 1U);
}

}  // namespace
}  // namespace infeed::detail
