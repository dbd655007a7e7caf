#include <chrono>
#include <map>
#include <string>

#include "infeed/error.h"
#include "records/remote/aws/made_environment.h"
#include "records/remote/aws/metadata_service.h"
#include "records/temporary_files.h"
#include "remote/aws/credential_provider.h"
#include "thrown_error.h"

/// The answers of each provider, and the variables that name it.
namespace infeed::detail {
namespace {

using test::environment_of;
using test::HttpReply;
using test::HttpRequestSeen;
using test::HttpServer;
using test::lent_json;

/// Returns what a container's service lends, or the message of the error.
std::string lent_by(const HttpReply& reply, std::chrono::system_clock::time_point expires) {
  const HttpServer server([&](const HttpRequestSeen&) { return reply; });
  const CredentialProvider provider =
      container_provider(environment_of({{"AWS_CONTAINER_CREDENTIALS_FULL_URI", server.url("/")}}));
  try {
    const ProvidedCredentials provided = provider.ask();
    EXPECT_EQ(provided.expires, expires);
    return provided.credentials.access_key_id;
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::permission_denied);
    return error.message().substr(server.url("/").size());
  }
}

TEST(CredentialProvider, EndWhenTheAnswerSays) {
  using Time = std::chrono::system_clock::time_point;
  const auto expect_end = [](const std::string& text, Time expires) {
    EXPECT_EQ(lent_by({.body = lent_json("id", text)}, expires), "id") << text;
  };
  const Time one_second_in(std::chrono::seconds(1));
  expect_end("2026-01-31T12:00:01Z", Time(std::chrono::seconds(1'769'860'801)));
  expect_end("2026-01-31T12:00:01.5Z", Time(std::chrono::seconds(1'769'860'801)));
  expect_end("1970-01-01T00:00:01Z", one_second_in);
  expect_end("0001-01-01T00:00:00Z", Time::max());
  expect_end("9999-12-31T23:59:59Z", Time::max());
  expect_end("", Time::max());
}

TEST(CredentialProvider, AreWhole) {
  const auto never = std::chrono::system_clock::time_point::max();
  const std::string id = R"("AccessKeyId": "id")";
  const std::string secret = R"("SecretAccessKey": "secret")";
  EXPECT_EQ(lent_by({.body = "{" + id + ", " + secret + "}"}, never), "id") << "without a token";
  for (const std::string& body :
       {"{" + id + "}", "{" + secret + "}", std::string("[]"), std::string("no JSON")}) {
    EXPECT_EQ(lent_by({.body = body}, never), " lends no credentials (200)") << body;
  }
  EXPECT_EQ(lent_by({.status = 201, .body = "{" + id + ", " + secret + "}"}, never),
            " lends no credentials (201)");
  const std::string deep = std::string(100, '[') + std::string(100, ']');
  EXPECT_EQ(lent_by({.body = "{" + id + ", " + secret + R"(, "x": )" + deep + "}"}, never),
            " lends no credentials (200)");
}

TEST(CredentialProvider, AreAskedForByHttpAtTheServicesOfContainers) {
  const auto is_taken = [](const char* url) {
    try {
      return bool(
          container_provider(environment_of({{"AWS_CONTAINER_CREDENTIALS_FULL_URI", url}})));
    } catch (const Error&) {
      return false;
    }
  };
  for (const char* const url : {"http://169.254.170.2/x", "http://[fd00:ec2::23]/x",
                                "http://127.255.0.1/x", "https://128.0.0.1/x"}) {
    EXPECT_TRUE(is_taken(url)) << url;
  }
  for (const char* const url : {"http://169.254.170.3/x", "http://126.0.0.1/x",
                                "http://128.0.0.1/x", "http://[::2]/x", "ftp://127.0.0.1/x"}) {
    EXPECT_FALSE(is_taken(url)) << url;
  }
}

TEST(CredentialProvider, TheNearestVariableNamesTheContainersService) {
  std::map<std::string, std::string> variables = {
      {"AWS_CONTAINER_CREDENTIALS_FULL_URI", "http://localhost/full"}};
  EXPECT_EQ(container_provider(environment_of(variables)).key, "http://localhost/full");
  variables["AWS_CONTAINER_CREDENTIALS_RELATIVE_URI"] = "/v2/id";
  EXPECT_EQ(container_provider(environment_of(variables)).key, "http://169.254.170.2/v2/id");
}

TEST(CredentialProvider, AContainersTokenIsOneLine) {
  const HttpServer server([](const HttpRequestSeen& request) {
    return HttpReply{.body = lent_json(request.header("authorization"))};
  });
  const TemporaryFolder folder;
  std::map<std::string, std::string> variables = {
      {"AWS_CONTAINER_CREDENTIALS_FULL_URI", server.url("/")},
      {"AWS_CONTAINER_AUTHORIZATION_TOKEN", "of the variable"}};
  const auto asked_with = [&] {
    try {
      return container_provider(environment_of(variables)).ask().credentials.access_key_id;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
      return error.message();
    }
  };
  EXPECT_EQ(asked_with(), "of the variable");
  const std::string file = folder.write("token", "of the file\r\n\n");
  variables["AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE"] = file;
  EXPECT_EQ(asked_with(), "of the file");
  folder.write("token", "\n");
  EXPECT_EQ(asked_with(), "the token in '" + file + "' is empty");
  folder.write("token", "a\x1f");
  EXPECT_EQ(asked_with(), "the token in '" + file + "' is no line of text");
}

TEST(CredentialProvider, TheNearestVariableNamesSts) {
  std::map<std::string, std::string> variables = {{"AWS_WEB_IDENTITY_TOKEN_FILE", "file"},
                                                  {"AWS_ROLE_ARN", "role"}};
  const auto key = [&] {
    return web_identity_provider(environment_of(variables), "eu-west-1").key;
  };
  EXPECT_EQ(key(), "https://sts.eu-west-1.amazonaws.com/ role infeed file");
  variables["AWS_ENDPOINT_URL"] = "https://any/";
  EXPECT_EQ(key(), "https://any/ role infeed file");
  variables["AWS_ENDPOINT_URL_STS"] = "https://sts";
  variables["AWS_ROLE_SESSION_NAME"] = "mine";
  EXPECT_EQ(key(), "https://sts/ role mine file");
  EXPECT_FALSE(web_identity_provider(environment_of({{"AWS_ROLE_ARN", "role"}}), "eu-west-1"));
}

TEST(CredentialProvider, AMachineMayBeLeftAlone) {
  for (const char* const disabled : {"true", "True", "TRUE"}) {
    EXPECT_FALSE(machine_provider(environment_of({{"AWS_EC2_METADATA_DISABLED", disabled}})));
  }
  EXPECT_EQ(machine_provider(environment_of({{"AWS_EC2_METADATA_DISABLED", "false"}})).key,
            "http://169.254.169.254");
}

TEST(CredentialProvider, OfAMachineAreThoseOfItsFirstRole) {
  const std::string roles = "/latest/meta-data/iam/security-credentials/";
  int session = 200;
  std::string role = "a role/1\r\nother";
  const HttpServer server([&](const HttpRequestSeen& request) -> HttpReply {
    if (request.method == "PUT") return {.status = session, .body = "SESSION"};
    if (request.header("x-aws-ec2-metadata-token") != "SESSION") return {.status = 401};
    if (request.path == roles) return {.body = role};
    return {.body = lent_json(request.path.substr(roles.size()))};
  });
  const std::string place = server.url("");
  const CredentialProvider provider =
      machine_provider(environment_of({{"AWS_EC2_METADATA_SERVICE_ENDPOINT", place + "//"}}));
  EXPECT_EQ(provider.key, place);
  EXPECT_EQ(provider.ask().credentials.access_key_id, "a%20role%2F1");
  const auto refusal = [&] {
    const Error error = error_of([&] { provider.ask(); });
    EXPECT_EQ(error.code(), ErrorCode::permission_denied);
    return error.message();
  };
  role = "\n";
  EXPECT_EQ(refusal(), place + " has no role for this machine (200)");
  session = 403;
  EXPECT_EQ(refusal(), place + " gives no session (403)");
}

}  // namespace
}  // namespace infeed::detail
