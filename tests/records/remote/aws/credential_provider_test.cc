#include "remote/aws/credential_provider.h"

#include <atomic>

#include <infeed/records/files.h>

#include "records/remote/aws/made_environment.h"
#include "records/remote/aws/metadata_service.h"
#include "records/temporary_files.h"
#include "thrown_error.h"

namespace infeed::detail {
namespace {

using test::environment_of;
using test::HttpReply;
using test::HttpRequestSeen;
using test::HttpServer;
using test::lent_json;
using test::metadata;

void expect_provided(const AwsCredentials& provided, const std::string& id) {
  EXPECT_EQ(provided.access_key_id, id);
  EXPECT_EQ(provided.secret_access_key, "secret");
  EXPECT_EQ(provided.session_token, "token");
}

TEST(ProvidedCredentials, ComeFromTheMachineWhereThereAreNoOthers) {
  const HttpServer server(
      [](const HttpRequestSeen& request) { return metadata(request, lent_json("ASIAMACHINE")); });
  const S3Settings settings = read_s3_settings(environment_of(
      {{"HOME", "/nowhere"}, {"AWS_EC2_METADATA_SERVICE_ENDPOINT", server.url("/")}}));
  ASSERT_TRUE(settings.provided);
  EXPECT_FALSE(settings.credentials);
  expect_provided(settings.provided->now(), "ASIAMACHINE");
  expect_provided(settings.provided->now(), "ASIAMACHINE");
  EXPECT_EQ(server.requests(), 3U);  // valid for long
}

TEST(ProvidedCredentials, ComeFromAContainersService) {
  const TemporaryFolder folder;
  const std::string token = folder.write("token", "a.token\n");
  const HttpServer server([](const HttpRequestSeen& request) {
    return request.path == "/v1/credentials" && request.header("authorization") == "a.token"
               ? HttpReply{.body = lent_json("ASIACONTAINER")}
               : HttpReply{.status = 401, .body = "who are you"};
  });
  std::map<std::string, std::string> variables = {
      {"HOME", "/nowhere"},
      {"AWS_CONTAINER_CREDENTIALS_FULL_URI", server.url("/v1/credentials")},
      {"AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", token}};
  expect_provided(read_s3_settings(environment_of(variables)).provided->now(), "ASIACONTAINER");

  variables.erase("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE");
  variables["AWS_CONTAINER_AUTHORIZATION_TOKEN"] = "wrong";
  const Error refused = error_of([&] { read_s3_settings(environment_of(variables)); });
  EXPECT_EQ(refused.code(), ErrorCode::permission_denied);
  EXPECT_EQ(refused.message(), server.url("/v1/credentials") + " lends no credentials (401)");

  variables["AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE"] = "/nowhere/token";
  const Error unread = error_of([&] { read_s3_settings(environment_of(variables)); });
  EXPECT_THAT(unread.message(), HasSubstr("the token that credentials are lent for can't be read "
                                          "from '/nowhere/token': "));
  EXPECT_EQ(unread.code(), ErrorCode::failed_precondition);  // no object is missing
  variables["AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE"] = folder.write("lines", "a\nb: c\n");
  EXPECT_THAT(error_of([&] { read_s3_settings(environment_of(variables)); }).message(),
              HasSubstr("is no line of text"));
}

TEST(ProvidedCredentials, AreNotAskedForByHttpOnOtherMachines) {
  for (const char* const url :
       {"http://example.com/x", "http://127.evil.example/x", "http://localhost.evil.example/",
        "http://localhost:1@evil.example/", "ftp://localhost/", "x"}) {
    const Error error = error_of([&] {
      container_provider(environment_of({{"AWS_CONTAINER_CREDENTIALS_FULL_URI", url}}));
    });
    EXPECT_EQ(error.message(), std::string("AWS_CONTAINER_CREDENTIALS_FULL_URI asks for '") +
                                   redacted_url(url) +
                                   "'; it must begin with https://, or name this machine");
  }
  for (const char* const url :
       {"https://example.com/x", "http://127.0.0.1:80/x", "http://localhost/",
        "http://[::1]:8080/x", "http://169.254.170.23/v1/credentials"}) {
    EXPECT_TRUE(container_provider(environment_of({{"AWS_CONTAINER_CREDENTIALS_FULL_URI", url}})))
        << url;
  }
}

TEST(ProvidedCredentials, OfAContainerComeFromItsServiceAlone) {
  for (const char* const path : {".evil.example/", "@evil.example/", ":1@evil.example/"}) {
    const Error error = error_of([&] {
      container_provider(environment_of({{"AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", path}}));
    });
    EXPECT_THAT(error.message(), HasSubstr("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI asks for '"));
  }
  EXPECT_TRUE(container_provider(
      environment_of({{"AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "/v2/credentials/id"}})));
}

TEST(ProvidedCredentials, ComeFromStsForAWebIdentity) {
  const TemporaryFolder folder;
  std::atomic<const char*> refusal = nullptr;
  const HttpServer server([&](const HttpRequestSeen& request) {
    if (const char* const code = refusal) {
      return HttpReply{.status = 400,
                       .body = "<ErrorResponse><Error><Code>" + std::string(code) +
                               "</Code><Message>Not you</Message></Error></ErrorResponse>"};
    }
    const bool is_right = request.method == "POST" &&
                          request.body ==
                              "Action=AssumeRoleWithWebIdentity&RoleArn=arn%3Aaws%3Aiam%3A%3A1%3A"
                              "role%2Ftrain&RoleSessionName=infeed&Version=2011-06-15&"
                              "WebIdentityToken=an.identity";
    if (!is_right) return HttpReply{.status = 400};
    return HttpReply{.body =
                         "<AssumeRoleWithWebIdentityResponse><Credentials>"
                         "<SessionToken>token</SessionToken>"
                         "<SecretAccessKey>secret</SecretAccessKey>"
                         "<Expiration>2999-01-01T00:00:00Z</Expiration>"
                         "<AccessKeyId>ASIAWEB</AccessKeyId>"
                         "</Credentials></AssumeRoleWithWebIdentityResponse>"};
  });
  const auto environment =
      environment_of({{"HOME", "/nowhere"},
                      {"AWS_WEB_IDENTITY_TOKEN_FILE", folder.write("identity", "an.identity")},
                      {"AWS_ROLE_ARN", "arn:aws:iam::1:role/train"},
                      {"AWS_ENDPOINT_URL_STS", server.url("")}});
  expect_provided(read_s3_settings(environment).provided->now(), "ASIAWEB");

  refusal = "AccessDenied";
  const Error error = error_of([&] { read_s3_settings(environment); });
  EXPECT_EQ(error.code(), ErrorCode::permission_denied);
  EXPECT_EQ(error.message(), server.url("/") +
                                 " (for the role arn:aws:iam::1:role/train) lends no "
                                 "credentials (400 AccessDenied: Not you)");
  for (const char* const passing : {"ThrottlingException", "IDPCommunicationError"}) {
    refusal = passing;
    EXPECT_EQ(error_of([&] { read_s3_settings(environment); }).code(), ErrorCode::unavailable);
  }
}

TEST(ProvidedCredentials, SayWhyTheMachineLendsNone) {
  const auto message = [](const std::string& place) {
    const Error error = error_of([&] {
      read_s3_settings(
          environment_of({{"HOME", "/nowhere"}, {"AWS_EC2_METADATA_SERVICE_ENDPOINT", place}}));
    });
    EXPECT_EQ(error.code(), ErrorCode::permission_denied);
    return error.message();
  };
  std::string gone;
  {
    const HttpServer server([](const HttpRequestSeen& request) {
      return request.method == "PUT" ? HttpReply{.body = "SESSION"} : HttpReply{.status = 404};
    });
    gone = server.url("");
    EXPECT_THAT(message(gone), HasSubstr("set AWS_NO_SIGN_REQUEST=1; the machine lends none: " +
                                         gone + " has no role for this machine (404)"));
  }
  EXPECT_THAT(message(gone), HasSubstr(gone + "/latest/api/token does not answer ("));
  const HttpServer broken([](const HttpRequestSeen& request) {
    return metadata(request, R"({"Code": "Failed", "Message": "no luck", "AccessKeyId": 1})");
  });
  const HttpServer busy([](const HttpRequestSeen&) { return HttpReply{.status = 503}; });
  const Error passing = error_of([&] {
    read_s3_settings(environment_of(
        {{"HOME", "/nowhere"}, {"AWS_EC2_METADATA_SERVICE_ENDPOINT", busy.url("")}}));
  });
  EXPECT_EQ(passing.code(), ErrorCode::unavailable);  // there may be some soon
  EXPECT_EQ(passing.message(), busy.url("/latest/api/token does not answer (503)"));
  EXPECT_THAT(message(broken.url("")), HasSubstr("lends no credentials (200 Failed: no luck)"));
  const HttpServer odd([](const HttpRequestSeen& request) {
    return metadata(request, lent_json("ASIAMACHINE", "soon"));
  });
  EXPECT_THAT(message(odd.url("")),
              HasSubstr("lends credentials that end at 'soon', which is no time"));
}

/// Servers that are compatible with AWS needn't give UTC.
TEST(ProvidedCredentials, EndAtTheTimeOfTheirZone) {
  const auto end_of = [](const char* text) {
    const HttpServer server([text](const HttpRequestSeen& request) {
      return metadata(request, lent_json("ASIAMACHINE", text));
    });
    const CredentialProvider provider =
        machine_provider(environment_of({{"AWS_EC2_METADATA_SERVICE_ENDPOINT", server.url("")}}));
    return provider.ask().expires;
  };
  const auto expected = end_of("2099-01-31T12:00:00Z");
  EXPECT_EQ(end_of("2099-01-31T14:00:00+02:00"), expected);
  EXPECT_EQ(end_of("2099-01-31T06:30:00.250-0530"), expected);
  EXPECT_EQ(end_of("2099-01-31T12:00:00.5Z"), expected);
  EXPECT_EQ(end_of("2099-01-31T12:00:00"), expected);
  EXPECT_THROW(end_of("2099-01-31T12:00:00 o'clock"), Error);
}

TEST(ProvidedCredentials, AreAskedForAgainWhenTheServiceHasTrouble) {
  const HttpServer server([](const HttpRequestSeen& request) {
    return request.number < 2 ? HttpReply{.status = 503}
                              : metadata(request, lent_json("ASIAMACHINE"));
  });
  const CredentialProvider provider =
      machine_provider(environment_of({{"AWS_EC2_METADATA_SERVICE_ENDPOINT", server.url("")}}));
  expect_provided(provider.ask().credentials, "ASIAMACHINE");
}

/// They were not_found, which readers take for a missing object, and not asked for again.
TEST(ProvidedCredentials, AreNotMissingWhileTheirServiceCannotBeReached) {
  ::setenv("no_proxy", "*", 1);
  const TemporaryFolder folder;
  const std::string gone = HttpServer([](const HttpRequestSeen&) { return HttpReply(); }).url("/c");
  const std::string identity = folder.write("identity", "an.identity");
  const auto web_identity = [&](const char* sts) {
    return web_identity_provider(environment_of({{"AWS_WEB_IDENTITY_TOKEN_FILE", identity},
                                                 {"AWS_ROLE_ARN", "role"},
                                                 {"AWS_ENDPOINT_URL_STS", sts}}),
                                 "us-east-1");
  };
  for (const CredentialProvider& provider :
       {container_provider(environment_of({{"AWS_CONTAINER_CREDENTIALS_FULL_URI", gone}})),
        web_identity(gone.c_str()), web_identity("http://no..such-host")}) {
    SCOPED_TRACE(provider.key);
    const auto begin = std::chrono::steady_clock::now();
    const Error error = error_of([&] { provider.ask(); });
    EXPECT_EQ(error.code(), ErrorCode::unavailable);
    EXPECT_THAT(error.message(), HasSubstr(" does not answer ("));
    // Three tries have pauses of 100 and 200 ms between them.
    EXPECT_GE(std::chrono::steady_clock::now() - begin, std::chrono::milliseconds(300));
  }
}

TEST(ProvidedCredentials, AreFoundInTheOrderOfAwsTools) {
  const TemporaryFolder folder;
  const HttpServer server([](const HttpRequestSeen& request) {
    if (request.path == "/container") return HttpReply{.body = lent_json("container")};
    if (request.path != "/") return metadata(request, lent_json("machine"));
    return HttpReply{.body =
                         "<AccessKeyId>identity</AccessKeyId>"
                         "<SecretAccessKey>secret</SecretAccessKey>"};
  });
  std::map<std::string, std::string> variables = {
      {"HOME", "/nowhere"},
      {"AWS_ACCESS_KEY_ID", "variable"},
      {"AWS_SECRET_ACCESS_KEY", "secret"},
      {"AWS_WEB_IDENTITY_TOKEN_FILE", folder.write("identity", "an.identity")},
      {"AWS_ROLE_ARN", "role"},
      {"AWS_ENDPOINT_URL_STS", server.url("")},
      {"AWS_SHARED_CREDENTIALS_FILE",
       folder.write("credentials",
                    "[default]\naws_access_key_id=profile\naws_secret_access_key=secret\n")},
      {"AWS_CONTAINER_CREDENTIALS_FULL_URI", server.url("/container")},
      {"AWS_EC2_METADATA_SERVICE_ENDPOINT", server.url("")}};
  const auto found = [&] {
    const S3Settings settings = read_s3_settings(environment_of(variables));
    return settings.provided ? settings.provided->access_key_id()
                             : settings.credentials->access_key_id;
  };
  EXPECT_EQ(found(), "variable");
  variables.erase("AWS_ACCESS_KEY_ID");
  variables.erase("AWS_SECRET_ACCESS_KEY");
  EXPECT_EQ(found(), "identity");
  variables.erase("AWS_WEB_IDENTITY_TOKEN_FILE");
  EXPECT_EQ(found(), "profile");
  variables.erase("AWS_SHARED_CREDENTIALS_FILE");
  EXPECT_EQ(found(), "container");
  variables.erase("AWS_CONTAINER_CREDENTIALS_FULL_URI");
  EXPECT_EQ(found(), "machine");
}

TEST(ProvidedCredentials, AreNotThoseOfSomebodyElse) {
  const TemporaryFolder folder;
  const Error half = error_of([&] {
    read_s3_settings(environment_of(
        {{"HOME", "/nowhere"}, {"AWS_WEB_IDENTITY_TOKEN_FILE", folder.write("identity", "x")}}));
  });
  EXPECT_EQ(half.code(), ErrorCode::invalid_argument);
  EXPECT_EQ(half.message(), "AWS_WEB_IDENTITY_TOKEN_FILE is set but AWS_ROLE_ARN isn't; set both");
  const Error other = error_of([&] {
    read_s3_settings(environment_of(
        {{"HOME", "/nowhere"},
         {"AWS_PROFILE", "train"},
         {"AWS_CONFIG_FILE",
          folder.write("config", "[profile train]\nrole_arn = r\nsource_profile = default\n")}}));
  });
  EXPECT_EQ(other.code(), ErrorCode::failed_precondition);
  EXPECT_EQ(other.message(),
            "section [train] takes its credentials from 'role_arn', which is not understood here; "
            "set what 'aws configure export-credentials --profile train --format env' prints");
}

}  // namespace
}  // namespace infeed::detail
